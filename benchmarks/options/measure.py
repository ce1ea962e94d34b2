"""Training of a cell, and measurement of the resulting vectors."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import FastText, Word2Vec
from gensim.models.word2vec import LineSentence

from benchmarks.options.cells import Cell
from gensim_tfw2v import TFFastText, TFWord2Vec

#: Number of words, the most frequent ones, whose neighbours are compared.
N_QUERIES = 1000

#: Number of neighbours per word.
N_NEIGHBOURS = 10

#: Number of words, from the start of the corpus, on which losses are measured.
N_PREDICTED_WORDS = 20_000


def measure(cell: Cell, path: Path, engine: str, seed: int, **options: Any) -> dict[str, Any]:
    """Train with engine "gensim" or with this package; return norms, loss and neighbours.

    `options` are passed to the class, in addition to the cell's. The loss is the mean per
    prediction on the first words of the corpus, measured by this package for both engines.
    """
    our_class, gensim_class = (TFFastText, FastText) if cell.is_fasttext else (TFWord2Vec, Word2Vec)
    class_ = gensim_class if engine == "gensim" else our_class
    file_source: dict[str, Any] = {"corpus_file": str(path)}
    start = time.perf_counter()
    try:
        # From a corpus_file, gensim's result with hs depends on earlier training in the process.
        source = {"sentences": LineSentence(str(path))} if "hs" in cell.options else file_source
        model = class_(**source, seed=seed, **{"workers": 1} | cell.options | options)
    except ArithmeticError as error:
        return {"error": str(error)}
    seconds = time.perf_counter() - start
    vectors = model.wv.vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.isfinite(norms).all():
        return {"error": "not finite"}
    model = TFFastText.take_over(model) if cell.is_fasttext else TFWord2Vec.take_over(model)
    model.seed, model.cluster, model.regime, model.workers = 1, None, None, 1
    return {
        "seconds": seconds,
        "largest": float(norms.max()),
        "mean": float(norms.mean()),
        "loss": model.held_out_loss(_first_sentences(path)),
        "neighbours": neighbours(vectors).tolist(),
    }


def _first_sentences(path: Path) -> list[list[str]]:
    sentences: list[list[str]] = []
    n_words = 0
    for sentence in LineSentence(str(path)):
        sentences.append(sentence)
        n_words += len(sentence)
        if n_words >= N_PREDICTED_WORDS:
            break
    return sentences


def neighbours(vectors: np.ndarray) -> np.ndarray:
    """Return the rows of the k words nearest to each frequent word, [queries, k].

    k is `N_NEIGHBOURS`, or less in a small vocabulary.
    """
    n_neighbours = max(1, min(N_NEIGHBOURS, (len(vectors) - 1) // 4))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    scores = unit[:N_QUERIES] @ unit.T
    np.fill_diagonal(scores, -np.inf)
    return np.argpartition(-scores, n_neighbours, axis=1)[:, :n_neighbours]


def overlap(a: list[list[int]], b: list[list[int]]) -> float:
    """Return the mean fraction of a word's neighbours that two models have in common.

    `a` and `b` contain the rows of the neighbours of each word.
    """
    return float(np.mean([len({*x} & {*y}) / len(x) for x, y in zip(a, b, strict=True)]))
