"""Right singular vectors of a tall matrix that is read in pieces of rows.

What is needed of a tall matrix A [V, C] is AᵀA. Where C is small it is a matrix; where it is not,
products with it, each one pass over A.
"""

from collections.abc import Callable, Iterator

import numpy as np

#: Up to so many columns, AᵀA is kept as a matrix: 128 MiB.
LARGEST_MATRIX = 4096

#: Columns more than asked for, and passes, of the randomised method.
OVERSAMPLING, PASSES = 20, 8


class Gram:
    """AᵀA of a matrix A [V, C], as something to multiply with.

    Parameters
    ----------
    pieces : callable
        Gives all rows of A in order, [p, C] at a time, float32; called once for each pass.
    columns : int
        C.
    """

    def __init__(self, pieces: Callable[[], Iterator[np.ndarray]], columns: int) -> None:
        self.columns = columns
        self._pieces = pieces
        self.matrix: np.ndarray | None = None
        if columns <= LARGEST_MATRIX:
            self.matrix = np.zeros((columns, columns))
            for piece in pieces():
                self.matrix += piece.T @ piece

    def __matmul__(self, right: np.ndarray) -> np.ndarray:
        """The product with a matrix [C, k], float64."""
        if self.matrix is not None:
            return self.matrix @ right
        product, factor = np.zeros(right.shape), right.astype(np.float32)
        for piece in self._pieces():
            product += piece.T @ (piece @ factor)
        return product


def right_singular_vectors(gram: Gram, number: int, seed: int = 0) -> np.ndarray:
    """The right singular vectors of A with the largest singular values.

    From the eigenvectors of AᵀA where that is a matrix, else by randomised subspace iteration
    (Halko, Martinsson and Tropp 2011, "Finding Structure with Randomness", algorithm 4.4) in
    `PASSES` passes over A.

    Parameters
    ----------
    gram : Gram
        Of A [V, C].
    number : int
        k, at most C.
    seed : int
        Of the random start.

    Returns
    -------
    ndarray [C, k], float64
        Orthonormal columns, by falling singular value.
    """
    if gram.matrix is not None:
        return _leading(gram.matrix, number)
    start = np.random.default_rng(seed).standard_normal(
        (gram.columns, min(gram.columns, number + OVERSAMPLING))
    )
    for _ in range(PASSES - 1):
        start = gram @ np.linalg.qr(start)[0]
    basis = np.linalg.qr(start)[0]
    return basis @ _leading(basis.T @ (gram @ basis), number)


def _leading(symmetric: np.ndarray, number: int) -> np.ndarray:
    return np.linalg.eigh(symmetric)[1][:, ::-1][:, :number]
