"""Merging with whole matrices in float64, that anyone can read.

Sub-models are pairs (words, rows): which words of the V a sub-model holds, and their vectors.
"""

import numpy as np
from scipy.linalg import orthogonal_procrustes


def side_by_side(sub_models, number, scale=lambda rows: rows):
    """All sub-models' rows [V, C], zeros where a word is missing; and who holds what [V, N]."""
    parts, held = [], np.zeros((number, len(sub_models)), bool)
    for n, (words, rows) in enumerate(sub_models):
        part = np.zeros((number, rows.shape[1]))
        part[words] = scale(np.asarray(rows, float))
        parts.append(part)
        held[words, n] = True
    return np.hstack(parts), held


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def concat(sub_models, number):
    return side_by_side(sub_models, number)[0] / np.sqrt(len(sub_models))


def pca(sub_models, number, size):
    rows = concat(sub_models, number)
    return rows @ np.linalg.svd(rows, full_matrices=False)[2][:size].T


def alir(sub_models, number, iterations=3):
    """Merged rows with the maps [D, D] that lead to them, for sub-models of one size."""
    size = sub_models[0][1].shape[1]
    rows, held = side_by_side(sub_models, number, unit)
    holders = np.maximum(1, held.sum(axis=1))[:, None]
    # Y at first: the SVD of the rows, each weighted by how many hold it
    y = rows @ np.linalg.svd(rows / np.sqrt(holders), full_matrices=False)[2][:size].T / holders
    for _ in range(iterations):
        maps = [orthogonal_procrustes(unit(own), y[words])[0] for words, own in sub_models]
        y = np.zeros_like(y)
        for (words, own), turn in zip(sub_models, maps, strict=True):
            y[words] += unit(own) @ turn
        y /= holders
    lengths = np.zeros((number, 1))
    for words, own in sub_models:
        lengths[words] += np.linalg.norm(own, axis=1, keepdims=True)
    merged = np.zeros_like(y)
    some = held.any(axis=1)
    merged[some] = unit(y[some]) * (lengths / holders)[some]
    return merged @ maps[0].T, [turn @ maps[0].T for turn in maps]
