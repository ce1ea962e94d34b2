"""Detection of vectors that are still random, because they were never trained."""

from typing import Any

import numpy as np

from gensim_tfw2v.initial_rows import InitialRows
from gensim_tfw2v.row_blocks import row_blocks

#: gensim adds this to the seed of a Doc2Vec model for the vectors of documents.
DOCUMENTS_SEED = 7919


def documents_seed(seed: Any) -> Any:
    """Return the seed of the vectors of documents for a model's seed: any that NumPy accepts."""
    if seed is None:
        return None
    if np.ndim(seed):
        return [*np.asarray(seed).tolist(), DOCUMENTS_SEED]
    return seed + DOCUMENTS_SEED


def random_vectors_reason(model: Any, documents: bool = False) -> str:
    """Return why a model's vectors of words, or of documents, are random; "" if they are not.

    PV-DBOW trains vectors of words only with `dbow_words`. A model without any training has random
    vectors of both kinds. Vectors that were set later, as by `from_vectors`, are not random.
    """
    vectors = getattr(model, "dv" if documents else "wv", None)
    if vectors is None or not len(vectors):
        return ""
    is_dbow = hasattr(model, "dv") and model.sg and not getattr(model, "dbow_words", 0)
    if is_dbow and not documents and _are_small(vectors.vectors):
        return "PV-DBOW (dm=0) without dbow_words trains only vectors of documents"
    if getattr(model, "train_count", 1) == 0:
        rows = getattr(vectors, "vectors_vocab", vectors.vectors)
        seed = documents_seed(model.seed) if documents else model.seed
        is_known = seed is not None and np.all(np.asarray(seed) >= 0)
        if is_known and _are_initial(rows, seed):
            return "the model has a vocabulary, but was never trained"
    return ""


def _are_initial(rows: np.ndarray, seed: Any) -> bool:
    """Return whether all rows are the initial ones with a seed."""
    initial = InitialRows(len(rows), rows.shape[1], seed)
    return all(
        np.array_equal(rows[block], initial.draw(block.start, block.stop))
        for block in row_blocks(rows)
    )


def _are_small(vectors: np.ndarray) -> bool:
    """Return whether all elements are in the range of initial vectors, from -1 / D to 1 / D."""
    limit = 1.000001 / vectors.shape[1]
    return bool(vectors.max() <= limit and vectors.min() >= -limit)
