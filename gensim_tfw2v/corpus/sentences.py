"""Encoding of token lists as ids: lines of text, and iterables.

Strings and integers are looked up by compiled hash tables, without the GIL, while the next ones are
read. Other objects are looked up in dictionaries.
"""

import logging
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus import encoded_corpus, text_files
from gensim_tfw2v.corpus.encoded_corpus import (
    END,
    FIRST_TAG,
    ID,
    UNKNOWN,
    EncodedPart,
    Ids,
    Progress,
    Shard,
    save_shard,
)
from gensim_tfw2v.corpus.integer_sentences import BATCH, IntegerBatch, batches, to_list
from gensim_tfw2v.corpus.integer_table import IntegerTable, KnownIntegers
from gensim_tfw2v.corpus.scanner import WordCounter, library, renumber
from gensim_tfw2v.corpus.strings import join_strings
from gensim_tfw2v.corpus.text_files import CorpusDecodeError, FileRange, Text, open_text
from gensim_tfw2v.processes.threads import in_threads

logger = logging.getLogger(__name__)

#: Maximum entries of a shard. It is small because progress is reported only after each shard, and
#: Python is slow.
ENTRIES = 1 << 20

#: Sentences of a list that are fetched at a time.
SLICE = 256

pack = struct.Struct("<i").pack


class Lines:
    """Sentences of runs of texts, for systems without the compiled scanner.

    A sentence is a line, cut at 10,000 words; empty lines are skipped. In `tagged` text, each line
    is a document: items are ([tag's entry], words), where the tag is the number of the line.
    """

    def __init__(self, runs: Iterable[Iterable[FileRange]], tagged: bool) -> None:
        self._texts = chain.from_iterable(runs)
        self._tagged = tagged
        self.bytes_read = 0  # bytes on disk, over all texts so far

    def __iter__(self) -> Iterator[Any]:
        """Raise `CorpusDecodeError` if a text is not UTF-8."""
        for number, words in enumerate(self._lines()):
            if self._tagged:
                yield [FIRST_TAG - number], words
                continue
            for first in range(0, len(words), encoded_corpus.MAX_SENTENCE):
                yield words[first : first + encoded_corpus.MAX_SENTENCE]

    def _lines(self) -> Iterator[list[str]]:
        for text in self._texts:
            before = self.bytes_read
            at = text.start
            with open_text(text) as stream:
                while (text.is_stream or at < text.stop) and (line := stream.readline()):
                    try:
                        words = line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, text.path, at + error.start) from None
                    yield words
                    at += len(line)
                    read = text_files.bytes_read(stream) if text.is_stream else at
                    self.bytes_read = before + min(read, text.stop) - text.start
            self.bytes_read = before + text.stop - text.start


class Batch(NamedTuple):
    """Words of successive sentences, and the entries to insert between them."""

    sentences: list[Sequence[Any]]  # without empty ones
    number: int  # number of words
    text: bytes | None  # see `Numbers.text_of`
    places: Sequence[int] | Ids  # index of the word before which each entry is inserted
    marks: Sequence[int] | int  # the entries: tags, and ends of sentences; or the only entry
    items: int  # number of items so far

    @property
    def words(self) -> Iterator[Any]:
        """All words, in order."""
        return chain.from_iterable(self.sentences)


class Numbers(dict[Any, bytes]):
    """Numbers of words: 0, 1, 2, … in the order of their first occurrence.

    The dictionary of packed numbers is used from the first batch on that has words which are not
    strings or contain a null character, unless all batches are integers.

    Attributes
    ----------
    table : WordCounter, optional
        Table of all words so far; None once the dictionary is used.
    integers : IntegerTable, optional
        Table of all words so far, if they are integers; None once the dictionary is used.
    words : list
        Words by number in the dictionary; empty while a table is used.
    n_words : int
        Number of different words so far.
    counts : ndarray of int64
        Occurrences of each word in the finished runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = None if library() is None else WordCounter()
        self.integers: Any = None if library() is None else IntegerTable()
        self.words: list[Any] = []
        self.n_words = 0
        self.counts = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable) -> bytes:
        number = self[word] = pack(len(self.words))
        self.words.append(word)
        self.n_words += 1
        return number

    def text_of(self, sentences: list[Sequence[Any]]) -> bytes | None:
        """Return words for the table, see `join_strings`; None also without a table."""
        return None if self.table is None else join_strings(sentences)

    def all_words(self) -> list[Any]:
        """Return the words by number."""
        if self.integers:
            return self.integers.words()
        return self.words if self.table is None else self.table.encoded_words()

    def encode(self, batch: Batch | IntegerBatch) -> Ids:
        """Return the entries of a batch."""
        if isinstance(batch, IntegerBatch):
            return self._encode_integers(batch)
        ids = self._from_table(batch)
        if ids is None:
            ids = np.frombuffer(b"".join(map(self.__getitem__, batch.words)), ID)
        return np.insert(ids, batch.places, batch.marks)

    def _encode_integers(self, batch: IntegerBatch) -> Ids:
        """Return the entries of integers, from their table, or else from the dictionary."""
        if self._has_integer_table(batch):
            entries: Ids = self.integers.encode(batch)
            self.n_words = max(self.n_words, len(self.integers))
            return entries
        ids = np.frombuffer(b"".join(map(self.__getitem__, batch.values.tolist())), ID)
        return np.insert(ids, batch.ends(), END)

    def _has_integer_table(self, batch: IntegerBatch) -> bool:
        """Return whether all words are in the table of integers; else fill the dictionary."""
        if self.table and len(batch.values):
            self._use_dictionary()
        return self.integers is not None

    def _use_dictionary(self) -> None:
        """Move the words of the tables to the dictionary."""
        if self.integers or self.table:
            self.words = self.all_words()
        self.table = self.integers = None
        self.update(zip(self.words, map(pack, count()), strict=False))

    def _from_table(self, batch: Batch) -> Ids | None:
        """Look up words in the table. If it can't, return None, and fill the dictionary."""
        if self.integers and batch.number:
            self._use_dictionary()
        if self.table is None:
            return None
        found = None if batch.text is None else self.table.encode(batch.text, batch.number)
        if found is not None:
            self.n_words = len(self.table)
            return found[0]
        self._use_dictionary()
        return None

    def finish(self, run: Ids) -> Ids:
        """Count the ids of a run, and return all of them for its shard."""
        found = np.bincount(np.maximum(run, END) + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


class KnownNumbers(Numbers):
    """Numbers of the words of a vocabulary, and `UNKNOWN` for any other word."""

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__()
        self.words = list(key_to_index)
        if self.integers is not None:
            self.integers = KnownIntegers.of(self.words)
        self.n_words = len(self.words)
        self._ids = np.fromiter(key_to_index.values(), np.int32, len(key_to_index))
        text = self.text_of([self.words])
        if self.table is not None and (
            text is None or self.table.encode(text, len(self.words)) is None
        ):
            self.table = None

    def __missing__(self, word: Hashable, unknown: bytes = pack(UNKNOWN)) -> bytes:
        return unknown

    def _has_integer_table(self, batch: IntegerBatch) -> bool:
        if self.integers is None:
            self._fill()
        return self.integers is not None

    def _fill(self) -> None:
        if not self:
            self.update(zip(self.words, map(pack, count()), strict=False))

    def _from_table(self, batch: Batch) -> Ids | None:
        found = None
        if self.table is not None and batch.text is not None:
            found = self.table.encode(batch.text, batch.number, add=False)
        if found is not None:
            return found[0]
        self._fill()
        return None

    def finish(self, run: Ids) -> Ids:
        """Return the ids of a run without unknown words, for its shard."""
        return renumber(run, self._ids)


def packed_to_shards(
    text: Text, ids: Numbers, folder: Path, progress: Progress | None = None
) -> EncodedPart:
    """Write a text to shards; return an `EncodedPart` without words.

    Its `sentences` is the number of items, including empty ones. `progress` is called after each
    shard.
    """
    documents = text.sentences if text.runs is None else Lines(text.runs, text.tagged)
    made = list[Shard]()
    raw_words = 0
    items = 0
    for run, items in _runs(documents, text.tagged, ids):  # noqa: B007  the last is returned
        sentences = int(np.count_nonzero(run == END))
        words = int(np.count_nonzero(run > FIRST_TAG)) - sentences
        run = ids.finish(run)
        if len(run):  # otherwise EncodedCorpus distributes these words over other shards
            path = folder / f"{len(made):05}.int32"
            made.append(save_shard(path, [run], words, sentences))
        raw_words += words
        if progress:
            progress(raw_words, items, ids.n_words, getattr(documents, "bytes_read", 0))
    return EncodedPart(made, raw_words, items)


def _runs(documents: Iterable[Any], tagged: bool, ids: Numbers) -> Iterator[tuple[Ids, int]]:
    """Yield the entries of each shard, and the number of items so far."""
    most = min(encoded_corpus.SHARD, ENTRIES)
    if tagged:
        all_batches: Iterator[Batch | IntegerBatch] = _batches(documents, tagged, ids)
    else:
        all_batches = batches(documents, partial(_batches, tagged=False, ids=ids))
    waiting = list[Ids]()
    items = 0
    # one thread, because words are numbered in order
    for entries, items in in_threads(
        lambda batch, _: (ids.encode(batch), batch.items),
        all_batches,
        threads=1,
        ahead=2,
    ):
        waiting.append(entries)
        while sum(map(len, waiting)) > most:
            run = np.concatenate(waiting)
            ends = np.flatnonzero(run == END) + 1
            stop = ends[max(0, int(np.searchsorted(ends, most, "right")) - 1)]
            yield run[:stop], items
            waiting = [run[stop:]]
    yield np.concatenate(waiting), items


def _batches(documents: Iterable[Any], tagged: bool, ids: Numbers) -> Iterator[Batch]:
    """Yield the words of items in batches.

    Sentences of more than 10,000 words are cut, as in LineSentence; each part has all tags.
    """
    # an iterable may yield the same list again, with different words
    keeps_items = type(documents) in (list, tuple)
    sentences = list[Sequence[Any]]()
    tags = list[Sequence[int]]()
    number = 0
    items = 0

    def batch() -> Batch:
        places, marks = _marks(sentences, tags)  # first, while the lists are in the cache
        return Batch(sentences, number, ids.text_of(sentences), places, marks, items)

    for items, item in enumerate(_items(documents), 1):
        if tagged:
            item_tags, item = item
        elif items == 1 and isinstance(item, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(item),
            )
        words = item if keeps_items and type(item) in (list, tuple) else to_list(item)
        if not words:
            continue
        sentences.append(words)
        if tagged:
            tags.append(item_tags)
        number += len(words)
        if number >= BATCH:
            yield batch()
            sentences = []
            tags = []
            number = 0
    yield batch()


def _items(documents: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of an iterable.

    Items of a list or tuple are scattered over the memory. A slice fetches many of them in
    parallel.
    """
    if type(documents) not in (list, tuple):
        yield from documents
        return
    first = 0
    while items := documents[first : first + SLICE]:  # type: ignore[index]
        yield from items
        first += len(items)


def _marks(
    sentences: list[Sequence[Any]], tags: list[Sequence[int]]
) -> tuple[Sequence[int] | Ids, Sequence[int] | int]:
    """Return the places and the marks of a `Batch`; each part of a long sentence has all tags.

    `tags` contains the tags of each sentence, or it is empty.
    """
    longest = encoded_corpus.MAX_SENTENCE
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    n_parts = -(-lengths // longest)
    last_parts = np.cumsum(n_parts) - 1
    part_lengths = np.full(n_parts.sum(), longest)
    part_lengths[last_parts] = lengths - longest * (n_parts - 1)
    stops = np.cumsum(part_lengths)
    if not tags:
        return stops, END
    places = list[int]()
    marks = list[int]()
    starts = (stops - part_lengths).tolist()
    tags_of_parts = chain.from_iterable(map(repeat, tags, n_parts.tolist()))
    for start, stop, part_tags in zip(starts, stops.tolist(), tags_of_parts, strict=True):
        places += [*repeat(start, len(part_tags)), stop]
        marks += [*part_tags, END]
    return places, marks
