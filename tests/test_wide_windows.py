"""Windows wider than any sentence: the same vectors by kernels with narrower windows."""

from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.draws import draw
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.sizes import NARROW_WINDOW, WIDEST_WINDOW, choose_window
from gensim_tfw2v.kernel.word_arrays import WordArrays
from tests.corpus.reference import encode_sentences
from tests.graph.unit_function import word_tensors

LEE = datapath("lee_background.cor")
SENTENCES = [[f"w{(7 * i + j) % 20}" for j in range(i % 19 + 1)] for i in range(60)]


@pytest.mark.parametrize(
    ("window", "longest", "expected"),
    [
        (5, 3, 5),
        (NARROW_WINDOW, 2, NARROW_WINDOW),
        *((1000, 0, NARROW_WINDOW), (1000, 17, 16), (1000, 18, 32), (1000, 33, 32)),
        *((1000, 34, 64), (1000, 500, 512), (1000, 10_000, 1000), (WIDEST_WINDOW, 10_000, 16384)),
    ],
)
def test_window_is_cut_to_the_longest_sentence(window, longest, expected):
    assert choose_window(window, longest) == expected
    assert expected >= min(window, longest - 1)


def test_longest_sentence_is_recorded_when_encoding(tmp_path):
    vocabulary = {f"w{number}": number for number in range(20)}
    with encode_sentences([["w1", "no", "w2"], ["w3"] * 5, [], ["w4"] * 3], vocabulary) as corpus:
        assert corpus.longest_sentence == 5
    with encode_sentences([["w1"] * 25_000], vocabulary) as corpus:
        assert corpus.longest_sentence == 10_000
    with encode_sentences([["no"]], vocabulary) as corpus:
        assert corpus.longest_sentence == 0


@pytest.mark.parametrize("side", ["inputs", "centres"])
@pytest.mark.parametrize("shrinks", [True, False])
def test_narrowed_window_draws_the_same_windows(side, shrinks):
    lengths = [1, 9, 4, 9, 2, 7]
    entries = np.concatenate([[*range(length), -1] for length in lengths]).astype(np.int32)
    found = []
    for window, max_window in ((40, None), (8, 40)):
        shape = StepShape(32, 8, window, 4, side)
        options = StepOptions(Objective(True, 0), shape, 1, shrinks, max_window)
        words = word_tensors(WordArrays.of(np.full(9, 0.8)))
        draws = draw(options, words, tf.constant(entries), tf.constant([1, 2]))
        windows = draws.windows.numpy().reshape(-1, shape.centres)
        if side == "centres":  # only the block's own positions
            windows = windows[:, window : window + shape.block]
        found.append(np.stack(np.divmod(windows, window + 1)).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "options", [{"sg": 1}, {"sg": 0, "shrink_windows": False}], ids=["skipgram", "cbow-fixed"]
)
def test_narrowed_window_trains_the_same_vectors(options, monkeypatch):
    # equal numbers of negatives per block
    monkeypatch.setattr("gensim_tfw2v.kernel.sizes.MAX_POSITION_NEGATIVES", 1)
    models = []
    for cut in (True, False):
        if not cut:
            monkeypatch.setattr("gensim_tfw2v.kernel.sizes.choose_window", lambda window, _: window)
        model = TFWord2Vec(
            SENTENCES, window=70, min_count=1, vector_size=4, workers=1, sample=0, **options
        )
        assert model.window == 70
        models.append(model)
    np.testing.assert_allclose(models[0].wv.vectors, models[1].wv.vectors, atol=1e-3)
    np.testing.assert_allclose(models[0].syn1neg, models[1].syn1neg, atol=1e-3)
    assert np.abs(models[0].syn1neg).max() > 1e-2


@pytest.mark.parametrize("regime", [None, "downpour"])
def test_window_of_a_million_words_trains(regime):
    model = TFWord2Vec(
        common_texts, window=1_000_000, min_count=1, vector_size=4, epochs=1, regime=regime
    )
    assert model.window == 1_000_000
    model.build_vocab([["new", "words"] * 10], update=True)  # a longer sentence than before
    model.train([["new", "words"] * 10], total_examples=1, epochs=1)
    assert np.isfinite(model.wv.vectors).all()


@pytest.mark.parametrize("shrink_windows", [True, False])
def test_vectors_of_wide_windows_stay_short(shrink_windows):
    sentences = [line.split() for line in Path(LEE).read_text("utf-8").splitlines()[:80]]
    model = TFWord2Vec(
        sentences, sg=1, window=60, shrink_windows=shrink_windows, vector_size=16, min_count=3,
        epochs=3, seed=3, workers=1,
    )  # fmt: skip
    # norms of gensim's vectors go up to 3
    assert 1 < np.linalg.norm(model.wv.vectors, axis=1).max() < 10
