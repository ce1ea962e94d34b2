"""Right singular vectors of a matrix A [V, C] that is read in pieces: the eigenvectors of AᵀA.

If C is small, AᵀA is computed as a matrix. Otherwise only products of AᵀA and other matrices are
computed, each in one pass over A.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

#: Maximum number of columns C for which AᵀA is kept as a matrix (128 MiB).
MAX_MATRIX_COLUMNS = 4096

#: Number of additional columns in the randomised method.
OVERSAMPLING = 20

#: Number of passes over A in the randomised method.
N_PASSES = 8


def gram(pieces: Callable[[], Iterator[np.ndarray]], n_columns: int) -> Any:
    """Return AᵀA of a matrix A [V, C], as a matrix or as an operator on matrices [C, k].

    Parameters
    ----------
    pieces : callable
        Function that returns an iterator over all rows of A, in order, as arrays [p, C] of float32.
        It is called once per pass over A.
    n_columns : int
        Number of columns C.

    Returns
    -------
    ndarray or LinearOperator [C, C], float64
    """
    if n_columns <= MAX_MATRIX_COLUMNS:
        matrix = np.zeros((n_columns, n_columns))
        for piece in pieces():
            matrix += piece.T @ piece
        return matrix

    def multiply(right: np.ndarray) -> np.ndarray:
        product = np.zeros(right.shape)
        factor = right.astype(np.float32)
        for piece in pieces():
            product += piece.T @ (piece @ factor)
        return product

    shape = (n_columns, n_columns)
    return LinearOperator(shape, matvec=multiply, matmat=multiply, dtype=np.float64)


def right_singular_vectors(gram: Any, n_vectors: int, seed: int = 0) -> np.ndarray:
    """Return the right singular vectors of A with the largest singular values.

    If AᵀA is a matrix, the vectors are its eigenvectors. Otherwise they are computed by randomised
    subspace iteration (Halko, Martinsson and Tropp 2011, "Finding Structure with Randomness",
    algorithm 4.4) in `N_PASSES` passes over A.

    Parameters
    ----------
    gram : ndarray or LinearOperator [C, C]
        AᵀA, as the function `gram` returns it.
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
        return _leading_eigenvectors(gram, n_vectors)
    n_columns = gram.shape[0]
    size = n_columns, min(n_columns, n_vectors + OVERSAMPLING)
    subspace = np.random.default_rng(abs(seed)).standard_normal(size)
    for _ in range(N_PASSES - 1):
        subspace = gram @ np.linalg.qr(subspace)[0]
    basis = np.linalg.qr(subspace)[0]
    return basis @ _leading_eigenvectors(basis.T @ (gram @ basis), n_vectors)


def _leading_eigenvectors(symmetric: np.ndarray, n_vectors: int) -> np.ndarray:
    return np.linalg.eigh(symmetric)[1][:, ::-1][:, :n_vectors]
