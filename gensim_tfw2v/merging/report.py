"""Which words were missing in how many sub-models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

#: Words that are named for each number of sub-models.
EXAMPLES = 5


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

    @classmethod
    def of(cls, held: np.ndarray, models: int, words: Sequence[str] | None = None) -> "MergeReport":
        """Count.

        Parameters
        ----------
        held : ndarray [V], int
            In how many sub-models each word was.
        models : int
        words : sequence of str, optional
            The vocabulary.
        """
        counts = np.bincount(held, minlength=models + 1)
        examples = {}
        for k in range(models):
            if words is not None and counts[k]:
                first = np.flatnonzero(held == k)[:EXAMPLES]
                examples[k] = tuple(str(words[row]) for row in first)
        return cls(models, tuple(map(int, counts)), examples)

    @property
    def in_all(self) -> int:
        """How many words were in all sub-models."""
        return self.words[-1]

    @property
    def missing(self) -> int:
        """How many words were missing in at least one."""
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
