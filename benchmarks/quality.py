"""Quality of vectors: word pairs and analogies, with gensim's results, and documents."""

import math
from typing import Any

#: Number of documents on which Doc2Vec is evaluated.
N_DOCUMENTS = 1000

#: Minimum number of words of these documents.
MIN_WORDS = 60

#: Number of words that may be answers to analogies, the most frequent ones: the same for all pages.
N_ANSWERS = 30_000


def spearman(vectors: Any, path: str) -> float | None:
    """Return the rank correlation with a file of word pairs; None if it is undefined."""
    try:
        value = float(vectors.evaluate_word_pairs(path)[1][0])
    except ValueError:  # no pair of the file is in the vocabulary
        return None
    return None if math.isnan(value) else value


def unknown_words(vectors: Any, path: str) -> tuple[float | None, int]:
    """Return the rank correlation of the pairs with an unknown word (FastText), and their number.

    The correlation is None if there are fewer than two such pairs.
    """
    from scipy.stats import spearmanr

    from gensim_tfw2v.evaluation import read_pairs

    scores = [
        (float(vectors.similarity(first, second)), score)
        for first, second, score in read_pairs(path)
        if not {first, second} <= vectors.key_to_index.keys()
    ]
    if len(scores) < 2:
        return None, len(scores)
    return float(spearmanr(*zip(*scores, strict=True)).statistic), len(scores)


def evaluate_documents(model: Any, corpus: str) -> dict[str, float]:
    """Evaluate a model of documents, which are the lines of a text, without labels.

    `N_DOCUMENTS` lines with at least `MIN_WORDS` words are drawn. ``halves`` is the fraction of
    lines whose first half is nearest to their own second half, by inferred vectors. ``itself`` is
    the fraction of lines whose inferred vector is nearest to their own trained vector.
    """
    import numpy as np

    with open(corpus, encoding="utf-8") as file:
        documents = [line.split() for line in file]
    long_documents = [tag for tag, words in enumerate(documents) if len(words) >= MIN_WORDS]
    tags = np.random.default_rng(1).permutation(long_documents)[:N_DOCUMENTS]
    texts = [documents[tag] for tag in tags]

    def infer_vectors(texts: list[list[str]]) -> Any:
        return np.stack([model.infer_vector(words) for words in texts])

    def matching_fraction(queries: Any, candidates: Any) -> float:
        queries, candidates = (
            x / np.linalg.norm(x, axis=1, keepdims=True) for x in (queries, candidates)
        )
        return float(np.mean((queries @ candidates.T).argmax(1) == np.arange(len(queries))))

    return {
        "halves": matching_fraction(
            infer_vectors([words[: len(words) // 2] for words in texts]),
            infer_vectors([words[len(words) // 2 :] for words in texts]),
        ),
        "itself": matching_fraction(infer_vectors(texts), model.dv.vectors[tags]),
    }


def evaluate(vectors: Any, pairs: dict[str, str]) -> dict[str, float | None]:
    """Return scores by name: on the sets that come with gensim, and on files of word pairs."""
    from gensim.test.utils import datapath

    from gensim_tfw2v.evaluation import evaluate_analogies

    files = {"WS353": datapath("wordsim353.tsv"), "SimLex999": datapath("simlex999.txt"), **pairs}
    scores = {name: spearman(vectors, path) for name, path in files.items()}
    analogies = evaluate_analogies(vectors, restrict_vocab=N_ANSWERS)
    scores["analogies"] = analogies.total if analogies.counted else None
    return scores


def evaluate_unknown(
    vectors: Any, pairs: dict[str, str]
) -> tuple[dict[str, float | None], dict[str, int]]:
    """Return scores of pairs with an unknown word, and their numbers, by name (FastText)."""
    found = {f"{name}, unknown": unknown_words(vectors, path) for name, path in pairs.items()}
    scores = {name: score for name, (score, _) in found.items()}
    return scores, {name: number for name, (_, number) in found.items()}
