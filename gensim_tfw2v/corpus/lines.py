"""The text of a file to ids, cut into sentences as gensim's LineSentence cuts it."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from gensim_tfw2v.corpus.numbering import END_BYTES

MAX_SENTENCE = 10_000  # words: gensim's MAX_WORDS_IN_BATCH, where LineSentence cuts a line
BLOCK = 1 << 15  # bytes a read: the words of a block should fit into a core's cache


class CorpusDecodeError(UnicodeDecodeError):
    """A corpus that is not UTF-8, which gensim's corpus form demands.

    Parameters
    ----------
    error : UnicodeDecodeError
        What the decoder said about one line.
    path : str
        The corpus.
    offset : int
        Where in it the wrong bytes begin (in the decompressed text of a compressed file).
    """

    def __init__(self, error: UnicodeDecodeError, path: str, offset: int) -> None:
        near = bytes(error.object[max(0, error.start - 20) : error.start + 20])
        start = min(error.start, 20)
        super().__init__(error.encoding, near, start, start + error.end - error.start, error.reason)
        self.path, self.offset = path, offset

    def __str__(self) -> str:
        return (
            f"{self.path} is not UTF-8 text: {self.reason} at byte {self.offset:,} (near "
            f"{self.object!r}). Convert it first, for example with: iconv -f LATIN1 -t UTF-8"
        )


def encode_lines(
    stream: BinaryIO,
    ids: dict[Any, bytes],
    *,
    path: str = "<stream>",
    start: int = 0,
    stop: int | None = None,
) -> Iterator[bytes]:
    """Encode a text, block by block.

    Memory stays at a few blocks, also for a text of one endless line, as long as that has
    ASCII spaces or tabs in it.

    Parameters
    ----------
    stream : binary file
        Stands at byte `start`, at the beginning of a line.
    ids : dict
        Words to packed ids, for any word that comes: `Numbering` or `KnownWords`.
    path : str
        For errors.
    start, stop : int
        The bytes to read; without `stop` everything. A line must end at `stop`.

    Yields
    ------
    bytes
        Packed ids, with `END` after each line and after every 10,000 words of a longer line;
        the last sentence of a chunk may go on in the next one.

    Raises
    ------
    CorpusDecodeError
        If the text is not UTF-8.
    """
    lookup, join = ids.__getitem__, b"".join
    rest, room = b"", MAX_SENTENCE  # text not yet encoded, words that the open sentence can take
    while True:
        # as much again as is left over, so that a word without end costs linear time
        size = max(BLOCK, len(rest))
        block = stream.read(size if stop is None else min(size, stop - start - len(rest)))
        text = rest + block
        lines = text.split(b"\n")
        rest = lines.pop()
        whole = len(lines)
        if not block:
            lines.append(rest)
            whole, rest = 1, b""
        elif not lines:  # a long line: its words so far
            cut = max(text.rfind(b" "), text.rfind(b"\t")) + 1
            lines, rest = [text[:cut]], text[cut:]
        parts: list[bytes] = []
        try:
            for number, line in enumerate(lines):
                words = line.decode().split()
                if room == MAX_SENTENCE and len(words) < room and number < whole:
                    if words:
                        parts += (join(map(lookup, words)), END_BYTES)
                    continue
                while len(words) >= room:
                    parts += (join(map(lookup, words[:room])), END_BYTES)
                    words, room = words[room:], MAX_SENTENCE
                parts.append(join(map(lookup, words)))
                room -= len(words)
                if number < whole and room < MAX_SENTENCE:
                    parts.append(END_BYTES)
                    room = MAX_SENTENCE
        except UnicodeDecodeError as error:
            before = sum(len(line) + 1 for line in lines[: lines.index(error.object)])
            raise CorpusDecodeError(error, path, start + before + error.start) from None
        yield join(parts)
        if not block:
            return
        start += len(text) - len(rest)
