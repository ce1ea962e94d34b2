"""Text files of a corpus: checking them, and cutting them into runs of lines."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from gensim_tfw2v import messages
from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.corpus.refusals import find_refusal
from gensim_tfw2v.corpus.text_streams import open_stream
from gensim_tfw2v.messages import COMPRESSED

BYTES_PER_RUN = 16 << 20  # approximate size of a run; scanning one takes about 0.1 s
MAX_RUNS = 1024  # limits the memory for the counts of all runs

#: Bytes of texts in ASCII.
_ASCII = bytes([*b"\t\n\r", *range(32, 127)])

#: Two words at the start of a text, but not the first two of a pointer of Git LFS.
_TWO_WORDS = re.compile(rb"(?!version https:)[A-Za-z]\S*\s+[A-Za-z]")

#: Path of a file, or an iterable of sentences.
Source = Path | Iterable[list[str]]


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


@dataclass(frozen=True, order=True)
class FileRange:
    """Whole lines of a text: bytes [start, stop) of a file.

    A stream (a compressed or remote file, or a pipe) is one range, from 0 to its size on disk, or
    to 0 if this size is unknown.
    """

    path: str
    start: int
    stop: int
    is_stream: bool = False

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the range for reading from its start, as decompressed bytes."""
        if self.is_stream:
            return open_stream(self.path)
        file = open(self.path, "rb")
        file.seek(self.start)
        return file


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pipe or a terminal, which can be read only once.

    Returns False if the path is missing.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # ValueError: the path contains a null byte
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def whole_file(path: str) -> FileRange:
    """Check a file, and return it as one range.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
    ValueError
        If the file is not a text: see `refusals.find_refusal`.
    """
    if "://" in path:
        return FileRange(path, 0, 0, is_stream=True)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        advice = f"no such corpus file (looked from {os.getcwd()})"
        raise FileNotFoundError(errno.ENOENT, advice, path) from None
    if stat.S_ISDIR(status.st_mode):
        advice = "a folder; pass PathLineSentences(folder), which reads its files, no subfolders"
        raise IsADirectoryError(errno.EISDIR, advice, path)
    if not stat.S_ISREG(status.st_mode):
        return FileRange(path, 0, status.st_size, is_stream=True)
    if not _is_plain(path) and (refusal := find_refusal(path)):
        raise ValueError(f"{path} {refusal}")
    return FileRange(path, 0, status.st_size, is_stream=path.lower().endswith(COMPRESSED))


def _is_plain(path: str) -> bool:
    """Return whether a file is certainly a text: words in ASCII, with the suffix .txt or none.

    Most texts are like this, so the slower checks are skipped for them. `_TWO_WORDS` excludes files
    of vectors, in which a number follows the first word, and pointers of Git LFS.
    """
    if os.path.splitext(path)[1].lower() not in ("", ".txt"):
        return False
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    return bool(_TWO_WORDS.match(head)) and not head.translate(None, _ASCII)


def bytes_of(ranges: Iterable[FileRange]) -> int:
    """Return the total size of ranges in bytes."""
    return sum(lines.stop - lines.start for lines in ranges)


def cut_texts(texts: Sequence[FileRange]) -> list[list[FileRange]]:
    """Cut whole files into runs of about equal size, which depend only on the files.

    A run is a list of file ranges. Runs are in the order of the text, and none is empty.
    """
    n_bytes = max(1, bytes_of(texts))
    n_runs = max(1, min(MAX_RUNS, n_bytes // BYTES_PER_RUN))
    runs: dict[int, list[FileRange]] = {}
    text_start = 0  # offset of the current file in the concatenation of all files
    for text in texts:
        if text.is_stream:  # streams aren't cut: each is in the run that contains its middle
            ranges = [(text.stop // 2, text)]
        else:
            text_stop = text_start + text.stop
            runs_inside = range(text_start * n_runs // n_bytes, text_stop * n_runs // n_bytes + 1)
            edges = [n_bytes * run // n_runs - text_start for run in runs_inside]
            cuts = pairwise(_find_cuts(text, edges))
            ranges = [(start, replace(text, start=start, stop=stop)) for start, stop in cuts]
        for offset, lines in ranges:
            run = min((text_start + offset) * n_runs // n_bytes, n_runs - 1)
            runs.setdefault(run, []).append(lines)
        text_start += text.stop
    return list(runs.values())


def _find_cuts(text: FileRange, edges: Iterable[int]) -> list[int]:
    """Return the offsets of a file's start, of the first line after each edge, and of its end.

    Edges are ascending. Edges outside the file, or before the last cut, are skipped.
    """
    cuts = [0]
    with open(text.path, "rb") as file:
        for edge in edges:
            if edge <= cuts[-1]:
                continue
            file.seek(edge)
            while block := file.read(1 << 20):
                edge += len(block)
                if (newline := block.find(b"\n")) >= 0:
                    edge += newline + 1 - len(block)
                    break
            if edge >= text.stop:  # the edge was within the last line
                break
            cuts.append(edge)
    return [*cuts, text.stop]
