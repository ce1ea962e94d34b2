"""Ways of merging: maps that bring what the sub-models hold of a word together.

Concatenation puts rows side by side. PCA projects that onto the directions in which it varies most.
ALiR turns sub-models onto each other.

The rows of all sub-models are one table, side by side, read in pieces. What the SVD needs of a tall
matrix A [V, C] is AᵀA: where C is small that is a matrix, else products with it, each one pass over
A.
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

#: How often ALiR computes maps and merged rows from each other, as in the paper.
ITERATIONS = 3

#: Bytes of a piece: what is in memory of all sub-models at a time.
PIECE_BYTES = 1 << 26

#: Up to so many columns, AᵀA is kept as a matrix: 128 MiB.
LARGEST_MATRIX = 4096

#: Columns more than asked for, and passes, of the randomised method.
OVERSAMPLING = 20
PASSES = 8


logger = logging.getLogger(__name__)


class Piece(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    first : int
        The number of the first row.
    rows : ndarray [p, C], float32
        Of all sub-models, side by side: C is the sum of their sizes. Zeros where a sub-model has no
        such row.
    held : ndarray [p, N], bool
        Which sub-models have the row.
    parts : sequence of slice
        Columns of each sub-model.
    """

    first: int
    rows: np.ndarray
    held: np.ndarray
    parts: Sequence[slice]

    def lengths(self) -> np.ndarray:
        """Length of each sub-model's row, [p, N]."""
        parts = [np.linalg.norm(self.rows[:, part], axis=1) for part in self.parts]
        return np.stack(parts, axis=1)

    def scaled(self, factors: np.ndarray) -> np.ndarray:
        """The rows, those of each sub-model times a factor: [p, C] from factors [p, N]."""
        sizes = [part.stop - part.start for part in self.parts]
        return self.rows * np.repeat(factors, sizes, axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one kind of all sub-models.

    Parameters
    ----------
    name : str
        What the rows are, for messages.
    arrays : sequence of ndarray [n_i, D_i]
        One of each of N sub-models.
    row_of : sequence of ndarray [V], int
        For each sub-model: which row of its array is each row of the table, or -1.
    """

    name: str
    arrays: Sequence[np.ndarray]
    row_of: Sequence[np.ndarray]

    @property
    def rows(self) -> int:
        """V."""
        return len(self.row_of[0])

    @property
    def sizes(self) -> list[int]:
        """D_i of each sub-model."""
        return [array.shape[1] for array in self.arrays]

    @property
    def columns(self) -> int:
        """C, the sum of the sizes."""
        return sum(self.sizes)

    @property
    def parts(self) -> list[slice]:
        """Columns of each sub-model."""
        return list(starmap(slice, pairwise(accumulate(self.sizes, initial=0))))

    def pieces(self) -> Iterator[Piece]:
        """All rows, in order.

        Raises
        ------
        ValueError
            If a number is not finite.
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
                        f"in row {first + bad[0]}: leave it out, or train it again with a smaller "
                        "alpha"
                    )
            yield Piece(first, rows, held, self.parts)


def gram(pieces: Callable[[], Iterator[np.ndarray]], columns: int) -> Any:
    """AᵀA of a matrix A [V, C], as something to multiply matrices [C, k] with.

    Parameters
    ----------
    pieces : callable
        Gives all rows of A in order, [p, C] at a time, float32; called once for each pass.
    columns : int
        C.

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
    """The right singular vectors of A with the largest singular values.

    From the eigenvectors of AᵀA where that is a matrix, else by randomised subspace iteration
    (Halko, Martinsson and Tropp 2011, "Finding Structure with Randomness", algorithm 4.4) in
    `PASSES` passes over A, from a start that the seed decides.

    Parameters
    ----------
    gram : ndarray or LinearOperator [C, C]
        AᵀA; see `gram`.
    number : int
        k, at most C.
    seed : int

    Returns
    -------
    ndarray [C, k], float64
        Orthonormal columns, by falling singular value.
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
    """A way of merging: made for the input rows, then applied to pieces of each table.

    It holds linear maps, one a sub-model, that bring what the sub-models hold of a word together.
    The tests hold each to these laws: one sub-model alone is given back up to a rotation; and
    where sub-models are rotations of each other, similarities, and products of input and output
    rows, are those of each.

    Each is made of the `Table` of the input rows of all sub-models, of the D that is asked for or
    None, and of a seed of random draws, where there are any.

    Attributes
    ----------
    size : int
        D of the merged rows.

    Raises
    ------
    ValueError
        If rows of this size cannot be had from these sub-models.
    """

    size: int
    _maps: np.ndarray  # [C, D]

    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""
        return piece.rows @ self._maps

    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """Merged rows of outputs, nodes or subwords, [p, D]."""
        return self.merge_inputs(piece)


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
        self._maps = (vectors * len(inputs.arrays) ** -0.5).astype(np.float32)


class ALiR(Merging):
    """Sub-models turned onto each other by orthogonal maps; words that some miss come from others.

    Anand, Khosla, Singh, Zab, Zhang 2019, "Asynchronous Training of Word Embeddings for Large Text
    Corpora", WSDM. It is generalised Procrustes analysis (Gower 1975) with missing rows. With M_i
    the unit rows that sub-model i holds of its words, W_i its map, and Y the merged rows:

    - W_i = the orthogonal map that brings M_i nearest to Y's rows of its words (Procrustes
      problem);
    - a row of Y = the mean of M_i W_i over the sub-models that hold the word;

    and again. Put into each other, the two need only one matrix: with C the rows of all sub-models
    side by side, each over the square root of how many hold the word, W_i is the polar factor of
    block i of (CᵀC) W.

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
        return super().merge_inputs(piece) * _inverse(_holders(piece))


#: Makes a merging of `inputs`, `vector_size` and `seed`.
Method = Callable[[Table, int | None, int], Merging]

METHODS: dict[str, Method] = {"alir": ALiR, "pca": PCA, "concat": Concatenation}
"""Ways of merging, by the names that users give."""


def merging_named(method: str) -> Method:
    """The merging of a name; ValueError if there is none."""
    if method not in METHODS:
        *names, last = METHODS
        raise ValueError(f"unknown merging {quoted(method)}: give {', '.join(names)} or {last}")
    return METHODS[method]


def check_size(vector_size: int | None, default: int, largest: int, why: str) -> int:
    """The size of merged rows; ValueError if it is below 1 or above the largest."""
    size = default if vector_size is None else vector_size
    if not isinstance(size, Integral) or not 1 <= size <= largest:
        raise ValueError(f"vector_size is {size!r}: give a whole number from 1 to {largest}, {why}")
    return int(size)


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
