"""Distribution of a corpus's sentences over N samples (Anand et al. 2019, section 3)."""

import functools
from dataclasses import dataclass

import numpy as np

from gensim_tfw2v.corpus.shard_files import END, Ids

#: Part of the seed of these random numbers, so that they differ from those of training a unit.
_STREAM = 0x5A4D50


@dataclass(frozen=True)
class Sampling:
    """Assignment of sentences to N samples.

    Parameters
    ----------
    kind : {"shuffle", "random", "equal"}
        ``"shuffle"``: new samples are drawn in each epoch. Each sentence is in one random sample,
        and in each remaining one with the probability for which a sample has the expected fraction
        `rate` of all sentences. If `rate` is below 1 / N, each sentence is in one sample or none.
        ``"random"``: one draw for all epochs. Each sentence is in each sample with probability
        `rate`, so it may be in none. ``"equal"``: N consecutive parts of the text.
    n_samples : int
        Number N of samples.
    rate : float
        Fraction of the sentences in a sample.
    seed : int
    """

    kind: str
    n_samples: int
    rate: float
    seed: int

    @property
    def share(self) -> float:
        """Expected fraction of a unit's sentences in a sample, if `has_unit` is true of both."""
        return 1.0 if self.kind == "equal" else self.rate

    def has_unit(self, sample: int, index: int, n_units: int) -> bool:
        """Return whether a sample may have sentences of the unit `index` of `n_units` units."""
        return self.kind != "equal" or index * self.n_samples // n_units == sample

    def select(self, entries: Ids, sample: int, index: int, epoch: int) -> Ids:
        """Return those sentences of a unit that are in a sample: int32 [n], -1 after each sentence.

        `entries` are those of the whole unit, and `index` is the index of the unit.
        """
        if self.kind == "equal":
            return entries
        ends = np.flatnonzero(entries == END) + 1
        if not len(ends) or ends[-1] < len(entries):
            ends = np.append(ends, len(entries))  # a sentence cut at the unit's end
        drawn_epoch = epoch if self.kind == "shuffle" else 0
        is_member = _draw_members(self, len(ends), index, drawn_epoch)[:, sample]
        return entries[np.repeat(is_member, np.diff(ends, prepend=0))]


@functools.lru_cache(maxsize=64)  # successive samples need the same units
def _draw_members(sampling: Sampling, n_sentences: int, index: int, epoch: int) -> np.ndarray:
    """Draw which sentences of a unit are in which samples: bool [n_sentences, N]."""
    draws = np.random.default_rng([_STREAM, abs(sampling.seed), epoch, index])
    uniform = draws.random((n_sentences, sampling.n_samples))
    if sampling.kind == "random":
        return uniform < sampling.rate
    n_expected = sampling.rate * sampling.n_samples  # expected number of samples of a sentence
    is_member = uniform < (n_expected - 1) / max(1, sampling.n_samples - 1)
    first_samples = draws.integers(sampling.n_samples, size=n_sentences)
    is_member[np.arange(n_sentences), first_samples] = draws.random(n_sentences) < n_expected
    return is_member
