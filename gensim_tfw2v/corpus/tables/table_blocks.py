"""Blocks of complete rows of a table of text, which a thread parses ahead of their use.

pyarrow's own streaming readers are not used. If an iteration isn't finished, their threads continue
to call Python's streams, which crashes when the program exits.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import repeat
from typing import Any

from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.processes.threads import in_threads

N_AHEAD = 3  # maximum number of blocks that are being parsed, or wait for their use


def read_blocks(
    source: Any, complete_rows: Callable[[bytes, bool], int | None]
) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks of complete rows, each with whether it is the first one.

    `complete_rows` returns the number of bytes of complete rows at the start of a block, or None if
    a fast parser might read them wrongly. Its second argument is whether the block ends the text.

    Raises
    ------
    ValueError
        If a strict reader must read a block, because `complete_rows` returned None, or because the
        block has no complete row.
    """
    incomplete_row = b""
    is_first = True
    while True:
        piece = source.read(table_streams.BLOCK_BYTES - len(incomplete_row))
        block = incomplete_row + piece
        stop = complete_rows(block, not piece)
        if stop is None or (not stop and len(block) >= table_streams.BLOCK_BYTES):
            raise ValueError("a block must be read strictly")
        if stop:
            yield block[:stop], is_first
            is_first = False
        if not piece:
            return
        incomplete_row = block[stop:]


def parse_blocks(
    blocks: Iterator[tuple[bytes, bool]], parse: Callable[[bytes, bool], Any]
) -> Generator[Any, None, None]:
    """Yield the result of `parse` for each block; a thread computes the results ahead."""

    def parse_next(_: None, stopped: Any) -> Any:
        block = None if stopped.is_set() else next(blocks, None)
        return None if block is None else parse(*block)

    with closing(in_threads(parse_next, repeat(None), threads=1, ahead=N_AHEAD)) as results:
        for result in results:
            if result is None:
                return
            yield result
