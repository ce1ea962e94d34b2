"""Corpus files: which a corpus has, where they are cut into runs, and how they are opened."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gensim_tfw2v import messages
from gensim_tfw2v.corpus.encoded_corpus import MAX_SENTENCE
from gensim_tfw2v.messages import COMPRESSED, MAGIC

BYTES_A_RUN = 16 << 20  # a tenth of a second of work
MAX_RUNS = 1024  # what is known of each is kept

#: gensim's class of sentences in several files.
PATHS = "gensim.models.word2vec.PathLineSentences"

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
        start = len(before) + error.start
        end = len(before) + error.end
        super().__init__(error.encoding, before + error.object, start, end, error.reason)
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.path} {messages.undecodable(self, self.offset)}"


class FileRange(NamedTuple):
    """Whole lines of a text: bytes [start, stop) of a file.

    A stream (a compressed or remote file, a pipe) is one range: its bytes are those on disk, 0 if
    their number is not known.
    """

    path: str
    start: int
    stop: int
    is_stream: bool = False


class Text(NamedTuple):
    """A corpus as it was found: runs of files, or sentences.

    Files are in LineSentence form: UTF-8, plain, or compressed with an ending that smart_open knows
    (.gz, .bz2, …); a sentence a line, words between white space. Lines of more than 10,000 words
    are cut. So are sentences, none of whose words are lost (gensim drops what comes after them).
    Their words may be whatever can be a key. A first sentence that is a string is warned of, as in
    gensim.

    Attributes
    ----------
    runs : list of list of FileRange, optional
        As `cut_texts` returns them.
    sentences : iterable
        Where there are no runs: token lists. Of tagged documents items are packed tags, and words.
    tagged : bool
        Whether these are documents. Then each line of a file is one, an empty one too, whose tag is
        its number.
    machines : list of encode.Machine
        Those that read runs beside the cores of this one, each as often as it has cores.
    unit : str
        Of progress.
    total : int, optional
        In this unit, if it is known.
    """

    runs: list[list[FileRange]] | None = None
    sentences: Iterable[Any] = ()
    tagged: bool = False
    machines: Sequence[Any] = ()
    unit: str = "words"
    total: int | None = None


def text_files(source: Any, tagged: bool = False) -> list[str] | None:
    """Name the files that a source stands for, if it is gensim's way to read them whole.

    Sentences of gensim's `LineSentence` and `PathLineSentences` are those of the files that they
    name, if neither their number nor their length is limited otherwise than by default. So are
    `tagged` documents of these and of `TaggedLineDocument`.
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

    # what a user has taught smart_open to decompress is read by gensim's class
    taught = set(get_supported_extensions()) - set(COMPRESSED)
    if taught & {os.path.splitext(path)[1] for path in paths}:
        return None
    paths = list(map(os.fspath, paths))
    return [path if "://" in path else os.path.expanduser(path) for path in paths]


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a pipe or a terminal, read only once; False if missing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a path with a null byte
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def find_texts(paths: Sequence[str | os.PathLike[str]]) -> list[FileRange]:
    """Look at files, each of which is one range; refuse what is no text.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
    ValueError
        If a file is compressed but not named so: smart_open, as gensim, goes by the ending.
    """
    return [_find_text(os.fspath(path)) for path in paths]


def _find_text(path: str) -> FileRange:
    if "://" in path:
        return FileRange(path, 0, 0, is_stream=True)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        advice = f"no such corpus file (looked from {os.getcwd()})"
        raise FileNotFoundError(errno.ENOENT, advice, path) from None
    if stat.S_ISDIR(status.st_mode):
        advice = "a folder; pass sentences=PathLineSentences(folder), of one that holds files alone"
        raise IsADirectoryError(errno.EISDIR, advice, path)
    is_regular = stat.S_ISREG(status.st_mode)
    if not is_regular or path.lower().endswith(COMPRESSED):
        return FileRange(path, 0, status.st_size, is_stream=True)
    with open(path, "rb") as file:
        _check_text(path, file.read(10))
    return FileRange(path, 0, status.st_size)


def _check_text(path: str, head: bytes, can_be_named: bool = True) -> None:
    """Refuse a file that begins like a compressed one, or is of wide characters of ASCII."""
    for magic, (ending, kind) in MAGIC.items():
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] == b"1AY&SY"):
            is_named = can_be_named and ending != ".zip"
            cure = f"name it …{ending}, or decompress it" if is_named else "decompress it"
            raise ValueError(f"{path} holds {kind} data, not text: {cure}")
    # ASCII in UTF-16 or UTF-32 is valid UTF-8, with null bytes
    is_wide = len(head) > 3 and head.isascii() and not (any(head[::2]) and any(head[1::2]))
    if is_wide and (encoding := messages.wide_encoding(head)):
        raise ValueError(f"{path} is not UTF-8 text. {messages.converting(encoding)}")


def bytes_of(ranges: Iterable[FileRange]) -> int:
    """Sum of the sizes of ranges."""
    return sum(of.stop - of.start for of in ranges)


def cut_texts(texts: Sequence[FileRange]) -> list[list[FileRange]]:
    """Cut whole files into runs of about equal size, which depend on the texts alone.

    Runs are in the order of the text, and none is empty.
    """
    total = max(1, bytes_of(texts))
    number = max(1, min(MAX_RUNS, total // BYTES_A_RUN))
    runs: dict[int, list[FileRange]] = {}
    begin = 0
    for text in texts:
        if text.is_stream:  # in the run that its middle is in
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
    """Offsets of a file's begin, of the first end of a line behind each edge, and of its end.

    Edges rise; those outside the file, and those that a cut has passed, are left out.
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
            if edge >= text.stop:  # the last line goes on to the end
                break
            cuts.append(edge)
    return [*cuts, text.stop]


def open_text(text: FileRange) -> AbstractContextManager[BinaryIO]:
    """Open a text for reading bytes, decompressed, at its start."""
    if text.is_stream:
        return _open_stream(text.path)
    file = open(text.path, "rb")
    file.seek(text.start)
    return file


@contextmanager
def _open_stream(path: str) -> Iterator[BinaryIO]:
    """Open a text that is compressed or remote, or a pipe; name it in what goes wrong meanwhile.

    Raises
    ------
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, OSError
        If compressed data are damaged or cut short: the decompressor's exception, explained.
    """
    if not path.lower().endswith(COMPRESSED) and "://" not in path:
        with open(path, "rb") as file:
            _check_text(path, file.peek(10), can_be_named=False)
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


def bytes_read(file: BinaryIO) -> int:
    """Bytes of an open stream read so far, as stored on disk; 0 for a pipe or a remote file."""
    try:
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (AttributeError, OSError):
        return 0
