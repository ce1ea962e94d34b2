"""Right singular vectors of a tall matrix that is read in pieces of rows.

What is needed of a tall matrix A [V, C] is AᵀA. Where C is small it is a matrix; where it is not,
products with it, each one pass over A.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

#: Up to so many columns, AᵀA is kept as a matrix: 128 MiB.
LARGEST_MATRIX = 4096

#: Columns more than asked for, and passes, of the randomised method.
OVERSAMPLING, PASSES = 20, 8


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
