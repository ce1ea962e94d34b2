"""Methods of merging: linear maps from a word's rows in all sub-models to its merged row.

Concatenation concatenates the rows. PCA projects the concatenation onto its principal directions.
ALiR rotates the sub-models so that they agree, and averages them.

The rows of all sub-models form one table of concatenated rows, which is read in pieces.
"""

import logging
from collections.abc import Callable, Iterator
from numbers import Integral

import numpy as np
from scipy.linalg import polar
from scipy.sparse.csgraph import connected_components

from gensim_tfw2v.merging.concatenated_rows import Piece, Table
from gensim_tfw2v.merging.singular_vectors import gram, right_singular_vectors
from gensim_tfw2v.messages import quoted

#: Iterations of ALiR, as in Anand et al. 2019 (see `ALiR`). Each updates the maps and the merged
#: rows.
N_ITERATIONS = 3

logger = logging.getLogger(__name__)


class Merging:
    """Method of merging, fitted to the input rows and then applied to pieces of each table.

    It consists of one linear map per sub-model. Every method satisfies two laws, which the tests
    check. A single sub-model is reproduced up to a rotation. If the sub-models are rotations of
    each other, the merged model has their similarities, and their products of input and output
    rows.

    The constructor's arguments are the `Table` of all input rows, the size D (None for the
    method's default), and a seed for random draws.

    Attributes
    ----------
    size : int
        Size D of the merged rows.

    Raises
    ------
    ValueError
        If these sub-models cannot be merged to rows of this size.
    """

    size: int
    _maps: np.ndarray  # maps of all sub-models, stacked: [C, D]

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Return merged input rows, [p, D]."""
        return piece.rows @ self._maps

    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """Return merged rows of outputs, nodes or subwords, [p, D]."""
        return self.merge_inputs(piece)


class Concatenation(Merging):
    """Concatenated rows, divided by √N; zeros where a sub-model lacks the word.

    The factor 1/√N does not change similarities. With it, the product of an input row and an output
    row is the mean of the sub-models' products, and the norm of a row is the quadratic mean of the
    sub-models' norms. So the merged model can be trained further with the usual learning rate.

    Nothing is fitted. D is the sum of the sub-models' sizes. See `Merging` for the interface.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        if vector_size not in (None, inputs.n_columns):
            raise ValueError(
                f"vector_size is {vector_size}: concatenated rows have {inputs.n_columns} "
                "elements; leave it out, or use the method 'pca' or 'alir'"
            )
        self.size = inputs.n_columns
        self._factor = np.float32(len(inputs.arrays) ** -0.5)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Return the concatenated rows, [p, D], divided by √N."""
        return piece.rows * self._factor


class PCA(Merging):
    """Concatenated rows times their first right singular vectors, divided by √N.

    The mean is not subtracted. So, of all maps to D dimensions, this map preserves the products of
    input rows best. A single sub-model keeps its similarities, and the same matrix maps outputs.
    The factor 1/√N has the same reason as in `Concatenation`.

    By default D is that of the largest sub-model. See `Merging` for the interface.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        self.size = check_size(
            vector_size, max(inputs.sizes), inputs.n_columns, "the sum of the sub-models' sizes"
        )
        products = gram(lambda: (piece.rows for piece in inputs.pieces()), inputs.n_columns)
        vectors = right_singular_vectors(products, self.size, seed)
        self._maps = (vectors * len(inputs.arrays) ** -0.5).astype(np.float32)


class ALiR(Merging):
    """Mean of the sub-models that have the word, after alignment by orthogonal maps.

    Anand, Khosla, Singh, Zab, Zhang 2019, "Asynchronous Training of Word Embeddings for Large Text
    Corpora", WSDM. It is generalised Procrustes analysis (Gower 1975) with missing rows. With M_i
    the unit rows of sub-model i, W_i its map, and Y the merged rows, two steps alternate:

    - W_i = the orthogonal map for which M_i W_i is nearest to Y's rows of the same words
      (Procrustes problem);
    - a row of Y = the mean of M_i W_i over the sub-models that contain the word.

    Substituting the second step into the first leaves one step: W_i = the polar factor of block i
    of (CᵀC) W. Here W is the stacked W_i, and C is the concatenated unit rows of all sub-models,
    divided by the square root of the number of sub-models that contain the word.

    A merged input row has the direction of Y's row, and the mean norm of the sub-models' rows,
    because further training depends on norms. An output row is the mean of the mapped rows of the
    sub-models that contain the word. Orthogonal maps preserve products of inputs and outputs.

    If the first sub-model has size D, the result has the same axes.

    By default D is that of the largest sub-model. See `Merging` for the interface.

    Raises
    ------
    ValueError
        If `vector_size` is larger than the size of the largest sub-model, or if a sub-model, or a
        group of sub-models, has no word in common with the remaining ones.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        max_size = max(inputs.sizes)
        self.size = check_size(vector_size, max_size, max_size, "the size of the largest sub-model")
        _check_overlap(inputs)
        products = gram(lambda: _weighted_pieces(inputs), inputs.n_columns)
        maps = right_singular_vectors(products, self.size, seed)
        for _ in range(N_ITERATIONS):
            targets = products @ maps
            maps = np.concatenate([rotation(targets[part]) for part in inputs.parts])
        first_map = maps[inputs.parts[0]]
        if len(first_map) == self.size:
            maps = maps @ first_map.T
        self._maps = maps.astype(np.float32)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Return merged input rows, [p, D], with the mean norm of the sub-models' rows."""
        lengths = piece.lengths()
        rows = piece.scale_parts(_invert(lengths)) @ self._maps
        mean_lengths = lengths.sum(axis=1, keepdims=True) * _invert(_count_holders(piece))
        return rows * (mean_lengths * _invert(np.linalg.norm(rows, axis=1, keepdims=True)))

    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """Return the means of the mapped rows, [p, D]."""
        return super().merge_inputs(piece) * _invert(_count_holders(piece))


#: Constructor of a merging from `inputs`, `vector_size` and `seed`.
Method = Callable[[Table, int | None, int], Merging]

METHODS: dict[str, Method] = {"alir": ALiR, "pca": PCA, "concat": Concatenation}
"""Methods of merging by name."""


def find_method(method: str) -> Method:
    """Return the method with this name; raise a ValueError if there is none."""
    if method not in METHODS:
        *names, last = METHODS
        raise ValueError(f"method is {quoted(method)}: use {', '.join(names)} or {last}")
    return METHODS[method]


def rotation(products: np.ndarray) -> np.ndarray:
    """Return the map R [C, D] for which A R is nearest to B, from the products AᵀB [C, D].

    R is the polar factor of AᵀB, which solves the Procrustes problem (Schönemann 1966). It is
    orthogonal. If C and D differ, it has orthonormal rows or columns.
    """
    return polar(products)[0]


def check_size(vector_size: int | None, default: int, max_size: int, reason: str) -> int:
    """Return the size of merged rows; raise a ValueError if it is below 1 or above `max_size`.

    `reason` is the meaning of `max_size` in the message.
    """
    size = default if vector_size is None else vector_size
    if not isinstance(size, Integral) or not 1 <= size <= max_size:
        raise ValueError(
            f"vector_size is {size!r}: give a whole number from 1 to {max_size}, {reason}"
        )
    return int(size)


def _weighted_pieces(inputs: Table) -> Iterator[np.ndarray]:
    """Yield the rows C of `ALiR`.

    They are unit rows, divided by the square root of the number of sub-models with the word.
    """
    for piece in inputs.pieces():
        yield piece.scale_parts(_invert(piece.lengths()) * _invert(_count_holders(piece)) ** 0.5)


def _count_holders(piece: Piece) -> np.ndarray:
    """Count, for each row, the sub-models that have it: [p, 1], float32."""
    return piece.are_present.sum(axis=1, keepdims=True).astype(np.float32)


def _invert(values: np.ndarray) -> np.ndarray:
    """Return 1 / x for each value, and 0 for 0, so that rows of zeros remain zeros."""
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def _check_overlap(inputs: Table) -> None:
    """Raise a ValueError if sub-models cannot be aligned; warn if they share few words."""
    are_present = [row_of >= 0 for row_of in inputs.row_of]
    n_shared = np.array([[np.count_nonzero(a & b) for b in are_present] for a in are_present])
    # sub-models that share words with the first one, directly or through further sub-models
    _, groups = connected_components(n_shared > 0)
    are_linked = groups == groups[0]
    if not are_linked.all():
        linked, others = (
            ", ".join(map(str, np.flatnonzero(part))) for part in (are_linked, ~are_linked)
        )
        raise ValueError(
            f"sub-models {linked} have no word in common with {others}, so they cannot be "
            "aligned: leave some out, train on larger samples, or merge by 'concat' or 'pca'"
        )
    are_shared = sum(part.astype(np.int32) for part in are_present) > 1
    for index, (part, size) in enumerate(zip(are_present, inputs.sizes, strict=True)):
        if len(are_present) > 1 and (n_common := np.count_nonzero(part & are_shared)) < size:
            logger.warning(
                "sub-model %i shares only %i words with the others, fewer than its %i dimensions: "
                "the alignment of its remaining words is not determined",
                index,
                n_common,
                size,
            )
