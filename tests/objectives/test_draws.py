"""The draws of a unit follow gensim's distributions."""

import numpy as np
import pytest
from gensim.models import Word2Vec
from scipy import stats

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape, reach_tables
from gensim_tfw2v.objectives.draws import draw, draw_words


def draws_of(entries, key=(1, 2), keep=None, shape=None, shrink=True, vocabulary=50):
    shape = shape or StepShape(64, 16, 5, 8)
    keep = np.ones(vocabulary) if keep is None else keep
    cum_table = np.linspace(0, 2**31 - 1, vocabulary + 1)[1:].astype(np.int32)
    return draw(
        tf.constant(entries, tf.int32),
        tf.constant(key, tf.int32),
        tf.constant(keep, tf.float32),
        tf.constant(cum_table),
        shape,
        shrink,
    )


def test_tokens_keep_their_order_and_place():
    entries = [*range(10), -1, *range(10, 25), -1]
    shape = StepShape(16, 8, 3, 4)
    draws = draws_of(entries, shape=shape)
    centres = draws.outputs.numpy()[:, :, :8].reshape(-1)
    np.testing.assert_array_equal(centres[:25], np.arange(25))
    assert draws.kept == 25
    halos = draws.inputs.numpy().reshape(-1, shape.halo)
    padded = np.concatenate([np.zeros(3), np.arange(25), np.zeros(10)])
    for block, halo in enumerate(halos):
        np.testing.assert_array_equal(halo, padded[block * 8 : block * 8 + shape.halo])


def test_windows_end_at_sentence_ends():
    entries = [1, 2, 3, -1, 4, -1, 5, 6, 7, 8, 9, -1]
    draws = draws_of(entries, shape=StepShape(16, 16, 2, 4), shrink=False)
    np.testing.assert_array_equal(draws.left.numpy().ravel()[:9], [0, 1, 2, 0, 0, 1, 2, 2, 2])
    np.testing.assert_array_equal(draws.right.numpy().ravel()[:9], [2, 1, 0, 0, 2, 2, 2, 1, 0])
    assert not draws.left.numpy().ravel()[9:].any()
    assert not draws.right.numpy().ravel()[9:].any()


def test_windows_span_dropped_words():
    # subsampling comes before windows, as in gensim: neighbours of a dropped word become adjacent
    keep = np.ones(50)
    keep[0] = 0.0
    draws = draws_of([1, 0, 0, 2, 0, 3, -1], keep=keep, shape=StepShape(16, 16, 2, 4), shrink=False)
    np.testing.assert_array_equal(draws.outputs.numpy().ravel()[:3], [1, 2, 3])
    np.testing.assert_array_equal(draws.right.numpy().ravel()[:3], [2, 1, 0])


def test_reduced_windows_are_uniform():
    draws = draws_of(np.ones(20000, np.int32), shape=StepShape(1024, 32, 5, 8))
    inner = draws.left.numpy().ravel()[5:19000]
    np.testing.assert_array_equal(inner, draws.right.numpy().ravel()[5:19000])
    observed = np.bincount(inner, minlength=6)[1:]
    assert inner.min() == 1
    assert stats.chisquare(observed).pvalue > 1e-3


def test_subsampling_keeps_words_at_gensims_rate(tmp_path):
    rng = np.random.default_rng(0)
    words = rng.choice(60, 30000, p=(w := 1 / np.arange(1, 61)) / w.sum())
    model = Word2Vec(sample=0.01, min_count=1)
    model.build_vocab([[str(w) for w in words]])
    keep = (model.wv.expandos["sample_int"].astype(float) + 1) / 2**32
    ids = np.array([model.wv.key_to_index[str(w)] for w in words], np.int32)
    kept = np.zeros(60)
    rounds = 20
    for key in range(rounds):
        draws = draws_of(ids, key=(key, 0), keep=keep, shape=StepShape(64, 32, 2, 4), vocabulary=60)
        n = int(draws.kept)
        kept += np.bincount(draws.outputs.numpy()[:, :, :32].reshape(-1)[:n], minlength=60)
    counts = model.wv.expandos["count"] * rounds
    z = (kept - counts * keep) / np.sqrt(np.maximum(counts * keep * (1 - keep), 1e-9) + 1e-9)
    assert np.abs(z[keep < 1]).max() < 4
    np.testing.assert_array_equal(kept[keep >= 1], counts[keep >= 1])


@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5])
def test_negatives_follow_the_unigram_distribution(exponent):
    model = Word2Vec(min_count=1, ns_exponent=exponent)
    model.build_vocab_from_freq({f"w{i}": 1000 // (i + 1) + 1 for i in range(200)})
    cum_table = tf.constant(model.cum_table.astype(np.int32))
    draws = draw_words(tf.constant([3, 4]), tf.constant(200_000), cum_table).numpy()
    expected = model.wv.expandos["count"].astype(float) ** exponent
    observed = np.bincount(draws, minlength=200)
    assert stats.chisquare(observed, expected / expected.sum() * len(draws)).pvalue > 1e-3


def test_other_keys_give_other_draws():
    entries = np.arange(50).repeat(20)
    same = draws_of(entries, key=(1, 2)), draws_of(entries, key=(1, 2))
    other = draws_of(entries, key=(1, 3))
    for a, b in zip(*same, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (same[0].left.numpy() != other.left.numpy()).any()
    assert (same[0].outputs.numpy() != other.outputs.numpy()).any()


def test_reach_tables_are_the_band():
    shape = StepShape(16, 4, 3, 2)
    left, right = (table.reshape(4, 4, shape.halo) for table in reach_tables(shape))
    for b in range(4):
        for reach in range(4):
            np.testing.assert_array_equal(
                np.flatnonzero(left[b, reach]), np.arange(b + 3 - reach, b + 3)
            )
            np.testing.assert_array_equal(
                np.flatnonzero(right[b, reach]), np.arange(b + 4, b + 4 + reach)
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4, 1, 1), "tokens must be at least 1"),
        ((16, 0, 1, 1), "block must be"),
        ((16, 4, 0, 1), "window must be"),
        ((16, 4, 1, 0), "shared must be"),
        ((17, 4, 1, 1), "try 16"),
    ],
)
def test_impossible_shapes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        StepShape(*arguments)
