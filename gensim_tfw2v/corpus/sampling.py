"""Which sentences of a corpus belong to which of N samples (Anand et al. 2019, section 3)."""

import functools
from dataclasses import dataclass

import numpy as np

from gensim_tfw2v.corpus.shards import END, Ids

#: Says to the random numbers that they are not a unit's own draws.
_STREAM = 0x5A4D50


@dataclass(frozen=True)
class Sampling:
    """Draws samples of sentences.

    Parameters
    ----------
    kind : {"shuffle", "random", "equal"}
        ``"shuffle"``: drawn anew each epoch, each sentence goes to one sample, and to each of the
        others by chance, so that a sample's share is `rate`; below 1 / N, it goes to one or none.
        ``"random"``: each sentence goes to each sample with probability `rate`, drawn once for all
        epochs, so some may go to none. ``"equal"``: N runs of the text.
    number : int
        N.
    rate : float
        The share of the sentences that a sample has.
    seed : int
    """

    kind: str
    number: int
    rate: float
    seed: int

    @property
    def share(self) -> float:
        """Expected share of a unit's sentences that a sample has, if it has any of the unit."""
        return 1.0 if self.kind == "equal" else self.rate

    def has_unit(self, sample: int, index: int, units: int) -> bool:
        """Return whether a sample contains sentences of the unit at this place among so many."""
        return self.kind != "equal" or index * self.number // units == sample

    def of(self, entries: Ids, sample: int, index: int, epoch: int) -> Ids:
        """A sample's part of a unit's entries: int32 [n], -1 after each sentence.

        The unit is named by its place in the text, `index`, and by its epoch.
        """
        if self.kind == "equal":
            return entries
        ends = np.flatnonzero(entries == END) + 1
        if not len(ends) or ends[-1] < len(entries):
            ends = np.append(ends, len(entries))  # a sentence that the unit's end cuts
        of_epoch = epoch if self.kind == "shuffle" else 0
        taken = _members(self, len(ends), index, of_epoch)[:, sample]
        return entries[np.repeat(taken, np.diff(ends, prepend=0))]


@functools.lru_cache(maxsize=64)  # samples ask one after the other for the same units
def _members(sampling: Sampling, sentences: int, index: int, epoch: int) -> np.ndarray:
    """Which sentences of a unit belong to which samples: bool [sentences, N]."""
    draws = np.random.default_rng([_STREAM, abs(sampling.seed), epoch, index])
    of_one = draws.random((sentences, sampling.number))
    if sampling.kind == "random":
        return of_one < sampling.rate
    mean = sampling.rate * sampling.number  # how many samples a sentence goes to
    taken = of_one < (mean - 1) / max(1, sampling.number - 1)
    first = draws.integers(sampling.number, size=sentences)
    taken[np.arange(sentences), first] = draws.random(sentences) < mean
    return taken
