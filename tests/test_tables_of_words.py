"""Words that occur often in a few passages, such as lists and tables."""

import numpy as np
import pytest
from gensim.models import Word2Vec

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.objective import Objective


def text(tables):
    """Sentences of Zipf-distributed words, and `tables` tables of two words of their own."""
    draws = np.random.default_rng(0)
    words = np.minimum(draws.zipf(1.3, (2500, 20)), 3000)
    sentences = [[f"w{word}" for word in sentence] for sentence in words]
    for table in range(tables):
        sentences.insert(draws.integers(len(sentences)), [f"a{table}", f"b{table}"] * 100)
    return sentences


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
def test_vectors_of_such_words_are_about_as_long_as_gensims(options, monkeypatch):
    monkeypatch.setattr(sizes, "SMALL_CORPUS", 0)  # train in blocks, as on a large corpus
    common = {"sg": 1, "epochs": 5, "workers": 1, "seed": 1, "min_count": 1}
    longest = {}
    for tables in (0, 40):
        sentences = text(tables)
        ours = TFWord2Vec(sentences, **common, **options)
        gensims = Word2Vec(sentences, **common)
        longest[tables] = [np.linalg.norm(m.wv.vectors, axis=1).max() for m in (ours, gensims)]
    print(longest)
    assert longest[40][1] > longest[0][1]  # these words have the longest vectors
    assert longest[40][0] < 1.3 * longest[40][1]


@pytest.mark.parametrize(
    ("options", "repeats"),
    [
        ({}, 4),
        ({"alpha": 0.01}, 11),
        ({"window": 1, "pairs": 2}, 13),
        ({"alpha": 0.0}, 32),
        ({"negative": 1, "alpha": 0.005}, 32),
    ],
    ids=str,
)
def test_occurrences_in_a_block_are_limited_by_the_effective_step(options, repeats):
    chosen = {"tokens": 12_000_000, "window": 5, "pairs": 6, "negative": 5} | options
    shape = sizes.choose_kernel_shape(Objective(True, chosen.pop("negative")), **chosen)
    assert (shape.block, shape.repeats) == (32, repeats)
