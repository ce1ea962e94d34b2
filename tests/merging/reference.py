"""Merging with whole matrices in float64, as a readable reference.

Sub-models are pairs (words, rows): the indices of a sub-model's words among all V, and their
vectors.
"""

import numpy as np
from scipy.linalg import orthogonal_procrustes


def side_by_side(sub_models, number, scale=lambda rows: rows):
    """Concatenated rows [V, C], 0 for missing words, and a mask of the words held [V, N]."""
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
    """Merged rows, and each sub-model's map [D, D] to them; all sub-models have one size."""
    size = sub_models[0][1].shape[1]
    rows, held = side_by_side(sub_models, number, unit)
    holders = np.maximum(1, held.sum(axis=1))[:, None]
    # initial Y: SVD of the rows, weighted by the number of sub-models that hold the word
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
