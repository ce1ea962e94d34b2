"""Corpus files: finding them, cutting them into runs, and opening them."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BufferedReader, FileIO
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gensim_tfw2v import messages
from gensim_tfw2v.corpus.encoded_corpus import MAX_SENTENCE
from gensim_tfw2v.corpus.refusals import find_refusal, find_stream_refusal
from gensim_tfw2v.corpus.table_options import TableColumn
from gensim_tfw2v.corpus.table_streams import HEAD
from gensim_tfw2v.messages import COMPRESSED

BYTES_A_RUN = 16 << 20  # scanned in about 0.1 s
MAX_RUNS = 1024  # limits memory, because the counts of each run are kept

#: Name of gensim's class for the sentences of several files.
PATHS = "gensim.models.word2vec.PathLineSentences"

#: Bytes of texts in ASCII.
_ASCII = bytes([*b"\t\n\r", *range(32, 127)])

#: Two words, at the start of a text.
_WORDS = re.compile(rb"(?!version https:)[A-Za-z]\S*\s+[A-Za-z]")

#: Path of a file, or an iterable of sentences.
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
        start = len(before) + error.start
        end = len(before) + error.end
        super().__init__(error.encoding, before + error.object, start, end, error.reason)
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.path} {messages.undecodable(self, self.offset)}"


class FileRange(NamedTuple):
    """Whole lines of a text: bytes [start, stop) of a file.

    A stream (a compressed or remote file, or a pipe) is one range. Its size is the size on disk, or
    0 if this is unknown. If `column` is set, the file is a table, and the text that column.
    """

    path: str
    start: int
    stop: int
    is_stream: bool = False
    column: TableColumn | None = None


class Text(NamedTuple):
    """Description of a corpus: runs of files, or sentences.

    Files are in the format of LineSentence: UTF-8, one sentence per line, words separated by white
    space. They may be compressed, with a suffix that smart_open supports (.gz, .bz2, …). Lines of
    more than 10,000 words are cut into several sentences. Such sentences of an iterable are cut,
    too, while gensim would drop the words beyond 10,000. Words of an iterable may be any objects
    that can be keys. As in gensim, a warning is logged if the first sentence is a string.

    Attributes
    ----------
    runs : list of list of FileRange, optional
        Result of `cut_texts`; None for sentences.
    sentences : iterable
        Token lists, if `runs` is None. Tagged documents are (entries of tags, words).
    tagged : bool
        Whether the corpus consists of documents. Each line of a file, even an empty one, is then a
        document, whose tag is the number of the line.
    machines : list of RemoteReader
        Remote machines that also read runs, each listed once per core.
    unit : str
        Unit of progress.
    total : int, optional
        Size of the corpus in this unit, if known.
    """

    runs: list[list[FileRange]] | None = None
    sentences: Iterable[Any] = ()
    tagged: bool = False
    machines: Sequence[Any] = ()
    unit: str = "words"
    total: int | None = None


def text_files(source: Any, tagged: bool = False) -> list[str] | None:
    """Return the files of a source that consists of whole files; None for any other iterable.

    Files may be passed as a path, or as gensim's `LineSentence` or `PathLineSentences` with the
    default limits on number and length of sentences. `tagged` documents may also be a
    `TaggedLineDocument`.
    """
    if isinstance(source, Path):
        return [str(source)]
    kind = f"{type(source).__module__}.{type(source).__name__}"
    if tagged and kind == "gensim.models.doc2vec.TaggedLineDocument":
        paths = [source.source]
    elif kind not in ("gensim.models.word2vec.LineSentence", PATHS):
        return None
    elif source.max_sentence_length != MAX_SENTENCE or source.limit is not None:
        return None
    else:
        paths = source.input_files if kind == PATHS else [source.source]
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        return None  # an open file
    from smart_open.compression import get_supported_extensions

    # formats that the user has registered with smart_open are read by gensim's class
    taught = set(get_supported_extensions()) - set(COMPRESSED)
    if taught & {os.path.splitext(path)[1] for path in paths}:
        return None
    paths = list(map(os.fspath, paths))
    return [path if "://" in path else os.path.expanduser(path) for path in paths]


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pipe or a terminal, which can be read only once.

    Returns False if the path is missing.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a path with a null byte
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
    """Return whether a file begins with words in ASCII and has no suffix but .txt, as most texts.

    No other kind of file does, except vectors, whose words are followed by a number, and pointers
    of Git LFS.
    """
    if os.path.splitext(path)[1].lower() not in ("", ".txt"):
        return False
    with open(path, "rb") as file:
        head = file.read(HEAD)
    return bool(_WORDS.match(head)) and not head.translate(None, _ASCII)


def bytes_of(ranges: Iterable[FileRange]) -> int:
    """Return the total size of ranges in bytes."""
    return sum(of.stop - of.start for of in ranges)


def cut_texts(texts: Sequence[FileRange]) -> list[list[FileRange]]:
    """Cut whole files into runs of about equal size, which depend only on the files.

    Runs are in the order of the text, and none is empty.
    """
    total = max(1, bytes_of(texts))
    number = max(1, min(MAX_RUNS, total // BYTES_A_RUN))
    runs: dict[int, list[FileRange]] = {}
    begin = 0
    for text in texts:
        if text.is_stream:  # not cut, but a part of the run that contains its middle
            ranges = [(text.stop // 2, text)]
        else:
            inside = range(begin * number // total, (begin + text.stop) * number // total + 1)
            edges = [total * place // number - begin for place in inside]
            cuts = pairwise(_cuts(text, edges))
            ranges = [(start, text._replace(start=start, stop=stop)) for start, stop in cuts]
        for offset, of_run in ranges:
            place = min((begin + offset) * number // total, number - 1)
            runs.setdefault(place, []).append(of_run)
        begin += text.stop
    return list(runs.values())


def _cuts(text: FileRange, edges: Iterable[int]) -> list[int]:
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
            if edge >= text.stop:  # within the last line
                break
            cuts.append(edge)
    return [*cuts, text.stop]


def open_text(text: FileRange) -> AbstractContextManager[BinaryIO]:
    """Open a text for reading from its start, as decompressed bytes."""
    if text.column is not None:
        from gensim_tfw2v.corpus.table_files import ColumnText

        return BufferedReader(ColumnText(text.path, text.column))
    if text.is_stream:
        return _open_stream(text.path)
    file = open(text.path, "rb")
    file.seek(text.start)
    return file


@contextmanager
def _open_stream(path: str) -> Iterator[BinaryIO]:
    """Open a compressed or remote file or a pipe, and name it in errors until it is closed.

    Raises
    ------
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, OSError
        If compressed data are damaged or truncated: the decompressor's type, with an explanation.
    ValueError
        If a pipe or a remote file is not a text: see `refusals.find_stream_refusal`.
    """
    if not path.lower().endswith(COMPRESSED) and "://" not in path:
        with BufferedReader(FileIO(path), HEAD) as file:
            if refusal := find_stream_refusal(file.peek()):
                raise ValueError(f"{path} {refusal}")
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
    """Raise a ValueError if a remote file is not a text; return an open file from its start."""
    peekable = file if hasattr(file, "peek") else BufferedReader(file, HEAD)
    if refusal := find_stream_refusal(peekable.peek(HEAD)[:HEAD], path):
        raise ValueError(f"{path} {refusal}")
    return peekable


def bytes_read(file: BinaryIO) -> int:
    """Return the bytes on disk that a stream has read so far; 0 for a pipe or a remote file."""
    try:
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (AttributeError, OSError):
        return 0
