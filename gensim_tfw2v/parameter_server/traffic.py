"""Work of a cluster, counted by workers and their coordinator."""

from dataclasses import dataclass, field, fields

import numpy as np


@dataclass
class Traffic:
    """Work of a cluster so far; printed, the lines of `rows`.

    Attributes
    ----------
    units, repeated : int
        Units trained, and how many of these again, because a worker ended before it reported,
        another one was given a copy, or parameters were lost.
    tokens : int
        Trained on, after subsampling.
    fetched_bytes, pushed_bytes, corpus_bytes : int
        Rows to workers; their changes, with the rows' ids, back; ids of words, sent to workers that
        do not see the corpus.
    staleness : list of float
        Of each job: units of others that were pushed between its fetching and its pushing, which
        its own update did not see.
    seconds : ndarray [3]
        Of all workers together: fetching, training, pushing.
    """

    units: int = 0
    repeated: int = 0
    tokens: int = 0
    fetched_bytes: int = 0
    pushed_bytes: int = 0
    corpus_bytes: int = 0
    staleness: list[float] = field(default_factory=list, repr=False)  # long
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __add__(self, other: "Traffic") -> "Traffic":
        """Both together."""
        return Traffic(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, before: "Traffic") -> "Traffic":
        """Work done since."""
        numbers = {
            f.name: getattr(self, f.name) - getattr(before, f.name)
            for f in fields(self)
            if f.name != "staleness"
        }
        return Traffic(**numbers, staleness=self.staleness[len(before.staleness) :])

    def __str__(self) -> str:
        return "\n".join(f"{name:<11}{value}" for name, value in self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """Names and sentences that summarize it for a user."""
        a_word = f"{self.bytes_per_token:,.0f} bytes for each word trained on"
        rows = [("network", f"{_bytes(self.total_bytes)}, {a_word}")]
        # sub-models are neither fetched nor pushed while they train
        if total := self.seconds.sum():
            share = "{1:.0%} of their time training, {0:.0%} fetching vectors, {2:.0%} sending back"
            rows.append(("workers", share.format(*(self.seconds / total))))
        again = (
            f"{self.repeated:,} of them trained again" if self.repeated else "none trained twice"
        )
        rows.append(("work", f"{self.units:,} pieces of the corpus, {again}"))
        if self.staleness:
            mean = sum(self.staleness) / len(self.staleness)
            rows.append(("staleness", f"{mean:.1f} pieces of others came in while one was trained"))
        return rows

    @property
    def total_bytes(self) -> int:
        """All that travelled."""
        return self.fetched_bytes + self.pushed_bytes + self.corpus_bytes

    @property
    def bytes_per_token(self) -> float:
        """All that travelled, for each token trained on."""
        return self.total_bytes / max(1, self.tokens)


def _bytes(number: int) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number} bytes"
