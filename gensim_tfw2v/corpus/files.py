"""Corpus files: what can be read, how it is opened, and where it can be cut."""

import errno
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from lzma import LZMAError
from typing import BinaryIO

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")  # known to smart_open by these endings
MAGIC = {
    b"\x1f\x8b": (".gz", "gzip"),
    b"BZh": (".bz2", "bzip2"),
    b"\xfd7zXZ\x00": (".xz", "xz"),
    b"\x28\xb5\x2f\xfd": (".zst", "zstd"),
    b"PK\x03\x04": (".zip", "zip"),
}


def check_corpus(path: str) -> bool:
    """Refuse what is no corpus; tell whether the file can be read in ranges.

    Returns
    -------
    bool
        True for a plain file; False for what must be streamed (compressed, remote, a pipe).

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As the system says.
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
    with open(path, "rb") as file:
        head = file.read(10)
    compressed = path.lower().endswith(COMPRESSED)
    for magic, (ending, kind) in MAGIC.items():
        if not compressed and head.startswith(magic) and (magic != b"BZh" or head[4:] == b"1AY&SY"):
            cure = "decompress it" if ending == ".zip" else f"name it …{ending}, or decompress it"
            raise ValueError(f"{path} holds {kind} data, not text: {cure}")
    return not compressed


@contextmanager
def open_corpus(path: str) -> Iterator[BinaryIO]:
    """Open a corpus for reading bytes, decompressed; name it in what goes wrong meanwhile.

    Raises
    ------
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, OSError
        If compressed data are damaged or cut short: the decompressor's exception, explained.
    """
    if not path.lower().endswith(COMPRESSED) and "://" not in path:
        with open(path, "rb") as file:
            yield file
        return
    import smart_open  # only here: it takes longer to import than this package

    try:
        with smart_open.open(path, "rb") as file:
            yield file
    except (EOFError, zlib.error, LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        advice = f"{path} is damaged, cut short, or not what its name says: {error}"
        raise type(error)(advice) from error


def line_ranges(path: str, edges: Iterable[int]) -> list[tuple[int, int]]:
    """Cut a plain file where lines end.

    Parameters
    ----------
    path : str
        A plain file.
    edges : iterable of int
        Bytes, rising: a cut is made at the first end of a line behind each, if there is one
        before the next.

    Returns
    -------
    list of (start, stop)
        In bytes; in order, without gaps, none empty but for an empty file: [(0, 0)].
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
