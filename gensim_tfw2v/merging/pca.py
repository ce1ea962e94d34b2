"""Concatenation, what all sub-models hold of a word side by side; PCA, which projects it.

PCA keeps the directions in which the concatenation varies most.
"""

import numpy as np

from gensim_tfw2v.merging.interface import Merging, check_size
from gensim_tfw2v.merging.table import Piece, Table, gram, right_singular_vectors


class Concatenation(Merging):
    """Rows side by side, over √N; zeros where a sub-model does not hold the word.

    Similarities are those of plain concatenation. The factor makes a product of an input row and an
    output row the mean of the sub-models' products, and a row as long as theirs in the quadratic
    mean: so the merged model can be trained on with the usual step size.

    See `Merging`; there is nothing to find. D is the sum of the sub-models' sizes.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        if vector_size not in (None, inputs.columns):
            raise ValueError(
                f"vector_size is {vector_size}: rows side by side have {inputs.columns} numbers; "
                "leave it out, or give the method 'pca' or 'alir'"
            )
        self.size = inputs.columns
        self._factor = np.float32(len(inputs.arrays) ** -0.5)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""
        return piece.rows * self._factor

    merge_outputs = merge_inputs


class PCA(Merging):
    """The concatenation (over √N, as in `Concatenation`) times its first right singular vectors.

    The mean is not taken away: of all maps to D dimensions this one keeps products of input rows
    best, one sub-model alone keeps its similarities, and outputs can be mapped by the same matrix.

    See `Merging`; by default D is that of the largest sub-model.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        self.size = check_size(
            vector_size, max(inputs.sizes), inputs.columns, "the sum of the sub-models' sizes"
        )
        products = gram(lambda: (piece.rows for piece in inputs.pieces()), inputs.columns)
        vectors = right_singular_vectors(products, self.size, seed)
        self._map = (vectors * len(inputs.arrays) ** -0.5).astype(np.float32)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""
        return piece.rows @ self._map

    merge_outputs = merge_inputs
