"""Interface of a merging method, its input and its result."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.merging.table import Piece, Table

#: Words that are named for each number of sub-models.
EXAMPLES = 5


class SubModel(NamedTuple):
    """A model of some of the V words of a vocabulary.

    Its arrays are read in pieces: they may be files mapped into memory.

    Attributes
    ----------
    words : ndarray [n], int
        Which words it holds: their rows in the vocabulary, each once.
    inputs : ndarray [n, D_i] or [V, D_i]
        In n rows, row i is that of ``words[i]``. In V rows, row w is that of word w, and those of
        words that the sub-model does not hold are not read.
    outputs : ndarray, optional
        ``syn1neg``, as `inputs`.
    nodes : ndarray [m, D_i], optional
        ``syn1``: row j is that of inner node j of the Huffman tree, which has to be the same in all
        sub-models (same words, same counts). Rows of zeros are those of nodes that the sub-model
        was not trained on.
    subwords : ndarray [R, D_i], optional
        Rows that inputs are sums of, the same in all sub-models, as `nodes`.
    """

    words: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray | None = None
    nodes: np.ndarray | None = None
    subwords: np.ndarray | None = None


@dataclass(frozen=True)
class MergeReport:
    """In how many sub-models the words were.

    Attributes
    ----------
    models : int
        N, the number of sub-models.
    words : tuple of int
        Of N + 1 numbers, number k counts the words that were in k sub-models.
    examples : mapping from int to tuple of str
        For each k below N with such words, the first of them in the vocabulary's order; empty if
        the words are not known.
    """

    models: int
    words: tuple[int, ...]
    examples: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def in_all(self) -> int:
        """Number of words that were in all sub-models."""
        return self.words[-1]

    @property
    def missing(self) -> int:
        """Number of words that were missing from at least one."""
        return sum(self.words) - self.in_all

    def lines(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """In which sub-models, how many words, and examples: those in all first."""
        named = {self.models: "in all", 0: "in none"}
        return [
            (named.get(k, f"in {k} of {self.models}"), self.words[k], self.examples.get(k, ()))
            for k in range(self.models, -1, -1)
            if self.words[k] or k == self.models
        ]

    def __str__(self) -> str:
        parts = [
            f"{where}: {number:,}" + (f" ({', '.join(examples)}, …)" if examples else "")
            for where, number, examples in self.lines()
        ]
        return f"words of {self.models} sub-models: " + "; ".join(parts)


class Merged(NamedTuple):
    """One model of all sub-models.

    Attributes
    ----------
    inputs : ndarray [V, D], float32
        Zeros for words that no sub-model holds.
    outputs : ndarray [V, D], float32, optional
        None if a sub-model has none.
    nodes : ndarray [m, D], float32, optional
        None if a sub-model has none.
    held : ndarray [V], int
        In how many sub-models each word was.
    models : int
        Number of sub-models.
    subwords : ndarray [R, D], float32, optional
        None if a sub-model has none. Zeros for rows that no sub-model was trained on.
    """

    inputs: np.ndarray
    outputs: np.ndarray | None
    nodes: np.ndarray | None
    held: np.ndarray
    models: int
    subwords: np.ndarray | None = None

    def report(self, words: Sequence[str] | None = None) -> MergeReport:
        """Count which words, of this vocabulary, were missing in how many sub-models."""
        counts = np.bincount(self.held, minlength=self.models + 1)
        examples = {}
        for k in range(self.models):
            if words is not None and counts[k]:
                first = np.flatnonzero(self.held == k)[:EXAMPLES]
                examples[k] = tuple(str(words[row]) for row in first)
        return MergeReport(self.models, tuple(map(int, counts)), examples)


class Merging(ABC):
    """A way of merging: made for the input rows, then applied to pieces of each table.

    It holds linear maps, one a sub-model, that bring what the sub-models hold of a word together.
    The tests hold each to these laws: one sub-model alone is given back up to a rotation; and
    where sub-models are rotations of each other, similarities, and products of input and output
    rows, are those of each.

    Parameters
    ----------
    inputs : Table
        The input rows of all sub-models.
    vector_size : int, optional
        The D that is asked for.
    seed : int
        Seed of random draws, where there are any.

    Attributes
    ----------
    size : int
        D of the merged rows.

    Raises
    ------
    ValueError
        If rows of this size cannot be had from these sub-models.
    """

    size: int

    @abstractmethod
    def __init__(self, inputs: Table, vector_size: int | None, seed: int) -> None: ...

    @abstractmethod
    def merge_inputs(self, piece: Piece) -> np.ndarray:
        """Merged input rows, [p, D]."""

    @abstractmethod
    def merge_outputs(self, piece: Piece) -> np.ndarray:
        """Merged rows of outputs, nodes or subwords, [p, D]."""


def check_size(vector_size: int | None, default: int, largest: int, why: str) -> int:
    """The size of merged rows; ValueError if it is below 1 or above the largest."""
    size = default if vector_size is None else vector_size
    if not isinstance(size, Integral) or not 1 <= size <= largest:
        raise ValueError(f"vector_size is {size!r}: give a whole number from 1 to {largest}, {why}")
    return int(size)
