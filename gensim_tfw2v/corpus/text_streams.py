"""Texts as streams of bytes: compressed and remote files, and pipes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from typing import Any, BinaryIO

from gensim_tfw2v import messages
from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.messages import COMPRESSED


class CorpusDecodeError(UnicodeDecodeError):
    """Corpus that is not UTF-8, the encoding that gensim's corpus format requires.

    Attributes
    ----------
    path : str
        The corpus.
    offset : int
        Offset of the invalid bytes, in bytes; in a compressed file, that in the decompressed text.
    """

    def __init__(
        self, error: UnicodeDecodeError, path: str, offset: int, context: bytes = b""
    ) -> None:
        start = len(context) + error.start
        end = len(context) + error.end
        super().__init__(error.encoding, context + error.object, start, end, error.reason)
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.path} {messages.decode_error_message(self, self.offset)}"


@contextmanager
def open_stream(path: str) -> Iterator[BinaryIO]:
    """Open a compressed file, a remote file, or a pipe; errors while it is read name its path.

    Raises
    ------
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, OSError
        If compressed data are damaged or truncated. The type is that of the decompressor's error.
    ValueError
        If a pipe or a remote file is not a text: see `refusals.find_stream_refusal`.
    """
    if not path.lower().endswith(COMPRESSED) and "://" not in path:
        with BufferedReader(FileIO(path), HEAD_BYTES) as file:
            _check_content(path, file.peek())
            yield file
        return
    try:
        with messages.open_decompressed(path) as file:
            yield _check_remote(path, file) if "://" in path else file
    except Exception as error:
        if (kind := messages.damage(error)) is None:
            raise
        advice = (
            f"{path} is damaged, cut short, or not what its name says: {error}. Make or copy it "
            "again, or rename it if it is not compressed"
        )
        raise kind(advice) from error


def _check_remote(path: str, file: Any) -> BinaryIO:
    """Raise a ValueError if a remote file is not a text; return the file, at its start."""
    peekable = file if hasattr(file, "peek") else BufferedReader(file, HEAD_BYTES)
    _check_content(path, peekable.peek(HEAD_BYTES)[:HEAD_BYTES], path)
    return peekable


def _check_content(path: str, head: bytes, table_path: str = "") -> None:
    """Raise a ValueError if a pipe or remote file with these first bytes is not a text.

    With `table_path`, its suffix counts, too; see `refusals.find_stream_refusal`.
    """
    from gensim_tfw2v.corpus.refusals import find_stream_refusal

    if refusal := find_stream_refusal(head, table_path):
        raise ValueError(f"{path} {refusal}")


def bytes_read(file: BinaryIO) -> int:
    """Return how many bytes on disk a stream has read so far; 0 for a pipe or a remote file."""
    try:
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (AttributeError, OSError):
        return 0
