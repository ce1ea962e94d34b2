"""t-SNE in two dimensions (van der Maaten and Hinton 2008), fast enough for the end of training.

Two approximations make it fast. All nearest neighbours of a word have the same affinity. And the
repulsion between points is computed on a grid by Fourier transforms (Linderman et al. 2019, "Fast
interpolation-based t-SNE").
"""

from typing import Any

import numpy as np

#: Maximum number of vectors whose positions are optimized: the first ones. Each later vector is
#: placed between the three optimized vectors that are nearest to it.
N_OPTIMIZED = 4_000

#: Number of nearest neighbours of a vector that attract it.
N_NEIGHBOURS = 15

#: Number of early iterations, in which attraction is exaggerated.
N_EARLY_ITERATIONS = 100

#: Number of later iterations, in which attraction is not exaggerated.
N_LATE_ITERATIONS = 250

#: Factor of attraction, relative to repulsion, in the early iterations.
EXAGGERATION = 12.0

#: Minimum number of grid points per axis.
MIN_GRID = 32

#: Maximum number of grid points per axis.
MAX_GRID = 128

#: Distance between grid points, unless their number would be below `MIN_GRID` or above `MAX_GRID`.
SPACING = 0.5

#: Number of vectors that one matrix product compares with all vectors.
CHUNK_ROWS = 1_000


def tsne(vectors: np.ndarray) -> np.ndarray:
    """Lay out vectors [V, D] in the plane by their cosine similarities: [V, 2], float32.

    The positions of the first `N_OPTIMIZED` vectors are optimized. Each later vector is placed at
    the mean position of the three optimized vectors that are nearest to it.
    """
    rows = unit_rows(vectors)
    first_rows = rows[:N_OPTIMIZED]
    positions = _optimize(_affinities(first_rows), _initial_positions(first_rows)).T
    parts = [positions]
    for start in range(N_OPTIMIZED, len(rows), CHUNK_ROWS):
        neighbours = _find_nearest(rows[start : start + CHUNK_ROWS], first_rows, 3)
        parts.append(positions[neighbours].mean(axis=1))
    return np.concatenate(parts).astype(np.float32)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; zero vectors remain zero vectors."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _find_nearest(rows: np.ndarray, candidates: np.ndarray, n_nearest: int) -> np.ndarray:
    """Return the indices of the candidates nearest to each row: [rows, n_nearest]."""
    return np.argpartition(-(rows @ candidates.T), n_nearest - 1, axis=1)[:, :n_nearest]


def _affinities(rows: np.ndarray) -> Any:
    """Return the affinities of pairs of V rows: a sparse matrix [V, V] whose elements sum to 1."""
    from scipy.sparse import csr_matrix

    n_rows = len(rows)
    n_nearest = min(N_NEIGHBOURS, n_rows - 1) + 1  # including the row itself
    nearest = np.concatenate(
        [
            _find_nearest(rows[start : start + CHUNK_ROWS], rows, n_nearest)
            for start in range(0, n_rows, CHUNK_ROWS)
        ]
    )
    ends = np.arange(0, n_nearest * n_rows + 1, n_nearest)
    ones = np.ones(ends[-1], np.float32)
    directed = csr_matrix((ones, nearest.ravel(), ends), (n_rows, n_rows))
    directed.setdiag(0)
    symmetric = directed + directed.T
    return (symmetric / symmetric.sum()).tocoo()


def _initial_positions(rows: np.ndarray) -> np.ndarray:
    """Return initial positions: two principal components, scaled to a standard deviation of 1e-4.

    The shape is [2, V]. The larger of the two standard deviations is 1e-4.
    """
    # a column of zeros is added, so that there are at least two columns, even if D is 1
    centred_rows = np.pad(rows - rows.mean(axis=0), ((0, 0), (0, 1)))
    _, axes = np.linalg.eigh(centred_rows.T @ centred_rows)
    positions = axes[:, -2:].T.astype(float) @ centred_rows.T
    return positions * (1e-4 / max(1e-12, positions.std(axis=1).max()))


def _optimize(pairs: Any, positions: np.ndarray) -> np.ndarray:
    """Return positions [2, V] after gradient descent with momentum.

    `pairs` are the affinities, and `positions` [2, V] the initial positions.
    """
    step = np.zeros_like(positions)
    n_points = positions.shape[1]
    for iteration in range(N_EARLY_ITERATIONS + N_LATE_ITERATIONS):
        exaggeration = EXAGGERATION if iteration < N_EARLY_ITERATIONS else 1.0
        momentum = 0.5 if iteration < N_EARLY_ITERATIONS else 0.8
        differences = positions[:, pairs.row] - positions[:, pairs.col]
        forces = differences * (pairs.data / (1 + (differences**2).sum(axis=0)))
        attraction = np.stack([np.bincount(pairs.row, axis, n_points) for axis in forces])
        descent = _repulsion(positions) / exaggeration - attraction
        step = momentum * step + n_points * descent
        positions = positions + step
    return positions


def _repulsion(positions: np.ndarray) -> np.ndarray:
    """Return the repulsive forces on V points: [2, V].

    Each point has a charge of 1, which is distributed over the corners of its grid cell. The forces
    at the grid points are convolutions of these charges with kernels. The force on a point is
    interpolated between the corners of its cell.
    """
    from scipy import fft

    low = positions.min(axis=1, keepdims=True)
    extent = (positions - low).max()
    size = int(np.clip(extent / SPACING, MIN_GRID, MAX_GRID))
    spacing = max(extent / (size - 2), 1e-12)
    coordinates = (positions - low) / spacing  # in units of grid cells
    cells = coordinates.astype(int)
    x, y = coordinates - cells
    corners = [cells[0] * size + cells[1] + offset for offset in (0, 1, size, size + 1)]
    weights = [(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y]
    charges = np.bincount(np.concatenate(corners), np.concatenate(weights), size * size)

    padded_size = fft.next_fast_len(2 * size, True)
    padded_shape = (padded_size, padded_size)
    indices = np.arange(padded_size)
    # Distances along an axis from grid point 0. The convolution is circular, so the second half of
    # the indices stands for negative distances.
    distances = spacing * (indices - padded_size * (indices > padded_size // 2))
    # The force between two points at distance r is r / (1 + r^2)^2 along each axis, divided by the
    # sum of 1 / (1 + r^2) over all pairs of points.
    kernel = 1 / (1 + distances[:, None] ** 2 + distances**2)
    kernels = np.stack([kernel, distances[:, None] * kernel**2, distances * kernel**2])

    spectrum = fft.rfft2(charges.reshape(size, size), padded_shape) * fft.rfft2(kernels)
    fields = fft.irfft2(spectrum, padded_shape)[:, :size, :size].reshape(3, -1)
    interpolated = sum(
        fields[:, corner] * weight for corner, weight in zip(corners, weights, strict=True)
    )
    normalizers = interpolated[0]
    forces = interpolated[1:]
    return forces / (normalizers.sum() - len(normalizers))
