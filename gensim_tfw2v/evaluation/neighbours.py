"""Whether two models agree on the nearest neighbours of probe words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted

FREQUENT = 10_000
DEFAULT_PROBES = 200


@dataclass(frozen=True)
class NeighbourAgreement:
    """Agreement of two models on nearest neighbours.

    Attributes
    ----------
    overlap : float
        Mean over the probes of the fraction of the k neighbours that the models share, in [0, 1].
    jaccard : float
        Mean over the probes of shared neighbours over all neighbours named, in [0, 1].
    k : int
        Neighbours looked at.
    probes : tuple of str
        The probe words that both models know.
    """

    overlap: float
    jaccard: float
    k: int
    probes: tuple[str, ...]


def neighbour_agreement(
    first: KeyedVectors,
    second: KeyedVectors,
    words: Sequence[str] | None = None,
    *,
    k: int = 10,
    restrict_vocab: int | None = None,
) -> NeighbourAgreement:
    """Compare the `k` nearest neighbours (by cosine) of probe words in two models.

    Two runs of one trainer with other seeds agree well below 1 (Antoniak and Mimno 2018,
    "Evaluating the Stability of Embedding-based Word Similarities", TACL 6): compare with that, not
    with 1. A word that only one model knows can never be shared, so models with other vocabularies
    agree less.

    Parameters
    ----------
    first, second : KeyedVectors
    words : sequence of str, optional
        Probe words; unknown ones are left out. By default 200 words spread evenly over the
        10,000 most frequent ones of `first` that both know.
    k : int
        Neighbours a probe word.
    restrict_vocab : int, optional
        Look for neighbours among the first (most frequent) words of each model only.

    Raises
    ------
    ValueError
        `k` is less than 1, a vocabulary is too small for `k` neighbours, or no probe word is
        known to both.
    """
    first, second = with_keys(first), with_keys(second)
    searched = min(len(first), len(second), restrict_vocab or len(first))
    if not 1 <= k < searched:
        raise ValueError(f"k must be from 1 to {searched - 1} (words searched, less one), got {k}")
    if isinstance(words, str):
        raise ValueError(f"words must be a list of words, got the string {quoted(words)}")
    if words is None:
        shared = [word for word in first.index_to_key[:FREQUENT] if word in second]
        spread = np.linspace(0, len(shared) - 1, min(DEFAULT_PROBES, len(shared))).astype(int)
        words = [shared[index] for index in spread]
    probes = tuple(word for word in words if word in first and word in second)
    if not probes:
        raise ValueError("no probe word is in both vocabularies")

    shares = []
    for probe in probes:
        near_first, near_second = (
            {word for word, _ in vectors.most_similar(probe, topn=k, restrict_vocab=restrict_vocab)}
            for vectors in (first, second)
        )
        shares.append(len(near_first & near_second))
    overlaps = np.array(shares) / k
    # jaccard: the union of two sets of k that share s has 2k - s words
    return NeighbourAgreement(
        float(overlaps.mean()), float((overlaps / (2 - overlaps)).mean()), k, probes
    )
