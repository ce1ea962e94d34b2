"""ALiR: sub-models turned onto each other; words that some of them miss come from the others.

Anand, Khosla, Singh, Zab, Zhang 2019, "Asynchronous Training of Word Embeddings for Large Text
Corpora", WSDM. It is generalised Procrustes analysis (Gower 1975) with missing rows. With M_i the
unit rows that sub-model i holds of its words, W_i its map, and Y the merged rows:

- W_i = the orthogonal map that brings M_i nearest to Y's rows of its words (Procrustes problem);
- a row of Y = the mean of M_i W_i over the sub-models that hold the word;

and again. Put into each other, the two need only one matrix: with C the rows of all sub-models side
by side, each over the square root of how many hold the word, W_i is the polar factor of block i of
(CᵀC) W.
"""

import logging
from collections.abc import Iterator

import numpy as np
from scipy.linalg import polar

from gensim_tfw2v.merging.interface import Merging, check_size
from gensim_tfw2v.merging.table import Piece, Table, gram, right_singular_vectors

#: How often maps and merged rows are computed from each other, as in the paper.
ITERATIONS = 3

logger = logging.getLogger(__name__)


class ALiR(Merging):
    """Sub-models turned onto each other by orthogonal maps.

    A merged input row has the direction of Y's, and the mean length of the rows that it is made of:
    lengths carry what training goes on from. A row of outputs is the mean of the mapped rows of the
    sub-models that hold the word. Orthogonal maps keep the products of inputs and outputs.

    All is in the axes of the first sub-model, if it has as many as the merged one.

    See `Merging`; by default D is that of the largest sub-model.

    Raises
    ------
    ValueError
        If `vector_size` is larger than that, or a sub-model, or a group of them, shares no word
        with the others.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        largest = max(inputs.sizes)
        self.size = check_size(vector_size, largest, largest, "the size of the largest sub-model")
        _check_overlap(inputs)
        products = gram(lambda: _weighted(inputs), inputs.columns)
        maps = right_singular_vectors(products, self.size, seed)
        for _ in range(ITERATIONS):
            targets = products @ maps
            # the polar factor solves the Procrustes problem (Schönemann 1966); where the two sizes
            # differ, it has orthonormal rows or columns
            maps = np.concatenate([polar(targets[part])[0] for part in inputs.parts])
        first = maps[inputs.parts[0]]
        self._maps = (maps @ first.T if len(first) == self.size else maps).astype(np.float32)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""
        lengths = piece.lengths()
        rows = piece.scaled(_inverse(lengths)) @ self._maps
        wanted = lengths.sum(axis=1, keepdims=True) * _inverse(_holders(piece))
        return rows * (wanted * _inverse(np.linalg.norm(rows, axis=1, keepdims=True)))

    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """Merged rows of outputs, nodes or subwords, [p, D]."""
        return piece.rows @ self._maps * _inverse(_holders(piece))


def _weighted(inputs: Table) -> Iterator[np.ndarray]:
    """Unit rows, over the square root of how many sub-models hold the word."""
    for piece in inputs.pieces():
        yield piece.scaled(_inverse(piece.lengths()) * _inverse(_holders(piece)) ** 0.5)


def _holders(piece: Piece) -> np.ndarray:
    """Number of sub-models that have each row: [p, 1], float32."""
    return piece.held.sum(axis=1, keepdims=True).astype(np.float32)


def _inverse(values: np.ndarray) -> np.ndarray:
    """1 / x, and 0 for 0: a row of zeros has no direction."""
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def _check_overlap(inputs: Table) -> None:
    """Raise ValueError if nothing turns some sub-models onto the others; warn of few words."""
    held = [row_of >= 0 for row_of in inputs.row_of]
    shared = np.array([[np.count_nonzero(a & b) for b in held] for a in held])
    reached = np.linalg.matrix_power((shared > 0).astype(float), len(held))[0] > 0
    if not reached.all():
        groups = [", ".join(map(str, np.flatnonzero(part))) for part in (reached, ~reached)]
        raise ValueError(
            f"sub-models {groups[0]} have no word in common with {groups[1]}, so nothing says how "
            "to turn them: leave some out, train on larger samples, or merge by 'concat' or 'pca'"
        )
    known = sum(part.astype(np.int32) for part in held) > 1
    for number, (part, size) in enumerate(zip(held, inputs.sizes, strict=True)):
        if len(held) > 1 and (common := np.count_nonzero(part & known)) < size:
            logger.warning(
                "sub-model %i has %i words in common with others, fewer than its %i dimensions: "
                "its other words are turned by guess",
                number,
                common,
                size,
            )
