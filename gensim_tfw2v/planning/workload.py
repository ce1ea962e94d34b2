"""What is trained: the shape of its steps, and how often its words occur."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.kernel.config import choose_shape
from gensim_tfw2v.kernel.objectives.blocks import StepShape

#: In texts, words come in bursts (Church and Gale 1995, "Poisson mixtures"). By this one, distinct
#: words of runs of 512 to 1 M tokens of Wikipedia come out within a tenth.
BURST = 1.6

#: The word of rank r (from 1) occurs in proportion to (r + 2.7) ** -1.15 (Zipf's law, as Mandelbrot
#: 1953 has it); fitted to 69,000 words of Wikipedia.
ZIPF_OFFSET, ZIPF_EXPONENT = 2.7, 1.15


class Frequencies(NamedTuple):
    """The shares of words among the tokens that are trained on.

    Attributes
    ----------
    words : ndarray [V]
        Share of each word among them.
    noise : ndarray [V]
        Chance of each word to be drawn as a negative.
    kept : float
        Share of the corpus' words that they are.
    burst : float
        How often a word stands in a piece of the text that it stands in; 1 where words stand
        independently.
    """

    words: np.ndarray
    noise: np.ndarray
    kept: float
    burst: float = BURST

    @classmethod
    def of_counts(
        cls, counts: np.ndarray, sample: float = 1e-3, ns_exponent: float = 0.75
    ) -> "Frequencies":
        """The frequencies of a vocabulary with these counts [V]; parameters as gensim's."""
        share = np.asarray(counts, np.float64) / np.sum(counts)
        keep = np.ones_like(share)
        if sample:
            keep = np.minimum(1.0, (np.sqrt(share / sample) + 1) * sample / share)
        noise = share**ns_exponent
        words = share * keep
        return cls(words / words.sum(), noise / noise.sum(), float(words.sum()))

    @classmethod
    def zipf(cls, vocabulary: int, **more: float) -> "Frequencies":
        """The frequencies of V words of natural language; `more` is as for `of_counts`."""
        ranks = np.arange(1, vocabulary + 1)
        return cls.of_counts((ranks + ZIPF_OFFSET) ** -ZIPF_EXPONENT, **more)


@dataclass(frozen=True)
class Workload:
    """What is trained.

    Parameters
    ----------
    frequencies : Frequencies
    vector_size : int
        D.
    shape : StepShape
    skipgram : bool
    """

    frequencies: Frequencies
    vector_size: int
    shape: StepShape
    skipgram: bool = True

    @classmethod
    def of_text(
        cls,
        vocabulary: int,
        tokens: float,
        vector_size: int = 100,
        window: int = 5,
        negative: int = 5,
        skipgram: bool = True,
        sample: float = 1e-3,
    ) -> "Workload":
        """The workload of a text of so many tokens whose V words follow Zipf's law."""
        frequencies = Frequencies.zipf(vocabulary, sample=sample)
        kept = int(tokens * frequencies.kept)
        shape = choose_shape(kept, window, negative, skipgram, vector_size=vector_size)
        return cls(frequencies, vector_size, shape, skipgram)

    @property
    def vocabulary(self) -> int:
        """V."""
        return len(self.frequencies.words)
