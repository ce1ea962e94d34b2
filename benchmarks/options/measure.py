"""Train a cell, and measure the vectors."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import FastText, Word2Vec
from gensim.models.word2vec import LineSentence

from benchmarks.options.cells import Cell
from gensim_tfw2v import TFFastText, TFWord2Vec

#: The most frequent words, whose neighbours are compared, and how many neighbours.
QUERIES, NEIGHBOURS = 1000, 10

#: Words of the corpus on which losses are measured.
PREDICTED = 20_000


def measure(cell: Cell, path: Path, engine: str, seed: int, **options: Any) -> dict[str, Any]:
    """Train by "gensim", or by this package with more options: norms, loss and neighbours.

    The loss is a mean per prediction, measured alike of both: of the first words of the corpus.
    """
    ours, of_gensim = (TFFastText, FastText) if cell.is_fasttext else (TFWord2Vec, Word2Vec)
    class_ = of_gensim if engine == "gensim" else ours
    of_file: dict[str, Any] = {"corpus_file": str(path)}
    begin = time.perf_counter()
    try:
        # gensim's hierarchical softmax of a file depends on what its process has trained before
        source = {"sentences": LineSentence(str(path))} if "hs" in cell.options else of_file
        model = class_(**source, seed=seed, **{"workers": 1} | cell.options | options)
    except ArithmeticError as error:
        return {"error": str(error)}
    seconds = time.perf_counter() - begin
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
        "loss": model.held_out_loss(_beginning(path)),
        "neighbours": neighbours(vectors).tolist(),
    }


def _beginning(path: Path) -> list[list[str]]:
    sentences: list[list[str]] = []
    words = 0
    for sentence in LineSentence(str(path)):
        sentences.append(sentence)
        words += len(sentence)
        if words >= PREDICTED:
            break
    return sentences


def neighbours(vectors: np.ndarray) -> np.ndarray:
    """The nearest words of the most frequent ones, by cosine: [queries, k]; k is small if V is."""
    number = max(1, min(NEIGHBOURS, (len(vectors) - 1) // 4))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    scores = unit[:QUERIES] @ unit.T
    np.fill_diagonal(scores, -np.inf)
    return np.argpartition(-scores, number, axis=1)[:, :number]


def overlap(a: list[list[int]], b: list[list[int]]) -> float:
    """Share of neighbours that two lists have in common."""
    return float(np.mean([len({*x} & {*y}) / len(x) for x, y in zip(a, b, strict=True)]))
