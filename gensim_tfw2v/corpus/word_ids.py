"""Ids of words, in order of first occurrence or of a vocabulary.

Strings and integers are looked up in compiled hash tables, without the GIL, while the next batch is
read. Other objects are looked up in dictionaries.
"""

import struct
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.integer_table import IntegerTable, KnownIntegers
from gensim_tfw2v.corpus.scanner import WordCounter, library, renumber
from gensim_tfw2v.corpus.sentences import Batch
from gensim_tfw2v.corpus.shard_files import END, ID, UNKNOWN, Ids
from gensim_tfw2v.corpus.strings import join_strings

_pack = struct.Struct("<i").pack


class WordIds(dict[Any, bytes]):
    """Ids of words: 0, 1, 2, … in order of first occurrence.

    Words are looked up in a compiled table while all of them are strings, or all are integers. From
    the first batch that breaks this rule, or contains a word with a null character, they are looked
    up in this dictionary, whose values are packed ids.

    Attributes
    ----------
    table : WordCounter, optional
        Table of all words so far, if they are strings; None once the dictionary is used.
    integers : IntegerTable, optional
        Table of all words so far, if they are integers; None once the dictionary is used.
    words : list
        Words by id in the dictionary; empty while a table is used.
    n_words : int
        Number of different words so far.
    counts : ndarray of int64
        Occurrences of each word in the entries that were passed to `finish`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = None if library() is None else WordCounter()
        self.integers: Any = None if library() is None else IntegerTable()
        self.words: list[Any] = []
        self.n_words = 0
        self.counts = np.zeros(0, np.int64)

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

    def all_words(self) -> list[Any]:
        """Return all words, in the order of their ids."""
        if self.integers:
            return self.integers.words()
        return self.words if self.table is None else self.table.encoded_words()

    def encode(self, batch: Batch | IntegerBatch) -> Ids:
        """Return the entries of a batch: the ids of its words, and its marks."""
        if isinstance(batch, IntegerBatch):
            return self._encode_integers(batch)
        ids = self._look_up(batch)
        if ids is None:
            ids = np.frombuffer(b"".join(map(self.__getitem__, batch.words)), ID)
        return np.insert(ids, batch.indices, batch.marks)

    def _encode_integers(self, batch: IntegerBatch) -> Ids:
        """Return the entries of a batch of integers, from the table or from the dictionary."""
        if self._prepare_integer_table(batch):
            entries: Ids = self.integers.encode(batch)
            self.n_words = max(self.n_words, len(self.integers))
            return entries
        ids = np.frombuffer(b"".join(map(self.__getitem__, batch.values.tolist())), ID)
        return np.insert(ids, batch.ends(), END)

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
            self.words = self.all_words()
        self.table = None
        self.integers = None
        self.update(zip(self.words, map(_pack, count()), strict=False))

    def _look_up(self, batch: Batch) -> Ids | None:
        """Return the ids of a batch's words from the table of strings.

        If the table can't be used, all words so far are moved to the dictionary, and the result is
        None.
        """
        if self.integers and batch.n_words:
            self._use_dictionary()
        if self.table is None:
            return None
        ids = None if batch.text is None else self.table.encode(batch.text, batch.n_words)
        if ids is None:
            self._use_dictionary()
        else:
            self.n_words = len(self.table)
        return ids

    def finish(self, entries: Ids) -> Ids:
        """Count the ids in the entries of a shard, and return the entries unchanged."""
        counts = np.bincount(np.maximum(entries, END) + 1)[1:]
        short_counts, long_counts = sorted((self.counts, counts), key=len)
        long_counts[: len(short_counts)] += short_counts
        self.counts = long_counts
        return entries


class KnownWordIds(WordIds):
    """Ids of a vocabulary's words, and `UNKNOWN` for any other word.

    Entries are indices of the vocabulary's keys until `finish` replaces them by ids.
    """

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__()
        self.words = list(key_to_index)
        if self.integers is not None:
            self.integers = KnownIntegers.among(self.words)
        self.n_words = len(self.words)
        self._ids = np.fromiter(key_to_index.values(), np.int32, len(key_to_index))
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
        ids = None
        if self.table is not None and batch.text is not None:
            ids = self.table.encode(batch.text, batch.n_words, add=False)
        if ids is None:
            self._fill_dictionary()
        return ids

    def finish(self, entries: Ids) -> Ids:
        """Return the entries of a shard with the vocabulary's ids, without unknown words."""
        return renumber(entries, self._ids)
