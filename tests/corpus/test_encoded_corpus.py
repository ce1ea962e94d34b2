"""Shards, and units cut from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.corpus.entry_ranges import shares, unit_edges
from gensim_tfw2v.corpus.shard_files import SHARD_ENTRIES
from gensim_tfw2v.corpus.shards import Shard, check_shards, save_ids
from tests.corpus.reference import encode_sentences, encode_texts

SENTENCES = [["a", "b", "x"], ["x"], [], ["b", "b"]]
KNOWN = {"a": 0, "b": 1}


def test_units_end_at_sentence_ends():
    ends = np.arange(10, 1001, 10)
    edges = unit_edges(ends, 1000, 128)
    assert set(edges[1:]) <= set(ends.tolist())
    assert max(np.diff(edges)) <= 128 and min(np.diff(edges)) > 64


def test_sentence_longer_than_a_unit_is_cut():
    assert unit_edges(np.array([1000]), 1000, 300) == [0, 250, 500, 750, 1000]


def test_shares_sum_to_the_total():
    assert shares(10, [0, 1, 2, 3]) == [3, 3, 4]
    assert shares(0, [0, 5]) == [0]
    assert shares(7, [0, 0, 2]) == [0, 7]


def test_shards_are_bounded_and_hold_whole_sentences(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b a\nb b\n" * 1_800_000)
    with encode_texts([path], KNOWN) as corpus:
        units = corpus.units(10 * SHARD_ENTRIES)
        assert len(units) == 4
        for unit in units:
            ids = unit.read()
            assert ids.dtype == np.int32 and len(ids) <= SHARD_ENTRIES and ids[-1] == -1
            assert unit.tokens == np.count_nonzero(ids >= 0) == unit.raw_words
            assert unit.sentences == np.count_nonzero(ids == -1)
        small = corpus.units(1 << 16)
        assert sum(unit.tokens for unit in small) == corpus.total_tokens == 9_000_000


def test_unit_size_of_zero_is_rejected():
    with encode_sentences(SENTENCES, KNOWN) as corpus, pytest.raises(ValueError, match="at least"):
        corpus.units(0)


def test_missing_or_truncated_shards_are_rejected(tmp_path):
    shard = Shard(str(tmp_path / "00000.int32"), 3, 2, 2, 1)
    with pytest.raises(ValueError, match="missing"):
        check_shards([shard])
    save_ids(Path(shard.path), np.array([1, 2, -1], np.int32))
    check_shards([shard])
    with pytest.raises(ValueError, match="cut short"):
        check_shards([replace(shard, n_entries=4)])


def test_reading_beyond_a_shard_is_an_error():
    with encode_sentences(SENTENCES, KNOWN) as corpus:
        (unit,) = corpus.units(100)
        with pytest.raises(ValueError, match="cut short"):
            replace(unit, stop=unit.stop + 1).read()
