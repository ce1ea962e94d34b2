"""Corpora of text files: checking them, and cutting them into runs, which the scanner reads."""

import errno
import os
import re
import stat
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.corpus.lines import LineCorpus
from gensim_tfw2v.corpus.protocol import Corpus, CountedParts
from gensim_tfw2v.corpus.run_readers import RunReader, read_runs
from gensim_tfw2v.corpus.scanner import (
    FileRange,
    KnownWords,
    bytes_of,
    library,
    scan,
)
from gensim_tfw2v.corpus.shard_files import MAX_SENTENCE, Progress
from gensim_tfw2v.corpus.shards import EncodedPart, save_ids
from gensim_tfw2v.corpus.string_table import StringTable
from gensim_tfw2v.messages import COMPRESSED

BYTES_PER_RUN = 16 << 20  # approximate size of a run; scanning one takes about 0.1 s
MAX_RUNS = 1024  # limits the memory for the counts of all runs

#: Bytes of texts in ASCII.
_ASCII = bytes([*b"\t\n\r", *range(32, 127)])

#: Two words at the start of a text, but not the first two of a pointer of Git LFS.
_TWO_WORDS = re.compile(rb"(?!version https:)[A-Za-z]\S*\s+[A-Za-z]")

#: Path of a file, or an iterable of sentences.
Source = Path | Iterable[list[str]]

#: Name of gensim's class for the sentences of several files.
PATH_SENTENCES = "gensim.models.word2vec.PathLineSentences"


@dataclass
class TextCorpus(Corpus):
    """Lines of text files or of columns of tables.

    Files are in the format of LineSentence: UTF-8, one sentence per line, words separated by white
    space. They may be compressed, with a suffix that smart_open supports (.gz, .bz2, …). In
    `tagged` text each line is a document, even an empty one.

    Attributes
    ----------
    ranges : sequence of FileRange
        Whole files.
    tagged : bool
    paths : sequence of str
        Files that remote machines may read, too.
    remote_readers : sequence of RunReader
    """

    ranges: Sequence[FileRange]
    tagged: bool = False
    paths: Sequence[str] = ()
    remote_readers: Sequence[RunReader] = ()
    has_line_tags = True

    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Number and count the words of the files, as if these were concatenated."""
        if library() is None:
            return self._lines().count(folder, progress)
        table = StringTable(folder, separator=b"\n")
        parts = list[tuple[EncodedPart, Path | None]]()
        with closing(self._read_runs(folder, None, progress)) as run_parts:
            for part in run_parts:  # `closing` stops all threads after an error
                ids = folder / f"part{len(parts):05}.ids"
                save_ids(ids, table.add(part.words, part.counts))
                # the new part has no words, to save memory: `table` has them
                parts.append((EncodedPart(part.shards, part.n_raw_words, part.n_sentences), ids))
        words, counts = table.finish()
        return CountedParts(words, counts, parts)

    def encode(
        self, key_to_index: Mapping[Any, int], folder: Path, progress: Progress | None
    ) -> list[EncodedPart]:
        """Write the files to shards, with the ids of a vocabulary."""
        if library() is None:
            return self._lines().encode(key_to_index, folder, progress)
        with closing(self._read_runs(folder, KnownWords(key_to_index), progress)) as parts:
            return list(parts)

    def _lines(self) -> LineCorpus:
        return LineCorpus(cut_texts(self.ranges), self.tagged)

    def _read_runs(
        self, folder: Path, vocabulary: KnownWords | None, progress: Progress | None
    ) -> Generator[EncodedPart, None, None]:
        """Yield the parts of the runs in order; errors are those of `read_runs`."""
        runs = cut_texts(self.ranges)
        if len(runs) > 1:
            readers = self.remote_readers
            yield from read_runs(runs, folder, vocabulary, self.tagged, readers, progress)
        elif runs:  # not in a new thread, in which Ctrl-C could not interrupt a read from a pipe
            yield scan(runs[0], folder / "part00000-", vocabulary, self.tagged, progress)


def open_texts(source: Any, tagged: bool) -> TextCorpus | None:
    """Open a source that consists of whole files; return None for any other source.

    Raises
    ------
    OSError, ValueError
        See `whole_file`.
    """
    paths = text_paths(source, tagged)
    return None if paths is None else open_paths(paths, tagged)


def open_paths(
    paths: Sequence[str], tagged: bool, remote_readers: Sequence[RunReader] = ()
) -> TextCorpus:
    """Open files; errors are those of `whole_file`."""
    ranges = [whole_file(path) for path in paths]
    corpus = TextCorpus(ranges, tagged, paths, remote_readers)
    if size := bytes_of(ranges):
        corpus.unit = "B"
        corpus.total = size
    return corpus


def text_paths(source: Any, tagged: bool = False) -> list[str] | None:
    """Return the files of a source that consists of whole files; None for any other source.

    Files may be passed as a path, or as gensim's `LineSentence` or `PathLineSentences` with the
    default limits on number and length of sentences. `tagged` documents may also be a
    `TaggedLineDocument`.
    """
    if isinstance(source, Path):
        return [str(source)]
    kind = f"{type(source).__module__}.{type(source).__name__}"
    if tagged and kind == "gensim.models.doc2vec.TaggedLineDocument":
        paths = [source.source]
    elif kind not in ("gensim.models.word2vec.LineSentence", PATH_SENTENCES):
        return None
    elif source.max_sentence_length != MAX_SENTENCE or source.limit is not None:
        return None
    else:
        paths = source.input_files if kind == PATH_SENTENCES else [source.source]
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        return None  # the source contains an open file
    from smart_open.compression import get_supported_extensions

    # formats that the user has registered with smart_open are read by gensim's class
    custom_formats = set(get_supported_extensions()) - set(COMPRESSED)
    if custom_formats & {os.path.splitext(path)[1] for path in paths}:
        return None
    paths = list(map(os.fspath, paths))
    return [path if "://" in path else os.path.expanduser(path) for path in paths]


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
    if not _is_plain(path):
        from gensim_tfw2v.corpus.refusals import find_refusal

        if refusal := find_refusal(path):
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
