"""Arrays with an element per word: the same bits in blocks of any size, with little memory."""

import tracemalloc

import numpy as np
import pytest

from gensim_tfw2v.kernel import word_arrays
from gensim_tfw2v.kernel.word_arrays import (
    Lists,
    WordArrays,
    alias_table,
    blocks,
    count_kept,
    noise_shares,
    pair_rates,
    survival,
)
from gensim_tfw2v.training.vocabulary import Vocabulary

VOCABULARY = 1000


@pytest.fixture(params=[1, 7, 64, VOCABULARY, 10**6])
def block_size(request, monkeypatch):
    monkeypatch.setattr(word_arrays, "WORDS_AT_A_TIME", request.param)
    return request.param


def slow_alias_table(weights):
    """Fill the buckets sequentially (see `alias_table`), with sums in the same order."""
    size = weights * (len(weights) / weights.sum())
    limit = min(1.0, size.max())
    heavy = np.flatnonzero(size >= limit)
    excess = np.cumsum(size[heavy] - 1.0)
    prob, alias = np.ones(len(size)), np.arange(len(size))
    rooms, room = [0.0], 0.0
    for word in np.flatnonzero(size < limit):
        filler = next((i for i, total in enumerate(excess) if total > room), len(heavy) - 1)
        prob[word], alias[word] = size[word], heavy[filler]
        room += 1.0 - size[word]
        rooms.append(room)
    for i in range(len(heavy) - 1 if len(rooms) > 1 else 0):
        filled = next((total for total in rooms if total >= excess[i]), rooms[-1])
        prob[heavy[i]], alias[heavy[i]] = 1.0 - (filled - excess[i]), heavy[i + 1]
    return np.stack([np.rint(np.clip(prob, 0, 1) * (2**31 - 1)), alias], 1).astype(np.int32)


def some_weights(name):
    rng = np.random.default_rng(3)
    return {
        "descending": np.sort(rng.pareto(1.0, VOCABULARY) * 1000).astype(np.uint32)[::-1],
        "random": rng.integers(0, 100, VOCABULARY).astype(np.uint32),
        "floats": rng.random(VOCABULARY) ** 8,
        "equal": np.full(VOCABULARY, 7, np.uint32),
        "nearly equal": np.append(np.full(VOCABULARY - 1, 1000), 1001).astype(np.uint32),
        "one word": np.append(np.zeros(VOCABULARY - 1), 1).astype(np.uint32),
        "two words": np.arange(1, 3, dtype=np.uint32),
        "single": np.array([5], np.uint32),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["descending", "random", "floats", "equal", "nearly equal", "one word", "two words", "single"],
)
def test_alias_table_equals_the_slow_loop(name, block_size):
    weights = some_weights(name)
    table = alias_table(weights)
    assert table.dtype == np.int32
    np.testing.assert_array_equal(table, slow_alias_table(weights))


@pytest.mark.parametrize("n_shards", [2, 7])
def test_alias_table_of_shards_is_that_of_each_shard(n_shards, block_size):
    weights = some_weights("random")
    table = alias_table(weights, n_shards)
    for shard in range(n_shards):
        expected = slow_alias_table(weights[shard::n_shards])
        np.testing.assert_array_equal(table[shard::n_shards, 0], expected[:, 0])
        np.testing.assert_array_equal(table[shard::n_shards, 1], shard + n_shards * expected[:, 1])


@pytest.mark.parametrize("n_words", [0, 1, 63, 64, 65, 1000])
def test_blocks_contain_each_word_once(n_words, block_size):
    words = [word for block in blocks(n_words) for word in range(block.start, block.stop)]
    assert words == list(range(n_words))


@pytest.mark.parametrize("n_words", [0, 1, 1000, 123_457])
def test_kept_tokens_have_the_bits_of_numpys_sum(n_words, monkeypatch):
    rng = np.random.default_rng(4)
    counts, keep = rng.integers(0, 10**6, n_words), rng.random(n_words).astype(np.float32)
    kept_counts = counts * keep
    for block_size in (128, 1000, 10**6):
        monkeypatch.setattr(word_arrays, "WORDS_AT_A_TIME", block_size)
        expected = kept_counts.sum(), kept_counts.max(initial=0.0)
        assert count_kept(counts, keep) == expected


def test_survival_is_gensims_probability(block_size):
    thresholds = np.append(np.uint32(2**32 - 1), np.arange(0, 2**32, 2**22 + 1, dtype=np.uint32))
    expected = (thresholds.astype(np.float64) + 1) / 2**32
    np.testing.assert_array_equal(survival(thresholds), expected.astype(np.float32))
    np.testing.assert_array_equal(survival(thresholds, np.float64), expected)
    assert survival(thresholds)[0] == 1


@pytest.mark.parametrize("n_shards", [1, 3])
def test_shares_of_noise_follow_the_targets_of_each_shard(n_shards, block_size):
    noise = some_weights("random")
    frequency = np.random.default_rng(5).random(VOCABULARY)
    shares = noise_shares(noise, frequency, n_shards)
    shard = np.arange(VOCABULARY) % n_shards
    target_sums, noise_sums = (np.bincount(shard, values) for values in (frequency, noise))
    expected = noise / noise_sums[shard] * target_sums[shard] / frequency.sum()
    np.testing.assert_array_equal(shares, expected)
    assert shares.sum() == pytest.approx(1)


def some_lists():
    rng = np.random.default_rng(6)
    lengths = rng.integers(0, 9, VOCABULARY)
    return Lists.of([rng.integers(0, 2 * VOCABULARY, length) for length in lengths])


def test_rates_do_not_depend_on_the_size_of_blocks(block_size, monkeypatch):
    frequency = np.random.default_rng(7).random(VOCABULARY)
    frequency /= frequency.sum()
    arguments = (4.0, True, 5, some_weights("random"), some_lists(), np.array([0.5, 0.1]))
    rates = pair_rates(frequency, *arguments)
    monkeypatch.setattr(word_arrays, "WORDS_AT_A_TIME", 10**6)
    for rate, expected in zip(rates, pair_rates(frequency, *arguments), strict=True):
        assert rate.dtype == np.float32
        np.testing.assert_array_equal(rate, expected)


def peak_memory(call, n_words):
    """Return the bytes per word that a call allocates at its peak, with its result."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1] / n_words, result
    finally:
        tracemalloc.stop()


def large_vocabulary(n_words):
    counts = np.maximum(1, 3 * n_words // np.arange(1, n_words + 1))
    keep = np.ones(n_words, np.float32)
    noise = np.maximum(1, counts**0.75).astype(np.uint32)
    return Vocabulary(counts, keep, noise, None, None)


def test_arrays_of_two_million_words_take_little_memory_while_they_are_made():
    n_words = 2_000_000
    vocabulary = large_vocabulary(n_words)
    peak, words = peak_memory(lambda: vocabulary.words(1), n_words)
    assert words.noise.nbytes == 8 * n_words
    assert words.keep is vocabulary.keep
    assert peak < 20
    peak, _ = peak_memory(lambda: (vocabulary.kept_share, vocabulary.most_frequent), n_words)
    assert peak < 6
    frequency = vocabulary.counts / vocabulary.counts.sum()
    peak, shares = peak_memory(lambda: noise_shares(vocabulary.noise, frequency, 1), n_words)
    assert peak < 14
    peak, _ = peak_memory(lambda: pair_rates(frequency, 4, True, 5, shares, None), n_words)
    assert peak < 14


def test_arrays_without_negatives_and_tree_are_empty():
    words = WordArrays.of(np.ones(3))
    assert words.noise.shape == (0, 2)
    assert [len(array) for array in words.tree] == [0, 0]
