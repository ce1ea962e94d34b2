"""Quality of a file of vectors, evaluated in the same way for all tools.

A tool may write words in any order, and tokens that are not in the corpus, such as an end of
sentence. Such tokens are dropped, and words are sorted by their counts in the corpus, so that "the
most frequent words" of an evaluation are the same for all tools.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.quality import evaluate

#: Name of the score on all questions, including those with unknown words.
ALL_QUESTIONS = "analogies, all"


def count_words(path: str) -> Counter[str]:
    """Count the words of a text file, which are separated by white space."""
    counts: Counter[str] = Counter()
    with open(path, encoding="utf-8", errors="ignore") as lines:
        for line in lines:
            counts.update(line.split())
    return counts


def in_order(vectors: Any, words: list[str]) -> Any:
    """Return KeyedVectors of the words in `words` that have vectors, in the order of `words`."""
    from gensim.models import KeyedVectors

    known_words = [word for word in words if word in vectors.key_to_index]
    result = KeyedVectors(vectors.vector_size)
    if known_words:
        result.add_vectors(
            known_words, vectors.vectors[[vectors.key_to_index[word] for word in known_words]]
        )
    return result


def evaluate_file(vectors: str, binary: bool, words: str, pairs: dict[str, str]) -> dict[str, Any]:
    """Return the vocabulary size and the quality of a file of vectors in word2vec's format.

    `words` is a file that lists the corpus's words by descending count. Only their vectors count.
    """
    from gensim.models import KeyedVectors

    from gensim_tfw2v.evaluation import evaluate_analogies

    all_vectors = KeyedVectors.load_word2vec_format(vectors, binary=binary)
    ordered = in_order(all_vectors, Path(words).read_text(encoding="utf-8").split("\n"))
    quality: dict[str, float | None] = {}
    if len(ordered):
        quality = evaluate(ordered, pairs)
        score = evaluate_analogies(ordered, metric="all")
        quality[ALL_QUESTIONS] = None if quality["analogies"] is None else score.total
    return {"vocabulary": len(ordered), "quality": quality}
