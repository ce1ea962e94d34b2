"""Right singular vectors of a matrix A [V, C] that is read in pieces: the eigenvectors of AᵀA.

If C is small, AᵀA is computed as a matrix. Otherwise only products with it are computed, each in
one pass over A.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

#: Maximum number of columns C for which AᵀA is kept as a matrix (128 MiB).
LARGEST_MATRIX = 4096

#: Number of additional columns in the randomised method.
OVERSAMPLING = 20

#: Number of passes over A in the randomised method.
PASSES = 8


def gram(pieces: Callable[[], Iterator[np.ndarray]], n_columns: int) -> Any:
    """Return AᵀA of a matrix A [V, C], as a matrix or as an operator on matrices [C, k].

    Parameters
    ----------
    pieces : callable
        Returns an iterator over all rows of A, in order, as arrays [p, C] of float32; called once
        per pass over A.
    n_columns : int
        Number of columns C.

    Returns
    -------
    ndarray or LinearOperator [C, C], float64
    """
    if n_columns <= LARGEST_MATRIX:
        matrix = np.zeros((n_columns, n_columns))
        for piece in pieces():
            matrix += piece.T @ piece
        return matrix

    def product(right: np.ndarray) -> np.ndarray:
        summed = np.zeros(right.shape)
        factor = right.astype(np.float32)
        for piece in pieces():
            summed += piece.T @ (piece @ factor)
        return summed

    return LinearOperator((n_columns, n_columns), matvec=product, matmat=product, dtype=np.float64)


def right_singular_vectors(gram: Any, n_vectors: int, seed: int = 0) -> np.ndarray:
    """Return the right singular vectors of A with the largest singular values.

    If AᵀA is a matrix, they are its eigenvectors. Otherwise they are computed by randomised
    subspace iteration (Halko, Martinsson and Tropp 2011, "Finding Structure with Randomness",
    algorithm 4.4) in `PASSES` passes over A.

    Parameters
    ----------
    gram : ndarray or LinearOperator [C, C]
        AᵀA; see `gram`.
    n_vectors : int
        Number k of vectors, at most C.
    seed : int
        Seed of the initial subspace.

    Returns
    -------
    ndarray [C, k], float64
        Orthonormal columns, by descending singular value.
    """
    if isinstance(gram, np.ndarray):
        return _leading(gram, n_vectors)
    columns = gram.shape[0]
    size = columns, min(columns, n_vectors + OVERSAMPLING)
    start = np.random.default_rng(seed).standard_normal(size)
    for _ in range(PASSES - 1):
        start = gram @ np.linalg.qr(start)[0]
    basis = np.linalg.qr(start)[0]
    return basis @ _leading(basis.T @ (gram @ basis), n_vectors)


def _leading(symmetric: np.ndarray, n_vectors: int) -> np.ndarray:
    return np.linalg.eigh(symmetric)[1][:, ::-1][:, :n_vectors]
