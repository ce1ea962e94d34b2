"""Cutting into units, and corpora that stay on disk."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gensim_tfw2v.corpus import EncodedCorpus, encode_file, encode_sentences, scan_sentences
from gensim_tfw2v.corpus.shards import SHARD
from gensim_tfw2v.corpus.units import shares, unit_edges
from tests.corpus.reference import decoded, folder_is_empty

SENTENCES = [["a", "b", "x"], ["x"], [], ["b", "b"]]
KNOWN = {"a": 0, "b": 1}


def test_units_end_where_sentences_end():
    ends = np.arange(10, 1001, 10)
    edges = unit_edges(ends, 1000, 128)
    assert set(edges[1:]) <= set(ends.tolist())
    assert max(np.diff(edges)) <= 128 and min(np.diff(edges)) > 64


def test_a_sentence_longer_than_a_unit_is_cut():
    assert unit_edges(np.array([1000]), 1000, 300) == [0, 250, 500, 750, 1000]


def test_shares_add_up():
    assert list(shares(10, [0, 1, 2, 3])) == [3, 3, 4]
    assert list(shares(0, [0, 5])) == [0]
    assert list(shares(7, [0, 0, 2])) == [0, 7]


def test_shards_are_bounded_and_hold_whole_sentences(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b a\nb b\n" * 450_000)
    with encode_file(path, KNOWN) as corpus:
        units = corpus.units(10 * SHARD)
        assert len(units) == 4
        for unit in units:
            ids = unit.read()
            assert ids.dtype == np.int32 and len(ids) <= SHARD and ids[-1] == -1
            assert unit.tokens == np.count_nonzero(ids >= 0) == unit.raw_words
            assert unit.sentences == np.count_nonzero(ids == -1)
        small = corpus.units(1 << 16)
        assert sum(unit.tokens for unit in small) == corpus.total_tokens == 2_250_000


def test_units_need_a_size():
    with encode_sentences(SENTENCES, KNOWN) as corpus, pytest.raises(ValueError, match="at least"):
        corpus.units(0)


def test_kept_corpus(tmp_path, temporary):
    folder = tmp_path / "kept"
    folder.mkdir()
    with scan_sentences(SENTENCES, folder=folder) as scan, scan.encode(KNOWN) as corpus:
        pass
    opened = EncodedCorpus.open(folder)
    assert opened.units(4) == corpus.units(4)
    assert decoded(opened, ["a", "b"]) == [["a", "b"], ["b", "b"]]
    assert (opened.total_tokens, opened.total_raw_words, opened.total_sentences) == (4, 6, 4)
    assert sorted(path.name for path in folder.iterdir()) == ["00000.int32", "corpus.json"]
    assert folder_is_empty(temporary)
    opened.close()
    assert EncodedCorpus.open(folder).total_tokens == 4
    with pytest.raises(FileExistsError, match="holds an encoded corpus already"):
        encode_sentences(SENTENCES, KNOWN, folder=folder)
    assert EncodedCorpus.open(folder).total_tokens == 4


def test_unfinished_or_damaged_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no finished encoded corpus"):
        EncodedCorpus.open(tmp_path)
    encode_sentences(SENTENCES, KNOWN, folder=tmp_path)
    shard = tmp_path / "00000.int32"
    shard.write_bytes(shard.read_bytes()[:-4])
    with pytest.raises(ValueError, match="cut short"):
        EncodedCorpus.open(tmp_path)
    shard.unlink()
    with pytest.raises(ValueError, match="missing"):
        EncodedCorpus.open(tmp_path)
    description = tmp_path / "corpus.json"
    description.write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="format 99"):
        EncodedCorpus.open(tmp_path)


def test_reading_beyond_a_shard():
    with encode_sentences(SENTENCES, KNOWN) as corpus:
        (unit,) = corpus.units(100)
        with pytest.raises(ValueError, match="cut short"):
            replace(unit, stop=unit.stop + 1).read()
