"""Bytes of tables: decompressed, from their start."""

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gensim_tfw2v.messages import (
    COMPRESSED,
    MAGIC,
    damage,
    open_decompressed,
    quoted,
    wide_encoding,
)

BLOCK = 4 << 20  # bytes of a batch; rows of text must be shorter
ROWS = 4096  # maximum rows of a batch
HEAD = 1 << 16  # bytes from which the format of a file is recognized

#: Suffixes that pyarrow decompresses, but Python's standard library does not.
PYARROWS = (".zst", ".lz4")


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes; decompress it if its suffix is one of `COMPRESSED`.

    Raises
    ------
    ValueError
        If the suffix is that of a compression, but the content isn't.
    """
    _check_compression(path)
    if path.lower().endswith(".xz"):
        return open_decompressed(path)
    import pyarrow as pa

    return pa.input_stream(path)


def _check_compression(path: str) -> None:
    suffix = Path(path).suffix.lower()
    with open(path, "rb") as file:
        head = file.read(8)
    for magic, (ending, kind) in MAGIC.items():
        if ending == suffix and head and not head.startswith(magic):
            raise ValueError(
                f"contains no {kind} data, unlike its suffix: it begins with {quoted(head)}; "
                "rename it"
            )


def read_head(path: str | os.PathLike[str], size: int = HEAD) -> bytes:
    """Return the first decompressed bytes of a file; b"" if it can't be decompressed.

    pyarrow, which may be missing, is imported only for suffixes in `PYARROWS` if the package that
    decompresses them is missing.
    """
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    try:
        if suffix not in COMPRESSED:
            with open(name, "rb") as file:
                return file.read(size)
        try:
            source = open_decompressed(name)
        except ImportError:
            if suffix not in PYARROWS:
                raise
            source = open_bytes(name)
        with source as file:
            return bytes(file.read(size))
    except (ImportError, ValueError):
        return b""
    except Exception as error:
        if damage(error) is None:
            raise
        return b""


class Utf8Stream(io.RawIOBase):
    """Stream of UTF-8, without a byte order mark, made from a stream in a different encoding."""

    def __init__(self, source: Any, encoding: str) -> None:
        self._source = source
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""
        self._n_read = 0
        self._is_first = True

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; return the number of bytes, 0 at the end.

        Raises
        ------
        ValueError
            If the source is not in the encoding.
        """
        while not self._rest:
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
            self._rest = text.encode("utf-8", "surrogatepass")
            if not piece:
                break
        size = min(len(into), len(self._rest))
        into[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


@contextmanager
def open_utf8(path: str, encoding: str | None) -> Iterator[io.BufferedReader]:
    """Open a text as decompressed bytes in UTF-8, without a byte order mark.

    Raises
    ------
    ValueError
        If no encoding is set, and the text looks like UTF-16 or UTF-32, or like compressed data.
    """
    with open_bytes(path) as source:
        raw = source if encoding is None else Utf8Stream(source, encoding)
        text = io.BufferedReader(raw, HEAD)
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
    return f"a row is longer than {BLOCK >> 20} MiB; store the table as Parquet"


def undecodable_message(text: bytes) -> str:
    """Return the message for bytes that are not UTF-8."""
    return (
        f"{quoted(text)} is not UTF-8 text: pass the encoding in which the table was written, such "
        "as encoding='cp1252'"
    )
