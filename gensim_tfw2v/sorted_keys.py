"""Sorting of compact vocabularies, in place of gensim's ``sort_by_descending_frequency``.

Importing this module replaces the method of gensim's ``KeyedVectors``. Lists and dicts are still
sorted by gensim's code.
"""

import functools

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.keys.compact import keys_of, set_keys

_gensim_sort = KeyedVectors.sort_by_descending_frequency


@functools.wraps(_gensim_sort)
def sort_by_descending_frequency(self: KeyedVectors) -> None:
    """Sort the words, with their rows and attributes, by descending counts, as gensim does.

    Of words with equal counts, the last comes first.
    """
    keys = keys_of(self.index_to_key)
    if not keys or keys is not keys_of(self.key_to_index):
        _gensim_sort(self)
        return
    counts = np.asarray(self.expandos["count"], np.int64)
    order = len(counts) - 1 - np.argsort(-counts[::-1], kind="stable")
    set_keys(self, keys.select(order))
    self.allocate_vecattrs()
    for name, values in self.expandos.items():
        self.expandos[name] = values[order]
    if len(self.vectors):
        self.vectors = self.vectors[order]


KeyedVectors.sort_by_descending_frequency = sort_by_descending_frequency
