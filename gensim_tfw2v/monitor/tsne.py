"""t-SNE in two dimensions (van der Maaten and Hinton 2008), fast enough for the end of a training.

All nearest neighbours of a word have the same affinity. Repulsion is computed on a grid by Fourier
transforms (Linderman et al. 2019, "Fast interpolation-based t-SNE").
"""

from typing import Any

import numpy as np

#: Number of vectors, from the first, that are optimized. Each later vector is placed between the
#: three of them that are nearest to it.
LAID_OUT = 4_000

#: Number of nearest neighbours with an affinity.
NEIGHBOURS = 15

#: Number of first iterations, with early exaggeration.
EARLY = 100

#: Number of iterations without exaggeration.
LATE = 250

#: Factor between attraction and repulsion in the first iterations.
EXAGGERATION = 12.0

#: Minimum and maximum number of grid points per axis.
GRID = (32, 128)

#: Distance between grid points, unless their number would be outside the limits of `GRID`.
SPACING = 0.5

#: Number of vectors that are compared with all vectors per matrix product.
CHUNK = 1_000


def tsne(vectors: np.ndarray) -> np.ndarray:
    """Lay out vectors [V, D] by their cosine similarities: [V, 2], float32.

    The first `LAID_OUT` vectors are optimized. Each later vector is placed at the mean position of
    the three nearest of them.
    """
    rows = unit_rows(vectors)
    first = rows[:LAID_OUT]
    place = _optimized(_affinities(first), _begin(first)).T
    others = [
        place[_nearest(rows[at : at + CHUNK], first, 3)].mean(axis=1)
        for at in range(LAID_OUT, len(rows), CHUNK)
    ]
    return np.concatenate([place, *others]).astype(np.float32)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _nearest(rows: np.ndarray, among: np.ndarray, number: int) -> np.ndarray:
    """Return the indices in `among` of the nearest rows, for each row: [rows, number]."""
    return np.argpartition(-(rows @ among.T), number - 1, axis=1)[:, :number]


def _affinities(rows: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    number = min(NEIGHBOURS, len(rows) - 1) + 1  # with the row itself
    near = [_nearest(rows[at : at + CHUNK], rows, number) for at in range(0, len(rows), CHUNK)]
    ends = np.arange(0, number * len(rows) + 1, number)
    shape = len(rows), len(rows)
    directed = csr_matrix(
        (np.ones(ends[-1], np.float32), np.concatenate(near).ravel(), ends), shape
    )
    directed.setdiag(0)
    both = directed + directed.T
    return (both / both.sum()).tocoo()


def _begin(rows: np.ndarray) -> np.ndarray:
    """Return the first two principal components, with a standard deviation of 1e-4: [2, V]."""
    centred = np.pad(rows - rows.mean(axis=0), ((0, 0), (0, 1)))  # two columns, even if D is 1
    _, axes = np.linalg.eigh(centred.T @ centred)
    place = axes[:, -2:].T.astype(float) @ centred.T
    return place * (1e-4 / max(1e-12, place.std(axis=1).max()))


def _optimized(pairs: Any, place: np.ndarray) -> np.ndarray:
    step = np.zeros_like(place)
    number = place.shape[1]
    for iteration in range(EARLY + LATE):
        is_early = iteration < EARLY
        factor, momentum = (EXAGGERATION, 0.5) if is_early else (1.0, 0.8)
        way = place[:, pairs.row] - place[:, pairs.col]
        way *= pairs.data / (1 + (way**2).sum(axis=0))
        attraction = np.stack([np.bincount(pairs.row, axis, number) for axis in way])
        step = momentum * step + number * (_repulsion(place) / factor - attraction)
        place = place + step
    return place


def _repulsion(place: np.ndarray) -> np.ndarray:
    """Return the repulsive forces [2, V]; each point is spread over its grid cell's corners."""
    from scipy import fft

    low = place.min(axis=1, keepdims=True)
    extent = (place - low).max()
    size = int(np.clip(extent / SPACING, *GRID))
    spacing = max(extent / (size - 2), 1e-12)
    at = (place - low) / spacing
    cell = at.astype(int)
    x, y = at - cell
    flat = [cell[0] * size + cell[1] + corner for corner in (0, 1, size, size + 1)]
    share = [(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y]
    charge = np.bincount(np.concatenate(flat), np.concatenate(share), size * size)
    wide = fft.next_fast_len(2 * size, True)
    away = spacing * (np.arange(wide) - wide * (np.arange(wide) > wide // 2))
    # 1 / (1 + r^2), whose sum over all pairs normalizes the forces, and r / (1 + r^2)^2 for the
    # forces, by axis
    kernel = 1 / (1 + away[:, None] ** 2 + away**2)
    kernels = np.stack([kernel, away[:, None] * kernel**2, away * kernel**2])
    spectrum = fft.rfft2(charge.reshape(size, size), (wide, wide)) * fft.rfft2(kernels)
    fields = fft.irfft2(spectrum, (wide, wide))[:, :size, :size].reshape(3, -1)
    total, *forces = sum(fields[:, f] * s for f, s in zip(flat, share, strict=True))
    return np.array(forces) / (total.sum() - len(total))
