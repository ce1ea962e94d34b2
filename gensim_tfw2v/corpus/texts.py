"""Sources of sentences and their sizes; files are cut into runs."""

import operator
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.files import COMPRESSED, check_corpus, line_ranges
from gensim_tfw2v.corpus.shards import MAX_SENTENCE

BYTES_A_RUN = 16 << 20  # a tenth of a second of work
MOST_RUNS = 1024  # what is known of each is kept

#: A file, or sentences.
Source = Path | Iterable[list[str]]


class Piece(NamedTuple):
    """Whole lines of a text."""

    path: str
    start: int = 0  # byte
    stop: int | None = None  # None for a text that is not cut, because it has to be streamed

    @property
    def bytes(self) -> int:
        """Its size on disk; 0 where that is not known."""
        return (size_of(self.path) if self.stop is None else self.stop) - self.start


def size_of(path: str) -> int:
    """Bytes of a file; 0 if it is remote."""
    return 0 if "://" in path else os.path.getsize(path)


class Texts(NamedTuple):
    """Paths and sizes of texts, known before they are read."""

    paths: list[str]
    sizes: list[int]  # bytes on disk; 0 where they are not known
    can_be_cut: list[bool]

    @classmethod
    def found(cls, paths: Sequence[str | os.PathLike[str]]) -> "Texts":
        """Look at files; errors are those of `check_corpus`."""
        names = [os.fspath(path) for path in paths]
        plain = [check_corpus(name) for name in names]
        return cls(names, list(map(size_of, names)), plain)

    @property
    def bytes(self) -> int:
        """Their size on disk together."""
        return sum(self.sizes)

    def cut(self) -> list[list[Piece]]:
        """Cut them into runs of about equal size, which depend on the texts alone.

        Runs are in the order of the text, and none is empty.
        """
        total, begin = max(1, self.bytes), 0
        runs = max(1, min(MOST_RUNS, total // BYTES_A_RUN))
        cut: list[list[Piece]] = [[] for _ in range(runs)]
        for path, size, is_plain in zip(*self, strict=True):
            if is_plain:
                inside = range(begin * runs // total, (begin + size) * runs // total + 1)
                edges = (total * run // runs - begin for run in inside)
                for start, stop in line_ranges(path, [e for e in edges if 0 < e < size]):
                    pieces = cut[min((begin + start) * runs // total, runs - 1)]
                    if start and pieces:  # a short range behind a long line
                        start = pieces.pop().start
                    pieces.append(Piece(path, start, stop))
            else:  # in the run that its middle is in
                run = (begin + size // 2) * runs // total
                cut[min(run, runs - 1)].append(Piece(path))
            begin += size
        return [pieces for pieces in cut if pieces]


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
        """Files have a size in bytes, a list has sentences; errors are those of `Texts.found`."""
        if (paths := text_files(source)) is None:
            number = operator.length_hint(source, 0)
            return cls("sentences", number) if number else cls("words", None)
        size = Texts.found(paths).bytes
        return cls("B", size) if size else cls("words", None)

    def reached(self, words: int, sentences: int, word_types: int, read: int) -> int:
        """Position in the text, from what a `Progress` is told."""
        return {"B": read, "sentences": sentences, "words": words}[self.unit]
