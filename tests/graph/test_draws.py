"""The draws of a unit follow gensim's distributions."""

from typing import NamedTuple

import numpy as np
import pytest
from gensim.models import Word2Vec
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.draws import draw, in_halos
from gensim_tfw2v.graph.objectives import WindowBand
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.word_arrays import WordArrays, alias_table, noise_shares
from tests.graph.unit_function import word_tensors
from tests.kernel.native.units import DEFAULTS, words_of

SHAPE = StepShape(64, 16, 5, 8)


class Drawn(NamedTuple):
    """Tokens and the sides of their windows, [n] each, and negatives [blocks, S]."""

    tokens: np.ndarray
    left: np.ndarray
    right: np.ndarray
    negatives: np.ndarray


def by_graph(entries, key, keep, noise, shape, shrink, shards, max_window):
    options = StepOptions(Objective(True, 1), shape, 1, shrink, max_window, negative_shards=shards)
    words = word_tensors(WordArrays.of(keep)._replace(noise=noise))
    draws = draw(options, words, tf.constant(entries, tf.int32), tf.constant(key, tf.int32))
    windows, n = draws.windows.numpy().ravel(), int(draws.kept)
    left, right = windows // (shape.window + 1), windows % (shape.window + 1)
    assert not left[n:].any()
    assert not right[n:].any()
    negatives = draws.negatives.numpy().reshape(-1, shape.shared)
    return Drawn(draws.centres.numpy().ravel()[:n], left[:n], right[:n], negatives)


def by_kernels(entries, key, keep, noise, shape, shrink, shards, max_window):
    options = DEFAULTS._replace(
        **dict(shards=shards, shrink=shrink, window=shape.window, block=shape.block),
        **dict(shared=shape.shared, max_window=max_window or shape.window),
    )
    arrays = (np.array(array, np.int32) for array in (entries, key))
    unit = by_ctypes.draw(options, *arrays, words_of(keep=np.array(keep, np.float32), noise=noise))
    return Drawn(unit.targets, *unit.reaches.T, unit.negatives)


@pytest.fixture(params=[by_graph, by_kernels])
def draws_of(request):
    def draws_of(
        entries,
        key=(1, 2),
        keep=None,
        shape=SHAPE,
        shrink=True,
        vocabulary=50,
        shards=1,
        noise=None,
        max_window=None,
    ):
        keep = np.ones(vocabulary) if keep is None else keep
        noise = np.ones(len(keep)) if noise is None else noise
        table = alias_table(noise, shards)
        return request.param(entries, key, keep, table, shape, shrink, shards, max_window)

    return draws_of


def test_without_subsampling_all_tokens_are_kept_in_order(draws_of):
    entries = [*range(10), -1, *range(10, 25), -1]
    np.testing.assert_array_equal(draws_of(entries).tokens, np.arange(25))
    assert len(draws_of([]).tokens) == len(draws_of([-1, -1]).tokens) == 0


def test_block_inputs_are_its_tokens_and_a_halo():
    entries, shape = tf.constant([*range(10), -1, *range(10, 25), -1]), StepShape(16, 8, 3, 4)
    words = word_tensors(WordArrays.of(np.ones(50), np.ones(50)))
    draws = draw(
        StepOptions(Objective(False, 5, mean=True), shape, 1),
        words,
        entries,
        tf.constant([1, 2]),
    )
    halos = draws.inputs.numpy().reshape(-1, shape.halo)
    padded = np.concatenate([np.zeros(3), np.arange(25), np.zeros(10)])
    for block, halo in enumerate(halos):
        np.testing.assert_array_equal(halo, padded[block * 8 : block * 8 + shape.halo])


def test_windows_end_at_sentence_ends(draws_of):
    entries = [1, 2, 3, -1, 4, -1, 5, 6, 7, 8, 9, -1]
    draws = draws_of(entries, shape=StepShape(16, 16, 2, 4), shrink=False)
    np.testing.assert_array_equal(draws.left, [0, 1, 2, 0, 0, 1, 2, 2, 2])
    np.testing.assert_array_equal(draws.right, [2, 1, 0, 0, 2, 2, 2, 1, 0])


def test_last_sentence_needs_no_end_mark(draws_of):
    draws = draws_of([-1, 1, 2, -1, -1, 3, 4], shrink=False)
    np.testing.assert_array_equal(draws.left, [0, 1, 0, 1])
    np.testing.assert_array_equal(draws.right, [1, 0, 1, 0])


def test_windows_span_dropped_words(draws_of):
    # subsampling precedes windows, as in gensim: neighbours of a dropped word become adjacent
    keep = np.ones(50)
    keep[0] = 0.0
    draws = draws_of([1, 0, 0, 2, 0, 3, -1], keep=keep, shape=StepShape(16, 16, 2, 4), shrink=False)
    np.testing.assert_array_equal(draws.tokens, [1, 2, 3])
    np.testing.assert_array_equal(draws.right, [2, 1, 0])


@pytest.mark.parametrize("max_window", [None, 7, 20])
def test_shrunk_window_sizes_are_uniform(draws_of, max_window):
    draws = draws_of(
        np.ones(20000, np.int32), shape=StepShape(1024, 32, 5, 8), max_window=max_window
    )
    inner = draws.left[5:19000]
    np.testing.assert_array_equal(inner, draws.right[5:19000])
    assert inner.min() == 1
    # drawn from 1..max_window, and cut to 5
    expected = np.ones(5)
    expected[-1] += (max_window or 5) - 5
    observed = np.bincount(inner, minlength=6)[1:]
    assert stats.chisquare(observed, expected / expected.sum() * len(inner)).pvalue > 1e-3


def test_windows_and_subsampling_are_independent(draws_of):
    draws = draws_of([7] * 40_000, keep=np.full(50, 0.3), shape=StepShape(1024, 32, 5, 8))
    observed = np.bincount(draws.left[5:-5], minlength=6)[1:]
    assert stats.chisquare(observed).pvalue > 1e-3


def test_subsampling_keeps_words_at_gensims_rate(draws_of):
    rng = np.random.default_rng(0)
    words = rng.choice(60, 30000, p=(w := 1 / np.arange(1, 61)) / w.sum())
    model = Word2Vec(sample=0.01, min_count=1)
    model.build_vocab([[str(w) for w in words]])
    keep = (model.wv.expandos["sample_int"].astype(float) + 1) / 2**32
    ids = np.array([model.wv.key_to_index[str(w)] for w in words], np.int32)
    kept = np.zeros(60)
    rounds = 20
    for key in range(rounds):
        draws = draws_of(ids, key=(key, 0), keep=keep, shape=StepShape(64, 32, 2, 4))
        kept += np.bincount(draws.tokens, minlength=60)
    counts = model.wv.expandos["count"] * rounds
    z = (kept - counts * keep) / np.sqrt(np.maximum(counts * keep * (1 - keep), 1e-9) + 1e-9)
    assert np.abs(z[keep < 1]).max() < 4
    np.testing.assert_array_equal(kept[keep >= 1], counts[keep >= 1])


@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5])
def test_negatives_follow_the_unigram_distribution(draws_of, exponent):
    model = Word2Vec(min_count=1, ns_exponent=exponent)
    model.build_vocab_from_freq({f"w{i}": 1000 // (i + 1) + 1 for i in range(200)})
    noise = np.diff(model.cum_table, prepend=0)
    shape = StepShape(16, 16, 2, 64)
    draws = draws_of([0] * 50_000, (3, 4), np.ones(200), shape, noise=noise).negatives.ravel()
    assert len(draws) == 200_000
    expected = model.wv.expandos["count"].astype(float) ** exponent
    observed = np.bincount(draws, minlength=200)
    assert stats.chisquare(observed, expected / expected.sum() * len(draws)).pvalue > 1e-3


@pytest.mark.parametrize("shards", [2, 3, 8])
def test_each_block_has_negatives_of_each_shard(draws_of, shards):
    negatives = draws_of([0] * 20_000, vocabulary=1001, shards=shards).negatives
    np.testing.assert_array_equal(negatives % shards, [np.arange(8) % shards] * len(negatives))
    for shard in range(shards):
        of_shard = negatives[:, shard::shards].ravel()
        words = np.arange(shard, 1001, shards)
        # expected fraction of words that so few draws miss
        missed = np.exp(-len(of_shard) / len(words))
        assert len(np.unique(of_shard)) / len(words) == pytest.approx(1 - missed, abs=0.08)
        found = np.bincount(of_shard, minlength=1001)[words]
        assert stats.chisquare(found).pvalue > 1e-3


def test_negatives_within_a_shard_follow_the_weights(draws_of):
    weights = np.array([100, 10, 1, 50, 5, 0, 7, 3.0])
    shape = StepShape(16, 16, 2, 96)
    draws = draws_of([0] * 30_000, (3, 4), np.ones(8), shape, shards=3, noise=weights)
    for shard, of_shard in ((2, [2, 5]), (1, [1, 4, 7]), (0, [0, 3, 6])):
        drawn = draws.negatives[:, shard::3].ravel()[:60_000]
        found = np.bincount(drawn, minlength=8)
        expected = weights[of_shard] / weights[of_shard].sum() * 60_000
        assert found[of_shard].sum() == 60_000
        real = expected > 0
        assert not found[of_shard][~real].any()
        if real.sum() > 1:
            assert stats.chisquare(found[of_shard][real], expected[real]).pvalue > 1e-3


def test_shards_have_even_noise_weights():
    # Zipf's law: weights of shards differ by at most the weight of the most frequent word
    counts = (np.arange(1, 70_001) + 2.7) ** -1.15
    noise = counts**0.75
    for shards, most in ((2, 1.01), (8, 1.06), (32, 1.32)):
        of_shard = np.bincount(np.arange(70_000) % shards, noise)
        assert np.ptp(of_shard) <= noise.max()
        assert of_shard.max() / of_shard.mean() < most


def test_noise_shares_weight_shards_by_target_frequency():
    noise, frequency = np.array([4.0, 3, 2, 1]), np.array([0.5, 0.3, 0.1, 0.1])
    np.testing.assert_allclose(noise_shares(noise, frequency, 1), noise / 10)
    # 0.6 of the targets are in the first shard, whose two words are drawn 4 : 2
    np.testing.assert_allclose(noise_shares(noise, frequency, 2), [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(noise_shares(noise, frequency, 4), frequency)


@pytest.mark.parametrize("key", [(1, 3), (2, 2), (2, 1), (-1, 2), (1, -2), (0, 0)], ids=str)
def test_different_keys_give_different_draws(draws_of, key):
    entries = np.arange(50).repeat(20)
    same = draws_of(entries, key=(1, 2)), draws_of(entries, key=(1, 2))
    other = draws_of(entries, key=key)
    for a, b in zip(*same, strict=True):
        np.testing.assert_array_equal(a, b)
    # draws agree no more often than by chance
    assert (same[0].left == other.left).mean() < 0.3
    assert (same[0].negatives == other.negatives).mean() < 0.1


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(st.integers(0, 5), st.floats(0, 1e6), st.floats(1e-9, 1e-3)), min_size=1
    ).filter(lambda weights: sum(weights) > 1e-9)
)
def test_alias_table_reproduces_the_weights(weights):
    weights = np.array(weights, float)
    table = alias_table(weights)
    prob, alias = table[:, 0] / (2**31 - 1), table[:, 1]
    assert ((prob >= 0) & (prob <= 1)).all()
    chance = prob + np.bincount(alias, 1 - prob, minlength=len(weights))
    np.testing.assert_allclose(chance / len(weights), weights / weights.sum(), atol=1e-8)


def test_window_band_marks_the_inputs_of_each_window():
    shape = StepShape(16, 4, 3, 2)
    left, right = np.array([[0, 3, 1, 2], [0, 0, 3, 1]]), np.array([[2, 3, 0, 1], [0, 1, 3, 3]])
    windows = tf.constant(left * 4 + right, tf.int32)
    rows = WindowBand(shape, False, tf.float32).unpack(windows).numpy()
    shares = WindowBand(shape, True, tf.float32).unpack(windows).numpy()
    for block in range(2):
        for b in range(4):
            before, after = left[block, b], right[block, b]
            expected = [*range(b + 3 - before, b + 3), *range(b + 4, b + 4 + after)]
            np.testing.assert_array_equal(np.flatnonzero(rows[block, b]), expected)
            assert set(rows[block, b]) <= {0.0, 1.0}
            np.testing.assert_allclose(
                shares[block, b], rows[block, b] / max(1, before + after), rtol=1e-6
            )


def test_window_band_of_halo_centres_marks_the_block_inputs():
    shape = StepShape(16, 4, 3, 2, "centres")
    left, right = np.random.default_rng(0).integers(0, 4, (2, 5, shape.halo))
    windows = tf.constant(left * 4 + right, tf.int32)
    rows = WindowBand(shape, False, tf.float32).unpack(windows).numpy()
    for block in range(5):
        for h in range(shape.halo):
            window = {*range(h - left[block, h], h + right[block, h] + 1)} - {h}
            np.testing.assert_array_equal(
                np.flatnonzero(rows[block, h]), sorted(i - 3 for i in window if 3 <= i < 7)
            )


@pytest.mark.parametrize("window", [1, 3, 8, 11, 20])
@pytest.mark.parametrize("tokens", [29, 32])
def test_wide_halo_spans_several_blocks(window, tokens):
    shape = StepShape(16, 4, window, 1)
    ids = np.arange(1, tokens + 1)
    halos = in_halos(tf.constant(ids, tf.int32), shape, tf.constant(8)).numpy()
    padded = np.pad(ids, (window, window + 32 - tokens))
    np.testing.assert_array_equal(
        halos, padded[np.arange(0, 32, 4)[:, None] + np.arange(shape.halo)]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4, 1, 1), "tokens must be at least 1"),
        ((16, 0, 1, 1), "block must be"),
        ((16, 4, 0, 1), "window must be"),
        ((16, 4, 1, 0), "shared must be"),
        ((17, 4, 1, 1), "try 16"),
        ((16, 4, 1, 1, "outputs"), "halo_side must be"),
    ],
)
def test_invalid_step_shapes_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        StepShape(*arguments)
