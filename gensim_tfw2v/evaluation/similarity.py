"""Word similarity: agreement of cosines with human ratings, and of neighbours in two models."""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from gensim.models import KeyedVectors
from scipy import stats

from gensim_tfw2v.evaluation.sets import find_shipped, read_pairs
from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.typed_words import find_rows, has_key

NAMED_SETS = {"ws353": "wordsim353.tsv", "simlex999": "simlex999.txt"}
"""File names of the sets that come with gensim, by name: WordSim-353 and SimLex-999.

Finkelstein et al. 2002, "Placing Search in Context: The Concept Revisited", ACM TOIS 20. Hill,
Reichart and Korhonen 2015, "SimLex-999: Evaluating Semantic Models with (Genuine) Similarity
Estimation", Computational Linguistics 41.
"""

#: Default number of probe words.
N_DEFAULT_PROBES = 200

#: Number of most frequent words from which default probe words are selected.
N_FREQUENT = 10_000


@dataclass(frozen=True)
class PairScore:
    """Agreement of a model with human ratings of word pairs.

    Attributes
    ----------
    spearman, pearson : float
        Correlations in [-1, 1] over the pairs used; NaN if there are fewer than two.
    pairs : int
        Number of pairs in the file.
    used : int
        Number of pairs whose two words are in the vocabulary.
    """

    spearman: float
    pearson: float
    pairs: int
    used: int

    @property
    def oov_ratio(self) -> float:
        """Fraction, in [0, 1], of pairs with a word that is not in the vocabulary."""
        return 1 - self.used / self.pairs

    def to_dict(self) -> dict[str, float | int | None]:
        """Return all values for JSON, with None in place of NaN."""
        values = asdict(self) | {"oov_ratio": self.oov_ratio}
        return {name: None if math.isnan(value) else value for name, value in values.items()}


def evaluate_pairs(
    vectors: KeyedVectors,
    pairs: str | os.PathLike[str],
    *,
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
) -> PairScore:
    """Correlate cosine similarities with human ratings of word pairs.

    The result equals that of gensim's ``evaluate_word_pairs``: pairs with an unknown word are left
    out. Unlike gensim's function, this one accepts any usual separator, rejects invalid lines, and
    lets other threads use the vectors at the same time.

    Parameters
    ----------
    vectors : KeyedVectors
        V words of D dimensions, the most frequent first.
    pairs : str or path
        Name of a set in `NAMED_SETS`, or a file that `read_pairs` reads.
    restrict_vocab : int
        Number of words searched: words after the first `restrict_vocab` count as unknown.
    case_insensitive : bool
        Ignore case; of several variants the first (most frequent) is used.

    Returns
    -------
    PairScore
        Correlations, and counts of pairs.

    Raises
    ------
    EvaluationFileError
        If the file is empty or damaged, or a line is not ``word word number``.
    OSError
        If the file cannot be read.
    """
    rated_pairs = read_pairs(find_shipped(NAMED_SETS, pairs))
    fold = str.upper if case_insensitive else str
    vectors = with_keys(vectors)
    words = {fold(word) for first, second, _ in rated_pairs for word in (first, second)}
    rows = find_rows(vectors, words, restrict_vocab, fold)
    keys = {word: vectors.index_to_key[variants[0]] for word, variants in rows.items()}
    ratings = []
    cosines = []
    for first, second, rating in rated_pairs:
        if fold(first) in keys and fold(second) in keys:
            ratings.append(rating)
            cosines.append(vectors.similarity(keys[fold(first)], keys[fold(second)]))
    if len(ratings) < 2:
        return PairScore(math.nan, math.nan, len(rated_pairs), len(ratings))
    spearman = stats.spearmanr(ratings, cosines)[0]
    pearson = stats.pearsonr(ratings, cosines)[0]
    return PairScore(float(spearman), float(pearson), len(rated_pairs), len(ratings))


@dataclass(frozen=True)
class NeighbourAgreement:
    """Agreement of two models on nearest neighbours.

    Attributes
    ----------
    overlap : float
        Fraction of the k neighbours that the models share, in [0, 1], mean over the probe words.
    jaccard : float
        Number of shared neighbours divided by the number of words that are a neighbour in either
        model, in [0, 1], mean over the probe words.
    k : int
        Number of neighbours per probe word.
    probes : tuple of str
        Probe words that are in both models.
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

    Even two runs of the same trainer with different seeds have an agreement well below 1 (Antoniak
    and Mimno 2018, "Evaluating the Stability of Embedding-based Word Similarities", TACL 6).
    Compare with the agreement of such runs, not with 1. A word that is in only one model is never
    shared, so models with different vocabularies agree less.

    Parameters
    ----------
    first, second : KeyedVectors
        Words of both models, the most frequent first; their dimensions may differ.
    words : sequence of str, optional
        Probe words; unknown ones are skipped. By default 200 words, spread evenly over those of
        the 10,000 most frequent words of `first` that are also in `second`.
    k : int
        Number of neighbours per probe word.
    restrict_vocab : int, optional
        Number of words of each model, the most frequent ones, among which neighbours are searched.

    Returns
    -------
    NeighbourAgreement
        Fractions in [0, 1], and the probe words used.

    Raises
    ------
    ValueError
        If `k` is below 1, a vocabulary is too small for `k` neighbours, or no probe word is in
        both models.
    """
    first_vectors = with_keys(first)
    second_vectors = with_keys(second)
    n_words = min(len(first_vectors), len(second_vectors), restrict_vocab or len(first_vectors))
    if not 1 <= k < n_words:
        raise ValueError(f"k must be from 1 to {n_words - 1} (words searched, less one), got {k}")
    if isinstance(words, str):
        raise ValueError(f"words must be a list of words, got the string {quoted(words)}")
    if words is None:
        frequent_words = first_vectors.index_to_key[:N_FREQUENT]
        shared_words = [word for word in frequent_words if has_key(second_vectors, word)]
        n_probes = min(N_DEFAULT_PROBES, len(shared_words))
        indices = np.linspace(0, len(shared_words) - 1, n_probes).astype(int)
        words = [shared_words[index] for index in indices]
    probes = tuple(
        word for word in words if has_key(first_vectors, word) and has_key(second_vectors, word)
    )
    if not probes:
        raise ValueError("no probe word is in both vocabularies")

    def find_neighbours(vectors: KeyedVectors, probe: str) -> set[str]:
        neighbours = vectors.most_similar(probe, topn=k, restrict_vocab=restrict_vocab)
        return {word for word, _ in neighbours}

    n_shared = [
        len(find_neighbours(first_vectors, probe) & find_neighbours(second_vectors, probe))
        for probe in probes
    ]
    overlaps = np.array(n_shared) / k
    # Two sets of k words with s shared words have 2k - s different words. The Jaccard index
    # s / (2k - s) equals o / (2 - o), where o = s / k is the overlap.
    jaccards = overlaps / (2 - overlaps)
    return NeighbourAgreement(float(overlaps.mean()), float(jaccards.mean()), k, probes)
