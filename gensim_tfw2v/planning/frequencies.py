"""How often words occur: counted, or by Zipf's law."""

from typing import NamedTuple

import numpy as np

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
        """The frequencies of a vocabulary that has been counted.

        Parameters
        ----------
        counts : ndarray [V]
        sample, ns_exponent : float
            gensim's parameters.
        """
        share = np.asarray(counts, np.float64) / np.sum(counts)
        keep = np.ones_like(share)
        if sample:
            keep = np.minimum(1.0, (np.sqrt(share / sample) + 1) * sample / share)
        noise = share**ns_exponent
        words = share * keep
        return cls(words / words.sum(), noise / noise.sum(), float(words.sum()))

    @classmethod
    def zipf(cls, vocabulary: int, **more: float) -> "Frequencies":
        """The frequencies of a vocabulary of so many words, as natural language has them.

        Parameters
        ----------
        vocabulary : int
            V.
        **more
            As for `of_counts`.
        """
        ranks = np.arange(1, vocabulary + 1)
        return cls.of_counts((ranks + ZIPF_OFFSET) ** -ZIPF_EXPONENT, **more)
