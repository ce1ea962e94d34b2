"""Word similarity: rank correlation of cosine similarities with human ratings."""

import copy
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass

from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation.files import read_pairs, shipped
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.keyed import with_keys

NAMED_SETS = {"ws353": "wordsim353.tsv", "simlex999": "simlex999.txt"}
"""Sets that come with gensim, by the name used here: WordSim-353 and SimLex-999.

Finkelstein et al. 2002, "Placing Search in Context: The Concept Revisited", ACM TOIS 20. Hill,
Reichart and Korhonen 2015, "SimLex-999: Evaluating Semantic Models with (Genuine) Similarity
Estimation", Computational Linguistics 41.
"""


@dataclass(frozen=True)
class PairScore:
    """Agreement of a model with human ratings of word pairs.

    Attributes
    ----------
    spearman, pearson : float
        Correlations in [-1, 1] over the pairs used; NaN where fewer than two pairs are known.
    pairs : int
        Pairs in the file.
    used : int
        Pairs whose words are both known.
    """

    spearman: float
    pearson: float
    pairs: int
    used: int

    @property
    def oov_ratio(self) -> float:
        """Fraction of the pairs, in [0, 1], with a word that the model does not know."""
        return 1 - self.used / self.pairs

    def to_dict(self) -> dict[str, float | int | None]:
        """The values for JSON, with None for NaN."""
        values = asdict(self) | {"oov_ratio": self.oov_ratio}
        return {name: None if math.isnan(value) else value for name, value in values.items()}


def evaluate_pairs(
    vectors: KeyedVectors,
    pairs: str | os.PathLike[str],
    *,
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
) -> PairScore:
    """Correlate cosine similarities with human ratings.

    The measure is gensim's ``evaluate_word_pairs`` (pairs with an unknown word are left out); what
    is added is that any usual separator is read and that a bad line is an error, not a debug
    message.

    Parameters
    ----------
    vectors : KeyedVectors
    pairs : str or path
        A name of `NAMED_SETS`, or a file that `gensim_tfw2v.evaluation.files.read_pairs` reads.
    restrict_vocab : int
        Words after the first `restrict_vocab` count as unknown.
    case_insensitive : bool
        Match words whatever their case; the first (most frequent) variant is taken.

    Raises
    ------
    EvaluationFileError
        The file is empty or a line is not ``word word number``.
    OSError
        The file cannot be read.
    """
    rated = read_pairs(shipped(NAMED_SETS[pairs]) if pairs in NAMED_SETS else pairs)
    fold: Callable[[str], str] = str.upper if case_insensitive else str
    vectors = copy.copy(with_keys(vectors))  # gensim replaces their keys meanwhile
    known = {fold(word) for word in vectors.index_to_key[:restrict_vocab]}
    rated_known = [pair for pair in rated if fold(pair[0]) in known and fold(pair[1]) in known]
    if len(rated_known) < 2:
        return PairScore(math.nan, math.nan, len(rated), len(rated_known))
    lines = "".join(f"{first}\t{second}\t{rating}\n" for first, second, rating in rated_known)
    with TemporaryFolder("pairs") as folder:  # gensim takes a path only
        path = folder / "pairs.tsv"
        path.write_text(lines, encoding="utf-8")
        pearson, spearman, _ = vectors.evaluate_word_pairs(
            str(path), restrict_vocab=restrict_vocab, case_insensitive=case_insensitive
        )
    return PairScore(float(spearman[0]), float(pearson[0]), len(rated), len(rated_known))
