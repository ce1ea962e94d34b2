"""Norms and cosines of vectors, in place of gensim's methods, which copy all vectors.

Importing this module makes gensim's ``KeyedVectors`` read its vectors in blocks: results are the
same, but vectors that are mapped from a file remain there.
"""

import functools
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.row_blocks import row_blocks

_gensim_cosines = KeyedVectors.cosine_similarities


@functools.wraps(KeyedVectors.fill_norms)
def fill_norms(self: KeyedVectors, force: bool = False) -> None:
    """Compute the norms of all vectors, [V], unless they are known; see gensim."""
    if self.norms is None or force:
        self.norms = row_norms(self.vectors)


@functools.wraps(_gensim_cosines)
def cosine_similarities(vector_1: np.ndarray, vectors_all: Any) -> np.ndarray:
    """Return the cosines of a vector, [D], and of many, [V, D]; see gensim."""
    rows = np.asarray(vectors_all)
    blocks = [_gensim_cosines(vector_1, rows[block]) for block in row_blocks(rows)]
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Return the lengths of vectors, [V, D]."""
    return np.concatenate([np.linalg.norm(rows[block], axis=1) for block in row_blocks(rows)])


# Methods of gensim's class are replaced, for the reason that `word2vec_writer` gives.
KeyedVectors.fill_norms = fill_norms
KeyedVectors.cosine_similarities = staticmethod(cosine_similarities)
