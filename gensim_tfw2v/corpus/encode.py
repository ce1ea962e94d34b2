"""Encoding of texts and sentences as ids, by counting their words or by an existing vocabulary.

Files are read in runs, in parallel by all cores and by the machines of a cluster.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

import numpy as np

from gensim_tfw2v.corpus.encoded_corpus import (
    FIRST_TAG,
    ID,
    UNKNOWN,
    EncodedCorpus,
    EncodedPart,
    Ids,
    OnDisk,
    Parent,
    Progress,
    Shard,
    read_pieces,
    save_ids,
    save_shard,
    write_error,
)
from gensim_tfw2v.corpus.scanner import Known, WordCounter, library, renumber, scan, words_of
from gensim_tfw2v.corpus.sentences import KnownNumbers, Numbers, packed_to_shards
from gensim_tfw2v.corpus.text_files import Text, bytes_of
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.threads import in_threads, usable_cores

logger = logging.getLogger(__name__)

#: Function from provisional numbers of tags to their rows, -1 for unknown tags.
Rows = Callable[[Ids], Ids]


class Stopped(Exception):
    """Raised in a reader thread whose result is no longer needed."""


@contextlib.contextmanager
def fresh_folder(parent: Parent = None) -> Iterator[TemporaryFolder]:
    """Make a temporary folder, which is removed only if the block raises an exception."""
    try:
        made = TemporaryFolder("corpus", parent)
    except OSError as error:
        folder = Path(parent or "the folder for temporary files")
        raise write_error(error.errno, folder) from error
    try:
        yield made
    except BaseException:  # Ctrl-C too
        made.close()
        raise


def read_runs(
    text: Text, folder: Path, known: Known | None = None, progress: Progress | None = None
) -> Generator[EncodedPart, None, None]:
    """Read the runs of a text in parallel, by all cores and the text's machines.

    Parts are yielded in the order of the runs. If a machine fails, its run is read by a different
    reader.

    Parameters
    ----------
    text : Text
    folder : Path
        Folder for the shards.
    known : Known, optional
        Existing vocabulary; by default words are counted and numbered.
    progress : callable, optional
        Function that is called in the calling thread.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        The first error in the order of the runs.
    """
    runs = text.runs or []
    if len(runs) <= 1:  # in the calling thread, so that Ctrl-C can interrupt a read from a pipe
        for run in runs:
            yield scan(run, folder / "part00000-", known, text.tagged, progress)
        return
    if known is not None and text.machines:
        known.save(folder)
    latest: dict[int, tuple[int, ...]] = {0: (0, 0, 0, 0)}
    lost: dict[str, Exception] = {}
    free = SimpleQueue[Any]()  # None stands for a core of this machine
    readers = [None] * len(usable_cores()) + list(text.machines)
    for reader in readers:
        free.put(reader)

    def read(number: int, stopped: threading.Event) -> EncodedPart:
        run = runs[number]
        prefix = folder / f"part{number:05}-"
        here = partial(scan, run, prefix, known, text.tagged)

        def tell(*state: int) -> None:
            latest[number] = state
            if stopped.is_set():
                raise Stopped

        while machine := free.get():
            if machine.name in lost:
                continue
            own_prefix = prefix.with_name(f"{prefix.name}{uuid4().hex[:8]}-")
            try:
                part = machine.read(run, own_prefix, known, text.tagged, stopped)
            except Stopped:
                raise
            except Exception as error:
                if lost.setdefault(machine.name, error) is error:
                    logger.warning("%s stopped reading the corpus: %s", machine.name, error)
                continue
            free.put(machine)
            if part is None:
                return here(tell)
            tell(part.raw_words, part.sentences, len(part.counts), bytes_of(run))
            return part
        try:
            return here(tell)
        finally:
            free.put(None)

    def report() -> None:
        words, sentences, word_types, read = zip(*list(latest.values()), strict=True)
        if progress:
            progress(sum(words), sum(sentences), max(word_types), sum(read))

    yield from in_threads(read, range(len(runs)), report, len(readers))


@dataclass(frozen=True)
class Scan(OnDisk):
    """Counted corpus: its words and their counts, and provisional ids on disk.

    The provisional ids take as much disk space as the encoded corpus.

    Attributes
    ----------
    words : list
        Words by provisional id.
    raw_vocab : dict
        Count of each word, in order of first occurrence, so that ties are sorted as in gensim.
    parts : list of (EncodedPart, Path or None)
        Parts with their ids. The Path is None if these are provisional ids. Otherwise the part
        has numbered its own words, and the Path is a file with the provisional id of each.
    total_words : int
        gensim's `corpus_total_words`.
    corpus_count : int
        gensim's `corpus_count`: number of sentences, or of tagged documents. Sentences of a file
        are its lines, cut at 10,000 words. Sentences of an iterable are its items.
    """

    temporary: TemporaryFolder
    words: list[Any]
    raw_vocab: dict[Any, int]
    parts: list[tuple[EncodedPart, Path | None]]
    total_words: int
    corpus_count: int

    def encode(self, key_to_index: Mapping[str, int], rows: Rows | None = None) -> EncodedCorpus:
        """Replace provisional ids by ids of a vocabulary, in a folder next to this one.

        Parameters
        ----------
        key_to_index : dict
            Id of each word, from 0 up. Missing words are dropped.
        rows : callable, optional
            Function from provisional numbers of tags to rows, for documents.

        Raises
        ------
        OSError
            If the folder can't be written or the disk is full. The folder is then removed.
        """
        found = map(key_to_index.get, self.words, repeat(UNKNOWN))
        numbers = np.fromiter(found, ID, len(self.words))
        with fresh_folder(self.temporary.folder.parent) as made:
            part = _rewrite(self.parts, made.folder, numbers, rows)
            return EncodedCorpus(made, [part], rows is not None)


def scan_corpus(text: Text, parent: Parent = None, progress: Progress | None = None) -> Scan:
    """Count the words of files, as if they were concatenated, or of token lists.

    Parameters
    ----------
    text : Text
    parent : path, optional
        Existing folder in which the corpus's temporary folder is made.
    progress : callable, optional
        Function that is called from time to time; see `Progress`.

    Raises
    ------
    CorpusDecodeError
        If a file is not UTF-8. It is a UnicodeDecodeError.
    OSError
        If a file can't be read, the folder can't be written, or the disk is full. The temporary
        folder is then removed.
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If compressed data are damaged or truncated.
    ValueError
        If a file contains compressed data, but its name lacks the suffix for it.
    """
    parts = list[tuple[EncodedPart, Path | None]]()
    with fresh_folder(parent) as made:
        if text.runs is None or library() is None:
            ids = Numbers()
            parts.append((packed_to_shards(text, ids, made.folder, progress), None))
            words = ids.all_words()
            counts = ids.counts
        else:
            counter = WordCounter()
            with contextlib.closing(read_runs(text, made.folder, None, progress)) as read:
                for part in read:  # closing stops all threads after an error
                    places = made.folder / f"part{len(parts):05}.places"
                    save_ids(places, counter.add(part.words, part.counts))
                    parts.append((EncodedPart(*part[:3]), places))  # drop its words to save memory
            joined, counts = words_of(counter.pointer)
            del counter  # its table takes as much memory as the words
            words = joined.decode().split("\n")[:-1]
        raw_vocab = dict(zip(words, counts.tolist(), strict=True))
        corpus_count = sum(part.sentences for part, _ in parts)
        return Scan(made, words, raw_vocab, parts, int(counts.sum()), corpus_count)


def encode_corpus(
    text: Text,
    key_to_index: Mapping[Any, int],
    parent: Parent = None,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> EncodedCorpus:
    """Encode a corpus by a vocabulary, which maps words to ids from 0 up; drop unknown words.

    `rows` maps the line numbers of tagged files to rows of tags. For the remaining parameters and
    the errors see `scan_corpus`.
    """
    with fresh_folder(parent) as made:
        if text.runs is None or library() is None:
            ids = KnownNumbers(key_to_index)
            parts = [packed_to_shards(text, ids, made.folder, progress)]
        else:
            known = Known(key_to_index)
            with contextlib.closing(read_runs(text, made.folder, known, progress)) as read:
                parts = list(read)
        if rows is not None:
            numbers = np.arange(1 + max(key_to_index.values(), default=-1), dtype=ID)
            parts = [_rewrite(zip(parts, repeat(None)), made.folder, numbers, rows)]
        return EncodedCorpus(made, parts, text.tagged)


def _rewrite(
    parts: Iterable[tuple[EncodedPart, Path | None]],
    folder: Path,
    numbers: Ids,
    rows: Rows | None,
) -> EncodedPart:
    """Write copies of shards to a folder, with ``numbers[id]`` for each id, and rows for tags.

    `parts` are as in `Scan`.
    """
    tasks = list[tuple[Shard, Path | None, int]]()
    raw_words = 0
    sentences = 0
    for part, places in parts:  # each part numbers its lines from 0
        tasks += [(shard, places, sentences) for shard in part.shards]
        raw_words += part.raw_words
        sentences += part.sentences

    def write(task: tuple[Shard, Path | None, int], _: object) -> Shard | None:
        shard, places, first_line = task
        ids = numbers if places is None else numbers[np.fromfile(places, ID)]

        def runs() -> Iterator[Ids]:
            for run in read_pieces(shard):
                if rows is not None:
                    tags = run <= FIRST_TAG
                    # row -1 of an unknown tag becomes UNKNOWN: FIRST_TAG - (-1)
                    run[tags] = FIRST_TAG - rows(FIRST_TAG - run[tags] + first_line)
                yield renumber(run, ids)

        path = folder / Path(shard.path).name  # may be the shard itself, while it is read
        new = path.with_suffix(".new")
        saved = save_shard(new, runs(), shard.raw_words, shard.sentences)
        new.replace(path)
        return replace(saved, path=str(path)) if saved.entries else None

    written = list(filter(None, in_threads(write, tasks)))
    return EncodedPart(written, raw_words, sentences)
