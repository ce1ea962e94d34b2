"""Quality of node vectors: F1 scores of the labels that a classifier predicts from them."""

from typing import Any

#: Share of the labelled nodes that the classifier is trained on.
TRAIN_SHARE = 0.5

#: Number of random splits of the nodes, which are the same for all tools and seeds.
N_SPLITS = 5


def evaluate_file(vectors: str, labels: str) -> dict[str, Any]:
    """Return the F1 scores of a file of vectors in word2vec's text format.

    `vectors` is the number of labelled nodes that have a vector. Only these nodes count.
    """
    from gensim.models import KeyedVectors

    from gensim_tfw2v.evaluation import evaluate_labels

    score = evaluate_labels(
        KeyedVectors.load_word2vec_format(vectors),
        labels,
        train_shares=(TRAIN_SHARE,),
        n_splits=N_SPLITS,
    )
    (f1,) = score.f1
    return {"vectors": score.used, "quality": {"micro-F1": f1.micro, "macro-F1": f1.macro}}
