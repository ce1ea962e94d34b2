"""What a cluster has done: counted by workers and their coordinator."""

from dataclasses import dataclass, field, fields

import numpy as np


@dataclass
class Traffic:
    """What a cluster has done so far.

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
        Of each job: units of others that were pushed between its fetching and its pushing.
    seconds : ndarray [3]
        Of all workers together: fetching, training, pushing.
    """

    units: int = 0
    repeated: int = 0
    tokens: int = 0
    fetched_bytes: int = 0
    pushed_bytes: int = 0
    corpus_bytes: int = 0
    staleness: list[float] = field(default_factory=list)
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __add__(self, other: "Traffic") -> "Traffic":
        """Both together."""
        return Traffic(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, before: "Traffic") -> "Traffic":
        """What has been done since."""
        numbers = {
            f.name: getattr(self, f.name) - getattr(before, f.name)
            for f in fields(self)
            if f.name != "staleness"
        }
        return Traffic(**numbers, staleness=self.staleness[len(before.staleness) :])

    @property
    def bytes_per_token(self) -> float:
        """All that travelled, for each token trained on."""
        travelled = self.fetched_bytes + self.pushed_bytes + self.corpus_bytes
        return travelled / max(1, self.tokens)
