"""Corpus files: what can be read, how it is opened, and where it can be cut."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import BinaryIO

from gensim_tfw2v.files.text import (
    converting,
    damage,
    is_wide_ascii,
    naming_package,
    undecodable,
    wide_encoding,
)

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")  # known to smart_open by these endings
MAGIC = {
    b"\x1f\x8b": (".gz", "gzip"),
    b"BZh": (".bz2", "bzip2"),
    b"\xfd7zXZ\x00": (".xz", "xz"),
    b"\x28\xb5\x2f\xfd": (".zst", "zstd"),
    b"\x04\x22\x4d\x18": (".lz4", "lz4"),
    b"PK\x03\x04": (".zip", "zip"),
}


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
        return f"{self.path} {undecodable(self, self.offset)}"


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file's name ends as a compressed file's does."""
    return os.fspath(path).lower().endswith(COMPRESSED)


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a pipe or a terminal, read only once; False if missing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a path with a null byte
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def bytes_read(file: BinaryIO) -> int:
    """Bytes of an open file read so far, as stored on disk; 0 for a pipe or a remote file."""
    try:
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (AttributeError, OSError):
        return 0


def check_corpus(path: str) -> bool:
    """Refuse what is no corpus; tell whether the file is plain, or must be streamed.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
    ValueError
        If the file is compressed but not named so: smart_open, as gensim, goes by the ending.
    """
    if "://" in path:
        return False
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        advice = f"no such corpus file (looked from {os.getcwd()})"
        raise FileNotFoundError(errno.ENOENT, advice, path) from None
    if stat.S_ISDIR(mode):
        advice = "a folder; pass sentences=PathLineSentences(folder), of one that holds files alone"
        raise IsADirectoryError(errno.EISDIR, advice, path)
    if not stat.S_ISREG(mode):
        return False
    if is_compressed(path):
        return False
    with open(path, "rb") as file:
        _check_text(path, file.read(10))
    return True


def _check_text(path: str, head: bytes) -> None:
    """Refuse a file that begins like a compressed one, or is of wide characters of ASCII."""
    for magic, (ending, kind) in MAGIC.items():
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] == b"1AY&SY"):
            can_be_named = ending != ".zip" and not is_pipe(path)
            cure = f"name it …{ending}, or decompress it" if can_be_named else "decompress it"
            raise ValueError(f"{path} holds {kind} data, not text: {cure}")
    if is_wide_ascii(head) and (encoding := wide_encoding(head)):
        raise ValueError(f"{path} is not UTF-8 text. {converting(encoding)}")


@contextmanager
def open_corpus(path: str) -> Iterator[BinaryIO]:
    """Open a corpus for reading bytes, decompressed; name it in what goes wrong meanwhile.

    Raises
    ------
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, OSError
        If compressed data are damaged or cut short: the decompressor's exception, explained.
    """
    if not is_compressed(path) and "://" not in path:
        with open(path, "rb") as file:
            if not file.seekable():  # else it has been looked at
                _check_text(path, file.peek(10))
            yield file
        return
    import smart_open  # only here: it takes longer to import than this package

    try:
        with naming_package(path):
            opened = smart_open.open(path, "rb")
        with opened as file:
            yield file
    except Exception as error:
        if (kind := damage(error)) is None:
            raise
        advice = (
            f"{path} is damaged, cut short, or not what its name says: {error}. Make or copy it "
            "again, or rename it if it is not compressed"
        )
        raise kind(advice) from error


def line_ranges(path: str, edges: Iterable[int]) -> list[tuple[int, int]]:
    """Cut a plain file at the first end of a line behind each edge, if it is before the next.

    Edges rise. Ranges are (start, stop) in bytes, without gaps; an empty file is one, [(0, 0)].
    """
    size = os.path.getsize(path)
    cuts = [0]
    with open(path, "rb") as file:
        for edge in edges:
            edge = max(edge, cuts[-1])
            file.seek(edge)
            while block := file.read(1 << 20):
                if (newline := block.find(b"\n")) >= 0:
                    cuts.append(edge + newline + 1)
                    break
                edge += len(block)
            else:  # the last line goes on to the end
                break
    return list(pairwise([*(cut for cut in cuts if cut < size), size])) or [(0, 0)]
