"""Corpus files: which a corpus has, how they are opened, and where they are cut into runs."""

import errno
import operator
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gensim_tfw2v import messages
from gensim_tfw2v.corpus.shards import MAX_SENTENCE
from gensim_tfw2v.messages import COMPRESSED, MAGIC

BYTES_A_RUN = 16 << 20  # a tenth of a second of work
MAX_RUNS = 1024  # what is known of each is kept

#: A file, or sentences.
Source = Path | Iterable[list[str]]


class CorpusDecodeError(UnicodeDecodeError):
    """Corpus that is not UTF-8, the encoding that gensim's corpus format requires.

    Attributes
    ----------
    path : str
        The corpus.
    offset : int
        Offset in bytes of the invalid bytes; for a compressed file, in the decompressed text.
    """

    def __init__(
        self, error: UnicodeDecodeError, path: str, offset: int, before: bytes = b""
    ) -> None:
        before = (before + error.object[: error.start])[-20:]
        start = len(before)
        end = len(before) + error.end - error.start
        near = before + error.object[error.start : error.start + 20]
        super().__init__(error.encoding, near, start, end, error.reason)
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.path} {messages.undecodable(self, self.offset)}"


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
    if not stat.S_ISREG(mode) or is_compressed(path):
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
    if messages.is_wide_ascii(head) and (encoding := messages.wide_encoding(head)):
        raise ValueError(f"{path} is not UTF-8 text. {messages.converting(encoding)}")


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
    try:
        with messages.open_decompressed(path) as file:
            yield file
    except Exception as error:
        if (kind := messages.damage(error)) is None:
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


class FileRange(NamedTuple):
    """Whole lines of a text."""

    path: str
    start: int = 0  # byte
    stop: int | None = None  # None for a text that is not cut, because it has to be streamed
    tagged: bool = False  # each line is a document, whose tag is the line's number

    @property
    def bytes(self) -> int:
        """Its size on disk; 0 where that is not known."""
        if self.stop is not None:
            return self.stop - self.start
        return 0 if "://" in self.path else os.path.getsize(self.path)


def find_texts(paths: Sequence[str | os.PathLike[str]], tagged: bool = False) -> list[FileRange]:
    """Look at files, each of which is one piece; errors are those of `check_corpus`."""
    names = [os.fspath(path) for path in paths]
    sizes = (os.path.getsize(name) if check_corpus(name) else None for name in names)
    return [FileRange(name, 0, size, tagged) for name, size in zip(names, sizes, strict=True)]


def cut_texts(texts: Sequence[FileRange]) -> list[list[FileRange]]:
    """Cut whole files into runs of about equal size, which depend on the texts alone.

    Runs are in the order of the text, and none is empty.
    """
    sizes = [text.bytes for text in texts]
    total = max(1, sum(sizes))
    begin = 0
    number = max(1, min(MAX_RUNS, total // BYTES_A_RUN))
    runs: list[list[FileRange]] = [[] for _ in range(number)]
    for text, size in zip(texts, sizes, strict=True):
        if text.stop is None:  # in the run that its middle is in
            place = (begin + size // 2) * number // total
            runs[min(place, number - 1)].append(text)
        else:
            inside = range(begin * number // total, (begin + size) * number // total + 1)
            edges = (total * place // number - begin for place in inside)
            for start, stop in line_ranges(text.path, [edge for edge in edges if 0 < edge < size]):
                run = runs[min((begin + start) * number // total, number - 1)]
                if start and run:  # a short range behind a long line
                    start = run.pop().start
                run.append(text._replace(start=start, stop=stop))
        begin += size
    return [run for run in runs if run]


def text_files(source: Source) -> list[str] | None:
    """Name the files that a source stands for, if it is gensim's way to read them whole.

    Sentences of gensim's `LineSentence` and `PathLineSentences` are those of the files that they
    name, if neither their number nor their length is limited otherwise than by default.
    """
    if isinstance(source, Path):
        return [str(source)]
    gensim: Any = sys.modules.get("gensim.models.word2vec")  # there, if the source is of it
    if gensim is None or type(source) not in (gensim.LineSentence, gensim.PathLineSentences):
        return None
    from smart_open.compression import get_supported_extensions

    reader: Any = source
    if reader.max_sentence_length != MAX_SENTENCE or reader.limit is not None:
        return None
    paths = [reader.source] if type(reader) is gensim.LineSentence else reader.input_files
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        return None  # an open file
    paths = [path if "://" in path else os.path.expanduser(path) for path in map(os.fspath, paths)]
    # of what a user has taught smart_open, `is_compressed` knows nothing
    taught = set(get_supported_extensions()) - set(COMPRESSED)
    return None if taught & {os.path.splitext(path)[1] for path in paths} else paths


class Extent(NamedTuple):
    """Amount of text to read, as far as it is known in advance."""

    unit: str  # "B", "sentences" or "words"
    total: int | None

    @classmethod
    def of(cls, source: Source) -> "Extent":
        """Files have a size in bytes, a list has sentences; errors are those of `find_texts`."""
        if (paths := text_files(source)) is None:
            number = operator.length_hint(source, 0)
            return cls("sentences", number) if number else cls("words", None)
        size = sum(text.bytes for text in find_texts(paths))
        return cls("B", size) if size else cls("words", None)

    def reached(self, words: int, sentences: int, word_types: int, read: int) -> int:
        """Position in the text, from what a `Progress` is told."""
        return {"B": read, "sentences": sentences, "words": words}[self.unit]
