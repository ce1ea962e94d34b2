"""The lines of a text, read by Python alone: where the compiled scanner is missing."""

from collections.abc import Iterable, Iterator
from itertools import chain

from gensim_tfw2v.corpus.files import open_corpus
from gensim_tfw2v.corpus.texts import Piece


class CorpusDecodeError(UnicodeDecodeError):
    """A corpus that is not UTF-8, which gensim's corpus form demands.

    Parameters
    ----------
    error : UnicodeDecodeError
        What the decoder said about a line.
    path : str
        The corpus.
    offset : int
        Where in it the wrong bytes begin (in the decompressed text of a compressed file).
    before : bytes
        What stands in the line before what the decoder was given.
    """

    def __init__(
        self, error: UnicodeDecodeError, path: str, offset: int, before: bytes = b""
    ) -> None:
        before = (before + error.object[: error.start])[-20:]
        start, end = len(before), len(before) + error.end - error.start
        near = before + error.object[error.start : error.start + 20]
        super().__init__(error.encoding, near, start, end, error.reason)
        self.path, self.offset = path, offset

    def __str__(self) -> str:
        return (
            f"{self.path} is not UTF-8 text: {self.reason} at byte {self.offset:,} (near "
            f"{self.object!r}). Convert it first, for example with: iconv -f LATIN1 -t UTF-8"
        )


class Lines:
    """The words of each line of runs of texts.

    Attributes
    ----------
    bytes_read : int
        Of all pieces so far.
    """

    def __init__(self, runs: Iterable[Iterable[Piece]]) -> None:
        self._pieces = chain.from_iterable(runs)
        self.bytes_read = 0

    def __iter__(self) -> Iterator[list[str]]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for piece in self._pieces:
            with open_corpus(piece.path) as stream:
                if piece.start:
                    stream.seek(piece.start)
                at = piece.start
                while (piece.stop is None or at < piece.stop) and (line := stream.readline()):
                    try:
                        yield line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, piece.path, at + error.start) from None
                    at += len(line)
                    self.bytes_read += len(line)
