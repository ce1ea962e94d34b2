"""Train sub-models on samples of a corpus independently, and merge them into one model.

Run it with ``python examples/sub_models.py``; the corpus, 300 news texts, comes with gensim. It
prints how many words are in all sub-models and how many in fewer, and the neighbours of three
words: first for sub-models of one training run, then for two models trained separately.
"""

from typing import Any

from gensim.models import KeyedVectors
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import SubModels, TFWord2Vec, merge_models


def show(vectors: KeyedVectors) -> None:
    """Print neighbours of three words."""
    for word in ("attacks", "government", "cricket"):
        neighbours = vectors.most_similar(word, topn=5)
        print(
            f"{word}: " + ", ".join(f"{neighbour} {cosine:.2f}" for neighbour, cosine in neighbours)
        )


def main() -> None:
    """Train and merge with ``regime=SubModels``, and with `merge_models`."""
    sentences = list(LineSentence(datapath("lee_background.cor")))
    options: dict[str, Any] = {"vector_size": 50, "sg": 1, "epochs": 30, "alpha": 0.05, "seed": 1}

    # With cluster="...", the workers would train the sub-models in parallel.
    model = TFWord2Vec(sentences, regime=SubModels(models=3, sampling="shuffle"), **options)
    print(model.merge_report)
    show(model.wv)

    halves = [TFWord2Vec(sentences[half::2], **options) for half in (0, 1)]
    merged = merge_models(halves, method="alir")
    print(merged.merge_report)
    show(merged.wv)


if __name__ == "__main__":
    main()
