"""Corpora of text files, which the compiled scanner reads in parallel."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.encoded_corpus import save_ids
from gensim_tfw2v.corpus.lines import LineCorpus
from gensim_tfw2v.corpus.protocol import Corpus, CountedParts
from gensim_tfw2v.corpus.run_readers import RunReader, read_runs
from gensim_tfw2v.corpus.scanner import KnownWords, WordCounter, library, scan, words_of
from gensim_tfw2v.corpus.shard_files import MAX_SENTENCE, EncodedPart, Progress
from gensim_tfw2v.corpus.text_files import FileRange, bytes_of, cut_texts, whole_file
from gensim_tfw2v.messages import COMPRESSED

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

    def __post_init__(self) -> None:
        if self.paths and (size := bytes_of(self.ranges)):
            self.unit = "B"
            self.total = size

    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Number and count the words of the files, as if these were concatenated."""
        if library() is None:
            return self._lines().count(folder, progress)
        counter = WordCounter()
        parts = list[tuple[EncodedPart, Path | None]]()
        with closing(self._read_runs(folder, None, progress)) as run_parts:
            for part in run_parts:  # `closing` stops all threads after an error
                ids = folder / f"part{len(parts):05}.ids"
                save_ids(ids, counter.add(part.words, part.counts))
                # the new part has no words, to save memory: `counter` has them
                parts.append((EncodedPart(part.shards, part.n_raw_words, part.n_sentences), ids))
        text, counts = words_of(counter.pointer)
        del counter  # its table takes as much memory as the words
        return CountedParts(text.decode().split("\n")[:-1], counts, parts)

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
    return TextCorpus([whole_file(path) for path in paths], tagged, paths, remote_readers)


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
