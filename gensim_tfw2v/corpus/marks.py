"""Marks: the entries of a corpus that are not words, such as tags and ends of sentences."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.shard_files import ID, Ids


class Marks(NamedTuple):
    """Entries to insert between the ids of words, as by `np.insert`.

    Attributes
    ----------
    places : ndarray of int64, [marks]
        Index of the word before which each mark is inserted, in ascending order.
    entries : ndarray of int32, [marks]
    """

    places: NDArray[np.int64]
    entries: Ids

    def insert(self, ids: Ids) -> Ids:
        """Return the ids of words with the marks between them."""
        return np.insert(ids, self.places, self.entries)


NO_MARKS = Marks(np.zeros(0, np.int64), np.zeros(0, ID))
