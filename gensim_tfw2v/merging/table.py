"""One table of all sub-models, side by side, read in pieces of rows; the SVD of what is read so.

What the SVD needs of a tall matrix A [V, C] is AᵀA. Where C is small it is a matrix; where it is
not, products with it, each one pass over A.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

#: Bytes of a piece: what is in memory of all sub-models at a time.
PIECE_BYTES = 1 << 26

#: Up to so many columns, AᵀA is kept as a matrix: 128 MiB.
LARGEST_MATRIX = 4096

#: Columns more than asked for, and passes, of the randomised method.
OVERSAMPLING, PASSES = 20, 8


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
        rows = np.empty_like(self.rows)
        for number, part in enumerate(self.parts):
            np.multiply(self.rows[:, part], factors[:, number, None], out=rows[:, part])
        return rows


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
            yield self._piece(first, min(first + step, self.rows))

    def _piece(self, first: int, end: int) -> Piece:
        row_of = np.stack([of_one[first:end] for of_one in self.row_of], axis=1)
        held = row_of >= 0
        rows = np.zeros((end - first, self.columns), np.float32)
        for model, (array, part) in enumerate(zip(self.arrays, self.parts, strict=True)):
            here = held[:, model]
            rows[here, part] = array[row_of[here, model]]
            bad = np.flatnonzero(~np.isfinite(rows[:, part]).all(axis=1))
            if len(bad):
                raise ValueError(
                    f"sub-model {model} has {self.name} that are NaN or infinite, the first in row "
                    f"{first + bad[0]}: leave it out, or train it again with a smaller alpha"
                )
        return Piece(first, rows, held, self.parts)


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
        summed, factor = np.zeros(right.shape), right.astype(np.float32)
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
