"""Texts and sentences to ids: words are counted, or those of a vocabulary that exists.

Texts are read by all cores, a run of pieces a thread, and by other machines.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, repeat
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from gensim_tfw2v.corpus import shards
from gensim_tfw2v.corpus.files import FileRange, cut_texts, find_texts
from gensim_tfw2v.corpus.scanner import Known, Words, library, renumbered, scan
from gensim_tfw2v.corpus.sentences import Lines, Numbers, TaggedLines, packed_to_shards
from gensim_tfw2v.corpus.shards import (
    FIRST_TAG,
    EncodedCorpus,
    EncodedPart,
    Ids,
    OnDisk,
    Parent,
    Progress,
    Shard,
    save_ids,
)
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.processes.machine import usable_cores
from gensim_tfw2v.processes.threads import in_threads

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """Nobody waits for what a thread reads."""


class Machine(Protocol):
    """Another machine, that reads a run at a time; its name is for messages."""

    name: str

    def read(
        self, run: Sequence[FileRange], prefix: Path, known: Known | None, stopped: threading.Event
    ) -> EncodedPart | None:
        """Do what `scan` does, or nothing if the run has to be read here; raise if it is lost."""


#: Gives the other machines that read files and write to a folder.
Reading = Callable[[Sequence[str], Path], Sequence[Machine]]


def read_runs(
    runs: Sequence[Sequence[FileRange]],
    folder: Path,
    known: Known | None,
    progress: Progress | None = None,
    machines: Sequence[Machine] = (),
) -> Generator[EncodedPart, None, None]:
    """Read runs of texts, in their order.

    Parameters
    ----------
    runs : list of list of FileRange
    folder : Path
        Where shards are written.
    known : Known, optional
        The vocabulary, if it is known; else words are counted and numbered.
    progress : callable, optional
        Called in this thread.
    machines : sequence of Machine
        Those that read beside the cores of this one, each as often as it has cores. What one that
        is lost was reading is read by others.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        The first that is met, in the order of the runs.
    """
    if len(runs) <= 1:  # a pipe may keep its reader waiting, which Ctrl-C has to end
        yield from (scan(run, folder / "part00000-", known, progress) for run in runs)
        return
    latest: dict[int, tuple[int, ...]] = {0: (0, 0, 0, 0)}
    lost: dict[str, Exception] = {}
    free = SimpleQueue[Machine | None]()  # None is a core of this machine
    readers = [None] * len(usable_cores()) + list(machines)
    for reader in readers:
        free.put(reader)

    def read(number: int, stopped: threading.Event) -> EncodedPart:
        run = runs[number]
        prefix = folder / f"part{number:05}-"

        def tell(*state: int) -> None:
            latest[number] = state
            if stopped.is_set():
                raise Stopped

        while machine := free.get():
            if machine.name in lost:
                continue
            try:
                part = machine.read(
                    run, prefix.with_name(f"{prefix.name}{uuid4().hex[:8]}-"), known, stopped
                )
            except Stopped:
                raise
            except Exception as error:
                if lost.setdefault(machine.name, error) is error:
                    logger.warning("%s does not read the corpus any more: %s", machine.name, error)
                continue
            free.put(machine)
            if part is None:
                return scan(run, prefix, known, tell)
            tell(part.raw_words, part.sentences, len(part.counts), sum(p.bytes for p in run))
            return part
        try:
            return scan(run, prefix, known, tell)
        finally:
            free.put(None)

    def report() -> None:
        words, sentences, word_types, read = zip(*list(latest.values()), strict=True)
        if progress:
            progress(sum(words), sum(sentences), max(word_types), sum(read))

    yield from in_threads(read, range(len(runs)), report, len(readers))


class Scan(OnDisk):
    """A corpus that was read once: its words and their counts, and provisional ids on disk.

    The provisional ids are as large as the encoded corpus.

    Attributes
    ----------
    raw_vocab : dict
        Words to counts, in order of first occurrence, so that ties sort as in gensim.
    total_words : int
        gensim's `corpus_total_words`.
    corpus_count : int
        Sentences: lines, or pieces of 10,000 words, of a file; all items of an iterable. Of
        tagged documents: all of them.
    tags : Tags
        The tags of documents, set by whoever reads them.
    """

    tags: Any

    def __init__(
        self,
        temporary: TemporaryFolder,
        parts: Sequence[tuple[EncodedPart, Path | None]],
        words: Sequence[Any] | None,
        counts: Iterable[int],
    ) -> None:
        """Take words, and parts: with the file of the words' places, if ids are not these.

        Without words, ids are those of a vocabulary already.
        """
        super().__init__(temporary)
        # a part numbers its lines from 0
        lines = accumulate((part.sentences for part, _ in parts), initial=0)
        self._shards = [
            (shard, places, first)
            for (part, places), first in zip(parts, lines, strict=False)
            for shard in part.shards
        ]
        self._words = words  # of its own: raw_vocab may be pruned by whoever gets it
        self._parts = [part for part, _ in parts]
        self.raw_vocab = dict(zip(words or (), counts, strict=True))
        self.total_words = sum(part.raw_words for part in self._parts)
        self.corpus_count = sum(part.sentences for part in self._parts)

    def encode(
        self, key_to_index: Mapping[str, int], rows: Callable[[Ids], Ids] | None = None
    ) -> EncodedCorpus:
        """Turn the provisional ids into those of a vocabulary, in a folder beside.

        Sentences whose ids are those already are the corpus as they are, in this folder: then do
        not close the scan.

        Parameters
        ----------
        key_to_index : dict
            Words to ids from 0 up; other words are left out.
        rows : callable, optional
            For documents: gives the rows of tags by their provisional numbers, -1 for none.

        Raises
        ------
        OSError
            If the folder can't be written or is full. Nothing is left behind then.
        """
        if self._words is None:
            if rows is None:
                return EncodedCorpus(self.temporary, self._parts)
            # gensim adds its null word anew in each update, under the same key
            numbers = np.arange(1 + max(key_to_index.values(), default=-1), dtype=shards.ID)
        else:
            found = map(key_to_index.get, self._words, repeat(shards.UNKNOWN))
            numbers = np.fromiter(found, shards.ID, len(self._words))
        with shards.fresh_folder(self.folder.parent) as made:

            def encoded(place: int, _: object) -> Shard:
                shard, places, first_line = self._shards[place]
                ids = numbers if places is None else numbers[np.fromfile(places, shards.ID)]
                run = np.fromfile(shard.path, shards.ID)
                if rows is not None:
                    tags = run <= FIRST_TAG
                    # row -1, of an unknown tag, makes an UNKNOWN entry
                    run[tags] = FIRST_TAG - rows(FIRST_TAG - run[tags] + first_line)
                run = renumbered(run, ids)
                path = made.folder / f"{place:05}.int32"
                if len(run):
                    save_ids(path, run)
                tokens = int(np.count_nonzero(run >= 0))
                return replace(shard, path=str(path), entries=len(run), tokens=tokens)

            written = [
                shard for shard in in_threads(encoded, range(len(self._shards))) if shard.entries
            ]
            part = EncodedPart(written, self.total_words, self.corpus_count)
            return EncodedCorpus(made, [part], whole=rows is not None)


def scan_texts(
    paths: Sequence[str],
    parent: Parent = None,
    progress: Progress | None = None,
    reading: Reading | None = None,
    tagged: bool = False,
    key_to_index: Mapping[str, int] | None = None,
) -> Scan:
    """Count the words of text files as if they were one, as gensim does with a `corpus_file`.

    Texts are in LineSentence form: a sentence a line, words between white space. Lines of more than
    10,000 words are cut.

    Parameters
    ----------
    paths : sequence of str
        UTF-8 text, plain, or compressed with an ending that smart_open knows (.gz, .bz2, …). All
        cores read plain files.
    parent : path, optional
        An existing folder where the corpus's temporary folder is made.
    progress : callable, optional
        Called now and then with the words, sentences, word types and bytes of files so far.
    reading : callable, optional
        Gives the other machines that read; by default this one reads alone.
    tagged : bool
        Make each line a document, an empty one too, whose tag is its number.
    key_to_index : dict, optional
        A vocabulary, words to ids from 0 up: words are not counted, and others are left out.

    Raises
    ------
    CorpusDecodeError
        A UnicodeDecodeError: a file is not UTF-8.
    OSError
        If a file can't be read, or the folder can't be written or is full. Nothing is left
        behind then.
    EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If compressed data are damaged or cut short.
    ValueError
        If a file holds compressed data without being named so.
    """
    with shards.fresh_folder(parent) as made:
        machines = reading(paths, made.folder) if reading else ()
        runs = cut_texts(find_texts(paths, tagged))  # once machines have looked: texts may grow
        if library() is None:
            lines = TaggedLines(runs) if tagged else Lines(runs)
            return _scanned(made, lines, progress, tagged, key_to_index)
        words = Words()
        parts = list[tuple[EncodedPart, Path | None]]()
        known = None if key_to_index is None else Known(key_to_index)
        read = read_runs(runs, made.folder, known, progress, machines)
        with contextlib.closing(read):  # no thread reads on after an error
            if known is not None:
                return Scan(made, [(part, None) for part in read], None, ())
            for number, part in enumerate(read):
                places = made.folder / f"part{number:05}.places"
                save_ids(places, words.add(part.words, part.counts))
                parts.append((EncodedPart(*part[:3]), places))  # without its words, which are many
        text, counts = words.found()
        return Scan(made, parts, text.decode().split("\n")[:-1], counts.tolist())


def scan_sentences(
    sentences: Iterable[Any],
    parent: Parent = None,
    progress: Progress | None = None,
    tagged: bool = False,
    key_to_index: Mapping[str, int] | None = None,
) -> Scan:
    """Count the words of token lists, as gensim's `build_vocab` does.

    Parameters and errors are those of `scan_texts`. A sentence of more than 10,000 words is cut,
    and none of its words lost (gensim drops what comes after them). Words may be whatever can be a
    key. A first sentence that is a string is warned of, as in gensim. Of `tagged` documents items
    are packed tags, and words.
    """
    with shards.fresh_folder(parent) as made:
        return _scanned(made, sentences, progress, tagged, key_to_index)


def _scanned(
    made: TemporaryFolder,
    sentences: Iterable[Any],
    progress: Progress | None,
    tagged: bool,
    key_to_index: Mapping[str, int] | None,
) -> Scan:
    """Count words by Python."""
    ids = Numbers(key_to_index)
    part = packed_to_shards(sentences, ids, made.folder, progress, tagged)
    words = list(ids) if key_to_index is None else None
    return Scan(made, [(part, None)], words, ids.counts.tolist())
