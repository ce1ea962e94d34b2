"""Quality of vectors: word pairs by gensim's function, analogies with counts equal to gensim's."""

import math
from typing import Any


def spearman(vectors: Any, path: str) -> float | None:
    """Return the rank correlation with a file of word pairs; None if it is undefined."""
    try:
        value = float(vectors.evaluate_word_pairs(path)[1][0])
    except ValueError:  # no pair of the file is in the vocabulary
        return None
    return None if math.isnan(value) else value


def unknown_words(vectors: Any, path: str) -> float | None:
    """Return the rank correlation of the pairs with a word outside of the vocabulary (FastText)."""
    from scipy.stats import spearmanr

    from gensim_tfw2v.evaluation import read_pairs

    scores = [
        (float(vectors.similarity(first, second)), score)
        for first, second, score in read_pairs(path)
        if not {first, second} <= vectors.key_to_index.keys()
    ]
    return float(spearmanr(*zip(*scores, strict=True)).statistic) if len(scores) > 1 else None


def evaluate(vectors: Any, pairs: dict[str, str]) -> dict[str, float | None]:
    """Return scores on the sets that come with gensim, and on named files of word pairs."""
    from gensim.test.utils import datapath

    from gensim_tfw2v.evaluation import evaluate_analogies

    files = {"WS353": datapath("wordsim353.tsv"), "SimLex999": datapath("simlex999.txt"), **pairs}
    scores = {name: spearman(vectors, path) for name, path in files.items()}
    analogies = evaluate_analogies(vectors, metric="gensim")
    if hasattr(vectors, "vectors_ngrams"):
        scores |= {f"{name}, unknown": unknown_words(vectors, path) for name, path in pairs.items()}
    scores["analogies"] = analogies.total if analogies.counted else None
    return scores
