"""The protocol of a corpus: what every kind of corpus can do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.shard_files import Progress
from gensim_tfw2v.corpus.shards import EncodedPart
from gensim_tfw2v.keys.keys import Keys


class CountedParts(NamedTuple):
    """A corpus whose words have been counted.

    Attributes
    ----------
    words : Keys or list
        Words by provisional id, in order of first occurrence. Strings and integers are `Keys` if
        there are at least `MIN_WORDS`.
    counts : ndarray of int64
        Occurrences of each word.
    parts : list of (EncodedPart, Path or None)
        Encoded parts. If the Path is None, the shards of the part contain provisional ids.
        Otherwise they contain numbers of the part's own words, and the Path is a file with the
        provisional id of each of these words.
    """

    words: Keys | list[Any]
    counts: NDArray[np.int64]
    parts: list[tuple[EncodedPart, Path | None]]


class Corpus(ABC):
    """Corpus that is open for one reading.

    Words may be any objects that can be keys of a dictionary. Sentences of more than 10,000 words
    are cut, while gensim would drop the words beyond 10,000.

    Attributes
    ----------
    tagged : bool
        Whether the corpus consists of documents.
    has_line_tags : bool
        Whether the tag of a document is its number in the corpus. Otherwise the documents contain
        entries of their tags.
    is_drawn : bool
        Whether the entries are drawn at random during training. Then `count` writes no shards.
    unit : str
        Unit of progress: "words", "sentences", "walks" or "B" for bytes.
    total : int or None
        Size of the corpus in this unit, if known.
    """

    tagged: bool = False
    has_line_tags: bool = False
    is_drawn: bool = False
    unit: str = "words"
    total: int | None = None

    @abstractmethod
    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Write the corpus with provisional ids to shards in a folder, and count its words.

        Errors are those of `encode.scan_corpus`.
        """

    @abstractmethod
    def encode(
        self, key_to_index: Mapping[Any, int], folder: Path, progress: Progress | None
    ) -> list[EncodedPart]:
        """Write the corpus with a vocabulary's ids to shards in a folder; drop unknown words."""


class CorpusSource(ABC):
    """Object that a user passes as a corpus, and that opens itself.

    A subclass that overrides `__iter__`, but not `open_corpus`, is read as an iterable instead.
    """

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the sentences or documents."""

    @abstractmethod
    def open_corpus(self, tagged: bool) -> Corpus:
        """Open the corpus for one reading; with `tagged`, as documents."""
