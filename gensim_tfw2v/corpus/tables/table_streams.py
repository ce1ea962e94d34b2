"""Tables of text as streams of UTF-8."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gensim_tfw2v.corpus.decompression import HEAD_BYTES, open_bytes
from gensim_tfw2v.messages import MAGIC, quoted, wide_encoding

#: Maximum bytes of a block of text, and so of a row. A batch has about as many at most.
BLOCK_BYTES = 4 << 20

#: Maximum number of rows of a batch.
BATCH_ROWS = 4096


class Utf8Stream(io.RawIOBase):
    """Stream of UTF-8 without a byte order mark, converted from a stream in another encoding."""

    def __init__(self, source: Any, encoding: str) -> None:
        self._source = source
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._unread = b""
        self._n_read = 0
        self._is_first = True

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Write the next bytes to a buffer; return their number, 0 at the end.

        Raises
        ------
        ValueError
            If the source is not in the encoding.
        """
        while not self._unread:
            piece = self._source.read(1 << 18)
            try:
                text = self._decoder.decode(piece, not piece)
            except UnicodeError as error:
                raise ValueError(
                    f"is not {self._encoding} text: {error}, in the bytes from "
                    f"{self._n_read:,} on; pass the encoding in which it was written"
                ) from None
            self._n_read += len(piece)
            if text and self._is_first:
                text = text.removeprefix("\ufeff")
                self._is_first = False
            self._unread = text.encode("utf-8", "surrogatepass")
            if not piece:
                break
        size = min(len(buffer), len(self._unread))
        buffer[:size] = self._unread[:size]
        self._unread = self._unread[size:]
        return size


@contextmanager
def open_utf8(path: str, encoding: str | None) -> Iterator[io.BufferedReader]:
    """Open a text in an encoding, by default UTF-8, as decompressed bytes in UTF-8.

    A byte order mark is left out.

    Raises
    ------
    ValueError
        If no encoding is set, and the text looks like UTF-16 or UTF-32, or like compressed data.
    """
    with open_bytes(path) as source:
        raw = source if encoding is None else Utf8Stream(source, encoding)
        text = io.BufferedReader(raw, HEAD_BYTES)
        if encoding is None:
            head = text.peek(64)[:64]
            _check_head(head)
            if head.startswith(codecs.BOM_UTF8):
                text.read(3)
        yield text


def _check_head(head: bytes) -> None:
    for magic, (_, kind) in MAGIC.items():
        if head.startswith(magic):
            raise ValueError(f"contains {kind} data, unlike its suffix; rename or decompress it")
    if encoding := wide_encoding(head):
        name = encoding.lower().replace("le", "-le").replace("be", "-be")
        raise ValueError(f"looks like {encoding}: pass encoding={name!r}")


def long_row_message() -> str:
    """Return the message for a row that doesn't fit into a block."""
    return f"a row is longer than {BLOCK_BYTES >> 20} MiB; store the table as Parquet"


def undecodable_message(text: bytes) -> str:
    """Return the message for bytes that are not UTF-8."""
    return (
        f"{quoted(text)} is not UTF-8 text: pass the encoding in which the table was written, such "
        "as encoding='cp1252'"
    )
