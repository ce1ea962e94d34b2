"""Quality of a file of vectors, the same for all tools: a request as JSON on stdin, JSON back.

A tool may write words in any order, and words that are not of the corpus, such as an end of
sentence. Here all are put in the order of the corpus's counts, so that "the most frequent words" of
an evaluation are the same for all.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

ALL_QUESTIONS = "analogies, all"


def counted(path: str) -> Counter[str]:
    """Count the words of a text, one sentence a line, words separated by white space."""
    counts: Counter[str] = Counter()
    with open(path, encoding="utf-8", errors="ignore") as lines:
        for line in lines:
            counts.update(line.split())
    return counts


def in_order(vectors: Any, words: list[str]) -> Any:
    """KeyedVectors with those of the words that have vectors, in the words' order."""
    from gensim.models import KeyedVectors

    kept = [word for word in words if word in vectors.key_to_index]
    result = KeyedVectors(vectors.vector_size)
    if kept:
        result.add_vectors(kept, vectors.vectors[[vectors.key_to_index[word] for word in kept]])
    return result


def main() -> None:
    """Evaluate what stdin asks for."""
    from gensim.models import KeyedVectors

    from benchmarks.one_run import evaluate
    from gensim_tfw2v.evaluation import evaluate_analogies

    asked = json.load(sys.stdin)
    with open(asked["words"], encoding="utf-8") as file:
        words = file.read().split("\n")
    loaded = KeyedVectors.load_word2vec_format(asked["vectors"], binary=asked["binary"])
    vectors = in_order(loaded, words)
    quality: dict[str, float | None] = {}
    if len(vectors):
        quality = evaluate(vectors, asked["pairs"])
        score = evaluate_analogies(vectors, metric="all")
        quality[ALL_QUESTIONS] = None if quality["analogies"] is None else score.total
    print(json.dumps({"vocabulary": len(vectors), "quality": quality}))


if __name__ == "__main__":
    main()
