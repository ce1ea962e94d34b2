"""Concatenation, what all sub-models hold of a word side by side; PCA, which projects it.

PCA keeps the directions in which the concatenation varies most.
"""

import numpy as np

from gensim_tfw2v.merging.base import Merging, check_size
from gensim_tfw2v.merging.svd import Gram, right_singular_vectors
from gensim_tfw2v.merging.table import Piece, Table


class Concatenation(Merging):
    """Rows side by side, over √N; zeros where a sub-model does not hold the word.

    Similarities are those of plain concatenation. The factor makes a product of an input row and an
    output row the mean of the sub-models' products, and a row as long as theirs in the quadratic
    mean: so the merged model can be trained on with the usual step size.

    Parameters
    ----------
    size : int
        The sum of the sub-models' sizes.
    models : int
        N.
    """

    def __init__(self, size: int, models: int) -> None:
        self.size = size
        self._factor = np.float32(models**-0.5)

    @classmethod
    def fit(cls, inputs: Table, vector_size: int | None, seed: int) -> "Concatenation":
        """See `Merging.fit`; there is nothing to find."""
        if vector_size not in (None, inputs.columns):
            raise ValueError(
                f"vector_size is {vector_size}: rows side by side have {inputs.columns} numbers; "
                "leave it out, or give the method 'pca' or 'alir'"
            )
        return cls(inputs.columns, len(inputs.arrays))

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, C]."""
        return piece.rows * self._factor

    merge_outputs = merge_inputs


class PCA(Merging):
    """The concatenation (over √N, as in `Concatenation`) times its first right singular vectors.

    The mean is not taken away: of all maps to D dimensions this one keeps products of input rows
    best, one sub-model alone keeps its similarities, and outputs can be mapped by the same matrix.

    Parameters
    ----------
    map : ndarray [C, D]
        Orthonormal columns.
    models : int
        N.
    """

    def __init__(self, map: np.ndarray, models: int) -> None:
        self.size = map.shape[1]
        self._map = (map * models**-0.5).astype(np.float32)

    @classmethod
    def fit(cls, inputs: Table, vector_size: int | None, seed: int) -> "PCA":
        """See `Merging.fit`; by default D is that of the largest sub-model."""
        size = check_size(
            vector_size, max(inputs.sizes), inputs.columns, "the sum of the sub-models' sizes"
        )
        gram = Gram(lambda: (piece.rows for piece in inputs.pieces()), inputs.columns)
        return cls(right_singular_vectors(gram, size, seed), len(inputs.arrays))

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""
        return piece.rows @ self._map

    merge_outputs = merge_inputs
