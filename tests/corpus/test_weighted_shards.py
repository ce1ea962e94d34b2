"""Sentences with weights: reading and cutting shards, against a slow reference; frequencies."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gensim_tfw2v.corpus import shard_files, weighted_shard
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.corpus.sentence_weights import MAX_WEIGHT, draw_extra
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.corpus.shards import save_shard
from gensim_tfw2v.corpus.weighted_sentences import WeightedSentences
from gensim_tfw2v.corpus.weighted_shard import WeightedShard, find_sentences, insert_weights

WEIGHTS = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 2.75, 3.0, 7.0]) | st.floats(
    1 / 64, 4, width=32
)
SENTENCES = st.lists(
    st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=9), WEIGHTS), min_size=1, max_size=30
)


def plain_entries(sentences):
    return np.array([entry for words in sentences for entry in (*words, END)], np.int32)


def save_weighted(path, pairs):
    """Return the shard of pairs of words and a weight."""
    entries = plain_entries([words for words, _ in pairs])
    lengths = np.array([len(words) + 1 for words, _ in pairs])
    weights = np.array([weight for _, weight in pairs], np.float32)
    n_raw_words = round(sum(len(words) * weight for words, weight in pairs))
    n_sentences = round(sum(weight for _, weight in pairs))
    entries = insert_weights(entries, lengths, weights)
    return WeightedShard.from_file(save_shard(path, [entries], n_raw_words, n_sentences))


def repeated(pairs):
    """Return each sentence as often as its weight, rounded up."""
    return [words for words, weight in pairs for _ in range(math.ceil(weight))]


def slow_entries(pairs, epoch, training=0, first_entry=0):
    """Return the entries of `repeated`, with None for each entry that is left out of an epoch."""
    entries = []
    for words, weight in pairs:
        index = np.array([first_entry + len(entries)])
        (is_extra,) = draw_extra(np.array([weight]), index, epoch, training)
        n_copies = math.floor(weight) + is_extra
        for copy in range(math.ceil(weight)):
            entries += [*words, END] if copy < n_copies else [None] * (len(words) + 1)
    return entries


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 50), st.integers(0, 3), st.integers(0, 2), st.integers(0, 99))
def test_units_contain_the_entries_of_a_slow_reference(
    tmp_path_factory, pairs, size, epoch, training, first_entry
):
    pairs = [(words, float(np.float32(weight))) for words, weight in pairs]
    path = tmp_path_factory.mktemp("shards") / "shard.int32"
    shard = save_weighted(path, pairs).for_training(training, first_entry)
    expected = slow_entries(pairs, epoch, training, first_entry)
    assert shard.n_entries == len(expected)
    units = list(shard.cut([(0, shard.n_entries)], size, False))
    assert [unit.start for unit in units[1:]] == [unit.stop for unit in units[:-1]]
    assert units[0].start == 0 and units[-1].stop == shard.n_entries
    for unit in units:
        assert unit.stop - unit.start <= size
        kept = [entry for entry in expected[unit.start : unit.stop] if entry is not None]
        assert shard.read(unit.start, unit.stop, epoch).tolist() == kept
    assert sum(unit.tokens for unit in units) == shard.n_tokens
    assert sum(unit.raw_words for unit in units) == shard.n_raw_words
    assert sum(unit.sentences for unit in units) == shard.n_sentences


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(1, 50))
def test_units_of_integer_weights_are_those_of_repeated_sentences(tmp_path_factory, pairs, size):
    pairs = [(words, math.ceil(weight)) for words, weight in pairs]
    folder = tmp_path_factory.mktemp("shards")
    weighted = save_weighted(folder / "weighted.int32", pairs)
    n_raw_words = sum(map(len, repeated(pairs)))
    plain = save_shard(
        folder / "plain.int32",
        [plain_entries(repeated(pairs))],
        n_raw_words,
        len(repeated(pairs)),
    )
    gaps = [(0, plain.n_entries // 3), (plain.n_entries // 2, plain.n_entries)]
    units = list(weighted.cut(gaps, size, False))
    assert units == list(plain.cut(gaps, size, False))
    assert weighted.n_tokens == plain.n_tokens and weighted.n_entries == plain.n_entries
    for start, stop, *_ in units:
        np.testing.assert_array_equal(weighted.read(start, stop, 5), plain.read(start, stop))


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.data())
def test_expected_tokens_are_sums_of_probabilities(tmp_path_factory, pairs, data):
    shard = save_weighted(tmp_path_factory.mktemp("shards") / "shard.int32", pairs)
    probabilities = []  # of each entry, but 0 for ends
    for words, weight in pairs:
        for copy in range(math.ceil(np.float32(weight))):
            probability = min(1, float(np.float32(weight)) - copy)
            probabilities += [probability] * len(words) + [0]
    start = data.draw(st.integers(0, shard.n_entries - 1))
    stop = data.draw(st.integers(start + 1, shard.n_entries))
    tokens = sum(unit.tokens for unit in shard.cut([(start, stop)], 7, False))
    assert abs(tokens - sum(probabilities[start:stop])) <= 1 + 1e-6


def test_reading_needs_only_some_blocks_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(weighted_shard, "BLOCK_ENTRIES", 16)
    draws = np.random.default_rng(3)
    pairs = [
        (draws.integers(50, size=draws.integers(1, 30)).tolist(), float(weight))
        for weight in draws.uniform(0.1, 5, 400)
    ]
    pairs = [(words, float(np.float32(weight))) for words, weight in pairs]
    shard = save_weighted(tmp_path / "shard.int32", pairs)
    expected = slow_entries(pairs, 2)
    for start, stop in draws.integers(shard.n_entries, size=(50, 2)).tolist():
        start, stop = min(start, stop), max(start, stop)
        kept = [entry for entry in expected[start:stop] if entry is not None]
        assert shard.read(start, stop, 2).tolist() == kept
    sizes = []
    monkeypatch.setattr(
        weighted_shard.Shard,
        "read",
        lambda self, start, stop, epoch=0: (
            sizes.append(stop - start) or plain_entries([[1]] * ((stop - start) // 2))
        ),
    )
    shard.read(100, 110)
    assert sizes[-1] < 100 < shard._file.n_entries


def test_large_weights_are_read_without_all_copies(tmp_path):
    shard = save_weighted(tmp_path / "shard.int32", [([1], MAX_WEIGHT), ([2, 3], 1e9), ([4], 1)])
    n_first = 2 * int(MAX_WEIGHT)
    assert shard.n_entries == n_first + 3 * 10**9 + 2
    assert shard.read(n_first - 3, n_first + 4).tolist() == [END, 1, END, 2, 3, END, 2]
    units = list(shard.cut([(n_first - 50, n_first + 50)], 40, False))
    assert sum(unit.tokens for unit in units) == 25 + 33 + 1
    assert sum(unit.sentences for unit in units) == 25 + 16


def test_marks_hold_all_weights(tmp_path):
    weights = np.array([0.0, 1e-45, 1.2e-38, 0.1, 1, 1.5, 2**24 + 2, MAX_WEIGHT], np.float32)
    entries = plain_entries([[0]] * len(weights))
    marked = insert_weights(entries, np.full(len(weights), 2), weights)
    assert np.count_nonzero(marked < FIRST_TAG) == len(weights) - 3
    found = find_sentences(marked)
    np.testing.assert_array_equal(found.weights, weights[2:])
    assert marked[found.starts].tolist() == [0] * 6


def test_shards_are_pickled_without_what_they_have_read(tmp_path):
    shard = save_weighted(tmp_path / "shard.int32", [([1, 2], 2.5), ([3], 1.0)])
    entries = shard.read(0, shard.n_entries)
    copy = pickle.loads(pickle.dumps(shard))
    assert copy == shard and "_blocks" not in vars(copy) and "_blocks" in vars(shard)
    np.testing.assert_array_equal(copy.read(0, copy.n_entries), entries)
    assert shard.longest_sentence == 2
    assert not shard.tag_counts(3).any()


def test_extra_repetitions_have_the_weights_fractions():
    n_sentences, n_epochs = 200, 400
    fractions = np.linspace(0, 0.99, n_sentences)
    drawn = np.zeros(n_sentences, np.int64)
    for epoch in range(n_epochs):
        drawn += draw_extra(fractions + 3, np.arange(n_sentences) * 7, epoch)
    assert drawn[0] == 0
    variances = n_epochs * fractions[1:] * (1 - fractions[1:])
    statistic = ((drawn[1:] - n_epochs * fractions[1:]) ** 2 / variances).sum()
    assert 1e-3 < stats.chi2.sf(statistic, n_sentences - 1) < 1 - 1e-3


def test_draws_of_successive_sentences_epochs_and_trainings_are_independent():
    n = 100_000
    half = np.full(n, 0.5)
    one = draw_extra(half, np.arange(n), 0)
    others = [
        draw_extra(half, np.arange(1, n + 1), 0),
        draw_extra(half, np.arange(n), 1),
        draw_extra(half, np.arange(n), 0, training=1),
        draw_extra(half, np.arange(n) + (1 << 40), 0),
    ]
    for other in others:
        n_equal = int((one == other).sum())
        assert stats.binomtest(n_equal, n).pvalue > 1e-3
    np.testing.assert_array_equal(draw_extra(half[3:9], np.arange(3, 9), 0), one[3:9])


@pytest.mark.parametrize("max_entries", [40, 1000])
def test_draws_do_not_depend_on_shards_or_units(max_entries, monkeypatch):
    draws = np.random.default_rng(1)
    pairs = [
        ([f"w{word}" for word in draws.integers(9, size=draws.integers(0, 12))], weight)
        for weight in draws.uniform(0, 3, 150)
    ]
    with scan_corpus(WeightedSentences(pairs).open_corpus(False)) as scan:
        ids = {word: index for index, word in enumerate(scan.raw_vocab)}
        whole = scan.encode(ids)
        monkeypatch.setattr(shard_files, "SHARD_ENTRIES", max_entries)
        cut = encode_corpus(WeightedSentences(pairs).open_corpus(False), ids)
    with whole, cut:
        whole.begin_training(2)
        cut.begin_training(2)
        epochs = {}
        for epoch in range(3):
            epochs[epoch] = np.concatenate([unit.read(epoch) for unit in whole.units(10**6)])
            for corpus, size in ((whole, 13), (cut, 10**6), (cut, 13)):
                entries = np.concatenate([unit.read(epoch) for unit in corpus.units(size)])
                np.testing.assert_array_equal(entries, epochs[epoch])
        assert not np.array_equal(epochs[0], epochs[1])
        assert len(cut.units(10**6)) == (1 if max_entries == 1000 else len(cut._shards))
        assert cut.total_raw_words == whole.total_raw_words
        assert cut.total_sentences == whole.total_sentences
        assert whole.checksum == cut.checksum
        cut.recut()
        cut.begin_training(2)
        entries = np.concatenate([unit.read(1) for unit in cut.units(13)])
        np.testing.assert_array_equal(entries, epochs[1])


def test_entries_left_of_an_epoch_are_those_outside_of_earlier_units():
    pairs = [([f"w{index % 5}"] * (index % 7), index % 4 + 0.5) for index in range(60)]
    with scan_corpus(WeightedSentences(pairs).open_corpus(False)) as scan:
        corpus = scan.encode({word: index for index, word in enumerate(scan.raw_vocab)})
    with corpus:
        units = corpus.units(20)
        earlier = corpus.unit_ranges(units[3:7] + units[9:10])
        left = corpus.units(11, earlier)
        expected = [unit.read(1) for unit in units[:3] + units[7:9] + units[10:]]
        entries = np.concatenate([unit.read(1) for unit in left])
        np.testing.assert_array_equal(entries, np.concatenate(expected))
        n_earlier = sum(unit.raw_words for unit in units[3:7] + units[9:10])
        assert sum(unit.raw_words for unit in left) == corpus.total_raw_words - n_earlier
