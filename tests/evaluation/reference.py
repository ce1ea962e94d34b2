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


def f1(targets, predicted):
    """Micro F1 and macro F1 of lists of sets of labels; `targets` and `predicted` share labels."""

    def score(correct, wrong, missed):
        return 2 * correct / (2 * correct + wrong + missed) if correct else 0

    labels = sorted(set().union(*targets, *predicted))
    counts = []
    for label in labels:
        pairs = [(label in t, label in p) for t, p in zip(targets, predicted, strict=True)]
        counts.append([pairs.count(case) for case in ((True, True), (False, True), (True, False))])
    micro = score(*(sum(column) for column in zip(*counts, strict=True)))
    return micro, sum(score(*count) for count in counts) / len(labels)


def area_under_curve(positives, negatives):
    """Fraction of pairs of scores that are in the right order; ties count as one half."""
    order = [(p > n) + (p == n) / 2 for p in positives for n in negatives]
    return sum(order) / len(order)
