"""One vocabulary of several, and the counts of its words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Union(NamedTuple):
    """The words of several vocabularies.

    Attributes
    ----------
    words : list of str
        V words, by falling count; if all vocabularies are the same, in their order.
    counts : ndarray [V], int
    rows : list of ndarray [n_i], int
        In which row of the union each word of each vocabulary stands.
    """

    words: list[str]
    counts: np.ndarray
    rows: list[np.ndarray]


def unite(vocabularies: Sequence[Sequence[str]], counts: Sequence[np.ndarray]) -> Union:
    """Unite vocabularies.

    Counts of samples are summed. Where vocabularies have the same count for each word that they
    share, it is that of one whole corpus, and is kept.

    Parameters
    ----------
    vocabularies : sequence of sequences of str
        Each word once in each.
    counts : sequence of ndarray [n_i], int
        Of the words of each.
    """
    row_of: dict[str, int] = {}
    rows = [
        np.array([row_of.setdefault(word, len(row_of)) for word in words], np.int64)
        for words in vocabularies
    ]
    summed, largest = np.zeros((2, len(row_of)), np.int64)
    for here, of_one in zip(rows, counts, strict=True):
        summed[here] += of_one
        largest[here] = np.maximum(largest[here], of_one)
    is_global = all(
        np.array_equal(largest[here], of_one) for here, of_one in zip(rows, counts, strict=True)
    )
    total = largest if is_global else summed
    order = np.argsort(-total, kind="stable")
    if all(np.array_equal(here, np.arange(len(row_of))) for here in rows):
        order = np.arange(len(row_of))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    words = list(row_of)
    return Union([words[row] for row in order], total[order], [number[here] for here in rows])
