"""Compiled tables of the strings that are words of a corpus."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import keys
from gensim_tfw2v.corpus.marks import NO_MARKS, Marks
from gensim_tfw2v.corpus.scanner import WordCounter, words_of
from gensim_tfw2v.corpus.shard_files import Ids
from gensim_tfw2v.keys.growing_strings import GrowingStrings
from gensim_tfw2v.keys.joined_strings import JoinedStrings
from gensim_tfw2v.keys.keys import Keys

#: Maximum number of words in memory, where they take about 100 bytes each.
MAX_WORDS_IN_MEMORY = 1 << 21


class StringTable:
    """Distinct strings and their counts; indices are in the order of their addition.

    They are in a `WordCounter`, which is faster, until they are many. From then on, they are in
    `GrowingStrings`, which take less memory.

    Parameters
    ----------
    folder : Path
        Folder for temporary files.
    separator : bytes
        Byte behind each word of a text: a newline if words are added by `add`, a zero byte if they
        are added by `encode`.
    """

    def __init__(self, folder: Path, separator: bytes) -> None:
        self._folder = folder
        self._separator = separator
        self._counter = WordCounter()
        self._growing: GrowingStrings | None = None

    def __len__(self) -> int:
        return len(self._counter if self._growing is None else self._growing)

    def add(self, text: bytes, counts: NDArray[np.int64]) -> Ids:
        """Add words, each followed by a newline, and their counts; return the index of each."""
        if self._growing is not None:
            return self._growing.add(JoinedStrings.split(text, self._separator), counts)
        ids = self._counter.add(text, counts)
        self._move_if_many()
        return ids

    def encode(self, text: bytes, n_words: int, marks: Marks = NO_MARKS) -> Ids | None:
        """Return the index of each of `n_words` words, each followed by a zero byte, and the marks.

        Words are counted, and new ones are added. Returns None if a word contains a zero byte.
        """
        if self._growing is not None:
            strings = JoinedStrings.split(text, self._separator)
            is_valid = strings.n_strings == n_words
            return marks.insert(self._growing.add(strings)) if is_valid else None
        entries = self._counter.encode(text, n_words, marks=marks)
        self._move_if_many()
        return entries

    def _move_if_many(self) -> None:
        if len(self._counter) > MAX_WORDS_IN_MEMORY:
            self._move()

    def _move(self) -> GrowingStrings:
        """Move the words of the `WordCounter`."""
        text, counts = words_of(self._counter.pointer)
        if self._separator == b"\0":
            text = text.replace(b"\0\n", b"\0")
        self._growing = GrowingStrings(self._folder)
        self._growing.add(JoinedStrings.split(text, self._separator), counts)
        self._counter = WordCounter()
        return self._growing

    def finish(self) -> tuple[Keys | list[str], NDArray[np.int64]]:
        """Return all strings, as a list if they are few, and their counts; nothing can be added."""
        if self._growing is None and len(self._counter) < keys.MIN_WORDS:
            text, counts = words_of(self._counter.pointer)
            self._counter = WordCounter()  # the table takes as much memory as the strings
            separator = "\n" if self._separator == b"\n" else "\0\n"
            return text.decode("utf-8", "surrogatepass").split(separator)[:-1], counts
        growing = self._growing or self._move()
        return growing.finish()
