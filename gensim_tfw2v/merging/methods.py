"""Methods of merging: linear maps from a word's rows in all sub-models to its merged row.

Concatenation concatenates the rows. PCA projects the concatenation onto its principal directions.
ALiR rotates the sub-models so that they agree, and averages them.

The rows of all sub-models form one table of concatenated rows, A [V, C], which is read in pieces.
Its right singular vectors are the eigenvectors of AᵀA. If C is small, AᵀA is computed as a matrix.
Otherwise only products with it are computed, each in one pass over A.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import polar
from scipy.sparse.linalg import LinearOperator

from gensim_tfw2v.messages import quoted

#: Iterations of ALiR, as in the paper. Each updates the maps and the merged rows.
ITERATIONS = 3

#: Bytes per `Piece`, the part of a table that is in memory.
PIECE_BYTES = 1 << 26

#: Maximum number of columns C for which AᵀA is kept as a matrix (128 MiB).
LARGEST_MATRIX = 4096

#: Number of additional columns in the randomised method.
OVERSAMPLING = 20

#: Number of passes over A in the randomised method.
PASSES = 8


logger = logging.getLogger(__name__)


class Piece(NamedTuple):
    """Consecutive rows of a table.

    Attributes
    ----------
    first : int
        Index of the first row.
    rows : ndarray [p, C], float32
        Rows of all sub-models, concatenated: C is the sum of their sizes. Zeros where a sub-model
        lacks the row.
    held : ndarray [p, N], bool
        True where a sub-model has the row.
    parts : sequence of slice
        Columns of each sub-model in `rows`.
    """

    first: int
    rows: np.ndarray
    held: np.ndarray
    parts: Sequence[slice]

    def lengths(self) -> np.ndarray:
        """Return the norm of each sub-model's row, [p, N]."""
        parts = [np.linalg.norm(self.rows[:, part], axis=1) for part in self.parts]
        return np.stack(parts, axis=1)

    def scaled(self, factors: np.ndarray) -> np.ndarray:
        """Return the rows [p, C], with each sub-model's part multiplied by its factor [p, N]."""
        sizes = [part.stop - part.start for part in self.parts]
        return self.rows * np.repeat(factors, sizes, axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one kind (inputs, outputs, nodes or subwords) of all sub-models.

    Parameters
    ----------
    name : str
        Kind of the rows, for messages.
    arrays : sequence of ndarray [n_i, D_i]
        One array per sub-model.
    row_of : sequence of ndarray [V], int
        For each sub-model, the row of its array for each row of the table, or -1 if missing.
    """

    name: str
    arrays: Sequence[np.ndarray]
    row_of: Sequence[np.ndarray]

    @property
    def rows(self) -> int:
        """Number of rows V."""
        return len(self.row_of[0])

    @property
    def sizes(self) -> list[int]:
        """Sizes D_i of the sub-models."""
        return [array.shape[1] for array in self.arrays]

    @property
    def columns(self) -> int:
        """Number of columns C, the sum of the sizes."""
        return sum(self.sizes)

    @property
    def parts(self) -> list[slice]:
        """Columns of each sub-model."""
        return list(starmap(slice, pairwise(accumulate(self.sizes, initial=0))))

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows, in order.

        Raises
        ------
        ValueError
            If an element is not finite.
        """
        step = max(1, PIECE_BYTES // (4 * self.columns))
        for first in range(0, self.rows, step):
            row_of = np.stack([of_one[first : first + step] for of_one in self.row_of], axis=1)
            held = row_of >= 0
            rows = np.zeros((len(held), self.columns), np.float32)
            for model, (array, part) in enumerate(zip(self.arrays, self.parts, strict=True)):
                here = held[:, model]
                rows[here, part] = array[row_of[here, model]]
                bad = np.flatnonzero(~np.isfinite(rows[:, part]).all(axis=1))
                if len(bad):
                    raise ValueError(
                        f"sub-model {model} has {self.name} that are NaN or infinite, the first "
                        f"in row {first + bad[0]}: leave it out, or retrain it with a smaller "
                        "alpha"
                    )
            yield Piece(first, rows, held, self.parts)


def gram(pieces: Callable[[], Iterator[np.ndarray]], columns: int) -> Any:
    """Return AᵀA of a matrix A [V, C], as a matrix or as an operator on matrices [C, k].

    Parameters
    ----------
    pieces : callable
        Returns an iterator over all rows of A, in order, as arrays [p, C] of float32; called once
        per pass over A.
    columns : int
        Number of columns C.

    Returns
    -------
    ndarray or LinearOperator [C, C], float64
    """
    if columns <= LARGEST_MATRIX:
        matrix = np.zeros((columns, columns))
        for piece in pieces():
            matrix += piece.T @ piece
        return matrix

    def product(right: np.ndarray) -> np.ndarray:
        summed = np.zeros(right.shape)
        factor = right.astype(np.float32)
        for piece in pieces():
            summed += piece.T @ (piece @ factor)
        return summed

    return LinearOperator((columns, columns), matvec=product, matmat=product, dtype=np.float64)


def right_singular_vectors(gram: Any, number: int, seed: int = 0) -> np.ndarray:
    """Return the right singular vectors of A with the largest singular values.

    If AᵀA is a matrix, they are its eigenvectors. Otherwise they are computed by randomised
    subspace iteration (Halko, Martinsson and Tropp 2011, "Finding Structure with Randomness",
    algorithm 4.4) in `PASSES` passes over A.

    Parameters
    ----------
    gram : ndarray or LinearOperator [C, C]
        AᵀA; see `gram`.
    number : int
        Number k of vectors, at most C.
    seed : int
        Seed of the initial subspace.

    Returns
    -------
    ndarray [C, k], float64
        Orthonormal columns, by descending singular value.
    """
    if isinstance(gram, np.ndarray):
        return _leading(gram, number)
    columns = gram.shape[0]
    size = columns, min(columns, number + OVERSAMPLING)
    start = np.random.default_rng(seed).standard_normal(size)
    for _ in range(PASSES - 1):
        start = gram @ np.linalg.qr(start)[0]
    basis = np.linalg.qr(start)[0]
    return basis @ _leading(basis.T @ (gram @ basis), number)


def _leading(symmetric: np.ndarray, number: int) -> np.ndarray:
    return np.linalg.eigh(symmetric)[1][:, ::-1][:, :number]


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
    _maps: np.ndarray  # [C, D]

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

    See `Merging`; nothing is fitted. D is the sum of the sub-models' sizes.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        if vector_size not in (None, inputs.columns):
            raise ValueError(
                f"vector_size is {vector_size}: concatenated rows have {inputs.columns} elements; "
                "leave it out, or use the method 'pca' or 'alir'"
            )
        self.size = inputs.columns
        self._factor = np.float32(len(inputs.arrays) ** -0.5)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """See `Merging.merge_inputs`."""
        return piece.rows * self._factor


class PCA(Merging):
    """Concatenated rows times their first right singular vectors, divided by √N.

    The mean is not subtracted. So, of all maps to D dimensions, this map preserves the products of
    input rows best. A single sub-model keeps its similarities, and the same matrix maps outputs.
    The factor 1/√N has the same reason as in `Concatenation`.

    See `Merging`; by default D is that of the largest sub-model.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        self.size = check_size(
            vector_size, max(inputs.sizes), inputs.columns, "the sum of the sub-models' sizes"
        )
        products = gram(lambda: (piece.rows for piece in inputs.pieces()), inputs.columns)
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

    A merged input row has the direction of Y's row, and the mean norm of the sub-models' rows:
    further training depends on norms. An output row is the mean of the mapped rows of the
    sub-models that contain the word. Orthogonal maps preserve products of inputs and outputs.

    The result is in the axes of the first sub-model, if that has size D.

    See `Merging`; by default D is that of the largest sub-model.

    Raises
    ------
    ValueError
        If `vector_size` is larger than the largest sub-model's, or if a sub-model, or a group of
        sub-models, has no word in common with the remaining ones.
    """

    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None:
        largest = max(inputs.sizes)
        self.size = check_size(vector_size, largest, largest, "the size of the largest sub-model")
        _check_overlap(inputs)
        products = gram(lambda: _weighted(inputs), inputs.columns)
        maps = right_singular_vectors(products, self.size, seed)
        for _ in range(ITERATIONS):
            targets = products @ maps
            # the polar factor solves the Procrustes problem (Schönemann 1966); if D_i and D differ,
            # it has orthonormal rows or columns
            maps = np.concatenate([polar(targets[part])[0] for part in inputs.parts])
        first = maps[inputs.parts[0]]
        self._maps = (maps @ first.T if len(first) == self.size else maps).astype(np.float32)

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """See `Merging.merge_inputs`."""
        lengths = piece.lengths()
        rows = piece.scaled(_inverse(lengths)) @ self._maps
        wanted = lengths.sum(axis=1, keepdims=True) * _inverse(_holders(piece))
        return rows * (wanted * _inverse(np.linalg.norm(rows, axis=1, keepdims=True)))

    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """See `Merging.merge_outputs`."""
        return super().merge_inputs(piece) * _inverse(_holders(piece))


#: Constructor of a merging from `inputs`, `vector_size` and `seed`.
Method = Callable[[Table, int | None, int], Merging]

METHODS: dict[str, Method] = {"alir": ALiR, "pca": PCA, "concat": Concatenation}
"""Methods of merging by name."""


def merging_named(method: str) -> Method:
    """Return the method of this name; raise a ValueError if it is unknown."""
    if method not in METHODS:
        *names, last = METHODS
        raise ValueError(f"unknown method {quoted(method)}: use {', '.join(names)} or {last}")
    return METHODS[method]


def check_size(vector_size: int | None, default: int, largest: int, why: str) -> int:
    """Return the size of merged rows; raise a ValueError if it is below 1 or above `largest`."""
    size = default if vector_size is None else vector_size
    if not isinstance(size, Integral) or not 1 <= size <= largest:
        raise ValueError(f"vector_size is {size!r}: give a whole number from 1 to {largest}, {why}")
    return int(size)


def _weighted(inputs: Table) -> Iterator[np.ndarray]:
    """Yield unit rows divided by the square root of the number of sub-models with the word."""
    for piece in inputs.pieces():
        yield piece.scaled(_inverse(piece.lengths()) * _inverse(_holders(piece)) ** 0.5)


def _holders(piece: Piece) -> np.ndarray:
    """Return the number of sub-models that have each row: [p, 1], float32."""
    return piece.held.sum(axis=1, keepdims=True).astype(np.float32)


def _inverse(values: np.ndarray) -> np.ndarray:
    """Return 1 / x, and 0 for 0, because a row of zeros has no direction."""
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def _check_overlap(inputs: Table) -> None:
    """Raise a ValueError if sub-models cannot be aligned; warn if they share few words."""
    held = [row_of >= 0 for row_of in inputs.row_of]
    shared = np.array([[np.count_nonzero(a & b) for b in held] for a in held])
    reached = np.linalg.matrix_power((shared > 0).astype(float), len(held))[0] > 0
    if not reached.all():
        groups = [", ".join(map(str, np.flatnonzero(part))) for part in (reached, ~reached)]
        raise ValueError(
            f"sub-models {groups[0]} have no word in common with {groups[1]}, so they cannot be "
            "aligned: leave some out, train on larger samples, or merge by 'concat' or 'pca'"
        )
    known = sum(part.astype(np.int32) for part in held) > 1
    for number, (part, size) in enumerate(zip(held, inputs.sizes, strict=True)):
        if len(held) > 1 and (common := np.count_nonzero(part & known)) < size:
            logger.warning(
                "sub-model %i shares only %i words with the others, fewer than its %i dimensions: "
                "the alignment of its remaining words is not determined",
                number,
                common,
                size,
            )
