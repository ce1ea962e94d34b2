"""Slow, readable loops for expected values."""

from math import sqrt

import numpy as np


def cosine(left, right):
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    return dot / sqrt(sum(a * a for a in left)) / sqrt(sum(b * b for b in right))


def pearson(xs, ys):
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return cosine([x - mean_x for x in xs], [y - mean_y for y in ys])


def ranks(values):
    """Rank of each value from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [
        sum(rank for rank, other in enumerate(ordered, 1) if other == value) / ordered.count(value)
        for value in values
    ]


def spearman(xs, ys):
    return pearson(ranks(xs), ranks(ys))


def nearest(vectors, target, excluded, topn):
    """The `topn` words of ``{word: vector}`` nearest to `target`, best first."""
    words = [word for word in vectors if word not in excluded]
    return sorted(words, key=lambda word: -cosine(vectors[word], target))[:topn]


def answer(vectors, a, b, c):
    """3CosAdd: the word nearest to b - a + c, each scaled to unit length."""

    def unit(word):
        return np.array(vectors[word]) / sqrt(sum(x * x for x in vectors[word]))

    return nearest(vectors, unit(b) - unit(a) + unit(c), {a, b, c}, 1)[0]
