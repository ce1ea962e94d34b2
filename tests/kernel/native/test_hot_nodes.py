"""Copies of the most frequent nodes, which each of several threads trains."""

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from tests.kernel.native.units import DOCUMENTS, OBJECTIVES, kernels_here, make_case, trained_by

#: Options of CBOW with hierarchical softmax, by name.
TREES = {
    name: changes
    for name, changes in (OBJECTIVES | DOCUMENTS).items()
    if changes.get("hierarchical") and not changes.get("skipgram", 1)
}


def train(case, threads):
    """Train on paths from the root down: a node has a larger number than its children."""
    paths = [np.sort(path)[::-1] for path in case.paths]
    tables = case._replace(paths=paths).trained()
    result = tables.train(case.options, case.unit, case.alphas, loss_every=1, threads=threads)
    return tables.rows, result


@pytest.mark.parametrize("kernel", kernels_here())
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize(
    "changes",
    [
        {"size": 100, "tokens": 600},
        {"size": 7, "tokens": 601, "vocabulary": 900},  # more nodes than copies
        {"size": 1000, "vocabulary": 900},  # fewer copies, because they are large
        {"vocabulary": 2, "tokens": 300},
        {"learn_hidden": 0},
        {"tokens": 0},
    ],
    ids=str,
)
def test_thread_that_is_alone_trains_copies_like_the_nodes(name, changes, kernel):
    case = make_case(**TREES[name] | changes)
    with trained_by(kernel):
        rows, result = train(case, 1)
        for threads in (2, 100):
            rows_of_copies, result_of_copies = train(case, threads)
            for found, expected in zip(rows_of_copies, rows, strict=True):
                # adding a change to a row rounds differently than training the row
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
            assert result_of_copies.loss == pytest.approx(result.loss, rel=1e-5)
            assert result_of_copies.predictions == result.predictions


def test_subwords_train_copies_like_the_nodes():
    case = make_case(ngrams=5, weights=True, tokens=600, **TREES["CBOW with a tree"])
    for found, expected in zip(train(case, 2)[0], train(case, 1)[0], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_changes_of_all_threads_are_in_the_nodes():
    sentences = [[f"word {number % 40}" for number in range(1000)] for _ in range(300)]
    losses = {}
    for workers in (1, 4):
        model = TFWord2Vec(
            sentences,
            **dict(hs=1, negative=0, vector_size=20, workers=workers, seed=1, compute_loss=True),
        )
        losses[workers] = model.mean_losses[-1]
    assert losses[4] == pytest.approx(losses[1], rel=0.1)
