"""Blocks of complete rows of a text, which a thread parses ahead of their use.

pyarrow's own streaming readers would call Python's streams from threads that outlive an iteration
which isn't finished; at the end of a program that crashes.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import repeat
from typing import Any

from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.processes.threads import in_threads

AHEAD = 3  # maximum blocks that are being parsed, or wait for their use


def read_blocks(
    source: Any, complete_rows: Callable[[bytes, bool], int | None]
) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks of complete rows, and whether each is the first one.

    `complete_rows` returns the number of bytes of complete rows at the start of a block, or None if
    a fast parser might read them wrongly. Its second argument is whether the block ends the text.

    Raises
    ------
    ValueError
        If a block must be read by a strict reader, because it is unclear, or a row exceeds it.
    """
    unfinished = b""
    is_first = True
    while True:
        piece = source.read(table_streams.BLOCK - len(unfinished))
        block = unfinished + piece
        stop = complete_rows(block, not piece)
        if stop is None or (not stop and len(block) >= table_streams.BLOCK):
            raise ValueError("a block must be read strictly")
        if stop:
            yield block[:stop], is_first
            is_first = False
        if not piece:
            return
        unfinished = block[stop:]


def parse_blocks(
    blocks: Iterator[tuple[bytes, bool]], parse: Callable[[bytes, bool], Any]
) -> Generator[Any, None, None]:
    """Yield the result of a function for each block, which a thread computes ahead."""

    def parse_next(_: None, stopped: Any) -> Any:
        block = None if stopped.is_set() else next(blocks, None)
        return None if block is None else parse(*block)

    with closing(in_threads(parse_next, repeat(None), threads=1, ahead=AHEAD)) as results:
        for result in results:
            if result is None:
                return
            yield result
