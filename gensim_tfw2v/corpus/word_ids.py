"""Ids of words, in order of first occurrence or of a vocabulary.

Strings and integers are looked up in compiled hash tables, without the GIL, while the next batch is
read. Other objects are looked up in dictionaries.
"""

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.integer_table import IntegerTable, KnownIntegers
from gensim_tfw2v.corpus.scanner import WordCounter, library, renumber
from gensim_tfw2v.corpus.sentences import Batch
from gensim_tfw2v.corpus.shard_files import END, ID, UNKNOWN, Ids
from gensim_tfw2v.corpus.string_table import StringTable
from gensim_tfw2v.corpus.strings import join_strings
from gensim_tfw2v.keys.keys import Keys

_pack = struct.Struct("<i").pack


class WordIds(dict[Any, bytes]):
    """Ids of words: 0, 1, 2, … in order of first occurrence.

    Words are looked up in a compiled table while all of them are strings, or all are integers. From
    the first batch that breaks this rule, or contains a word with a null character, they are looked
    up in this dictionary, whose values are packed ids.

    Parameters
    ----------
    folder : Path
        Folder for temporary files.

    Attributes
    ----------
    table : StringTable, optional
        Table of all words so far, if they are strings; None once the dictionary is used.
    integers : IntegerTable, optional
        Table of all words so far, if they are integers; None once the dictionary is used.
    words : list
        Words by id in the dictionary; empty while a table is used.
    n_words : int
        Number of different words so far.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.table: Any = None if library() is None else StringTable(folder, separator=b"\0")
        self.integers: Any = None if library() is None else IntegerTable()
        self.words: list[Any] = []
        self.n_words = 0
        # occurrences of integers, and of words in the dictionary; the table of strings has its own
        self._counts = np.zeros(0, np.int64)

    def __missing__(self, word: Hashable) -> bytes:
        word_id = self[word] = _pack(len(self.words))
        self.words.append(word)
        self.n_words += 1
        return word_id

    def join(self, sentences: list[Sequence[Any]]) -> bytes | None:
        """Join the words for the table of strings.

        Returns None if the table is not used, or `join_strings` returns None.
        """
        return None if self.table is None else join_strings(sentences)

    def counted_words(self) -> tuple[Keys | list[Any], NDArray[np.int64]]:
        """Return all words and their counts by id; nothing can be added to the tables later."""
        if self.table:
            words, counts = self.table.finish()
            return words, counts
        words = self.integers.words(self._folder) if self.integers else self.words
        return words, self._counts

    def encode(self, batch: Batch | IntegerBatch) -> Ids:
        """Return the entries of a batch: the ids of its words, and its marks."""
        if isinstance(batch, IntegerBatch):
            return self._encode_integers(batch)
        entries = self._look_up(batch)
        if entries is None:
            entries = batch.marks.insert(self._ids_of(batch.words))
            self._count(entries)
        return entries

    def _ids_of(self, words: Iterable[Any]) -> Ids:
        """Return the ids of words from the dictionary."""
        return np.frombuffer(b"".join(map(self.__getitem__, words)), ID)

    def _count(self, entries: Ids) -> None:
        """Count the ids in entries."""
        counts = np.bincount(np.maximum(entries, END) + 1)[1:]
        short_counts, long_counts = sorted((self._counts, counts), key=len)
        long_counts[: len(short_counts)] += short_counts
        self._counts = long_counts

    def _encode_integers(self, batch: IntegerBatch) -> Ids:
        """Return the entries of a batch of integers, from the table or from the dictionary."""
        if self._prepare_integer_table(batch):
            entries: Ids = self.integers.encode(batch)
            self.n_words = max(self.n_words, len(self.integers))
        else:
            entries = np.insert(self._ids_of(batch.values.tolist()), batch.ends(), END)
        self._count(entries)
        return entries

    def _prepare_integer_table(self, batch: IntegerBatch) -> bool:
        """Return whether the table of integers can be used.

        If strings came before, all words are moved to the dictionary first.
        """
        if self.table and len(batch.values):
            self._use_dictionary()
        return self.integers is not None

    def _use_dictionary(self) -> None:
        """Move the words of the tables to the dictionary."""
        if self.integers or self.table:
            words, counts = self.counted_words()
            self.words = list(words)
            self._counts = counts.copy()  # the counts of the table of strings are read-only
        self.table = None
        self.integers = None
        self.update(zip(self.words, map(_pack, count()), strict=False))

    def _look_up(self, batch: Batch) -> Ids | None:
        """Return the entries of a batch from the table of strings.

        If the table can't be used, all words so far are moved to the dictionary, and the result is
        None.
        """
        if self.integers and batch.n_words:
            self._use_dictionary()
        if self.table is None:
            return None
        entries: Ids | None = None
        if batch.text is not None:
            entries = self.table.encode(batch.text, batch.n_words, batch.marks)
        if entries is None:
            self._use_dictionary()
        else:
            self.n_words = len(self.table)
        return entries

    def finish(self, entries: Ids) -> Ids:
        """Return the entries of a shard as they are written."""
        return entries


class KnownWordIds(WordIds):
    """Ids of a vocabulary's words, and `UNKNOWN` for any other word.

    Entries are indices of the vocabulary's keys until `finish` replaces them by ids.
    """

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__(Path())
        self.words = list(key_to_index)
        if self.integers is not None:
            self.integers = KnownIntegers.among(self.words)
        self.n_words = len(self.words)
        self._ids = np.fromiter(key_to_index.values(), np.int32, len(key_to_index))
        self.table = None if self.table is None else WordCounter()
        text = self.join([self.words])
        if self.table is not None and (
            text is None or self.table.encode(text, len(self.words)) is None
        ):
            self.table = None

    def __missing__(self, word: Hashable, unknown: bytes = _pack(UNKNOWN)) -> bytes:
        return unknown

    def _prepare_integer_table(self, batch: IntegerBatch) -> bool:
        if self.integers is None:
            self._fill_dictionary()
        return self.integers is not None

    def _fill_dictionary(self) -> None:
        if not self:
            self.update(zip(self.words, map(_pack, count()), strict=False))

    def _look_up(self, batch: Batch) -> Ids | None:
        entries: Ids | None = None
        if self.table is not None and batch.text is not None:
            entries = self.table.encode(batch.text, batch.n_words, False, batch.marks)
        if entries is None:
            self._fill_dictionary()
        return entries

    def _count(self, entries: Ids) -> None:
        """Do nothing: a vocabulary has its counts."""

    def finish(self, entries: Ids) -> Ids:
        """Return the entries of a shard with the vocabulary's ids, without unknown words."""
        return renumber(entries, self._ids)
