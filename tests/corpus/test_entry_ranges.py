"""Ranges of entries: joining them, the gaps between them, and units cut from the gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.entry_ranges import gaps_between, join_ranges
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.corpus.shards import EncodedPart, save_shard
from gensim_tfw2v.files.temporary import TemporaryFolder

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8).map(
    lambda pairs: [(start, start + length) for start, length in pairs]
)


@given(RANGES, st.integers(0, 60), st.integers(1, 40))
def test_ranges_and_the_gaps_between_them_contain_each_entry_once(ranges, start, length):
    stop = start + length
    joined = join_ranges(ranges)
    assert entries_in(joined) == sorted(set(entries_in(ranges)))
    assert all(last < first for (_, last), (first, _) in zip(joined, joined[1:], strict=False))
    gaps = gaps_between(joined, start, stop)
    assert all(first < last for first, last in gaps)
    assert entries_in(gaps) == sorted(set(range(start, stop)) - set(entries_in(ranges)))


def entries_in(ranges):
    return [entry for start, stop in ranges for entry in range(start, stop)]


def make_corpus(shards, is_documents):
    """Make a corpus of shards, which are lists of the numbers of words of sentences.

    Sentences of documents begin with a tag. A part of the text is not in the shards: unknown words
    and empty sentences.
    """
    temporary = TemporaryFolder("corpus")
    written = []
    for number, lengths in enumerate(shards):
        sentences = [
            [FIRST_TAG] * is_documents + list(range(n_words)) + [END] for n_words in lengths
        ]
        entries = np.concatenate(sentences).astype(np.int32)
        path = temporary.folder / f"{number:05}.int32"
        written.append(save_shard(path, [entries], sum(lengths) * 5 // 4 + 3, len(lengths) + 1))
    n_raw_words = sum(shard.n_raw_words for shard in written)
    n_sentences = sum(shard.n_sentences for shard in written)
    part = EncodedPart(written, n_raw_words, n_sentences)
    return EncodedCorpus(temporary, [part], whole=is_documents)


SHARDS = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=60), min_size=1, max_size=4)
#: Size of units, and the share of them that is trained before the cut changes.
CUTS = st.lists(st.tuples(st.integers(5, 400), st.floats(0, 1)), min_size=1, max_size=4)


@settings(max_examples=60)
@given(SHARDS, CUTS, st.booleans(), st.randoms(use_true_random=False))
def test_changed_cuts_train_each_entry_once(shards, cuts, is_documents, draws):
    with make_corpus(shards, is_documents) as corpus:
        is_end = np.concatenate([unit.read() for unit in corpus.units(1 << 20)]) == END
        trained_units = []
        for size, share in [*cuts, (cuts[0][0], 1.0)]:
            units = corpus.units(size, corpus.unit_ranges(trained_units))
            assert [unit.index for unit in units] == list(range(len(units)))
            assert is_documents or all(unit.stop - unit.start <= size for unit in units)
            trained_units += draws.sample(units, round(share * len(units)))
        n_trainings = np.zeros(len(is_end), int)
        for unit in trained_units:
            ((start, stop),) = corpus.unit_ranges([unit])
            n_trainings[start:stop] += 1
            assert unit.tokens == np.count_nonzero(unit.read() >= 0)
            if start and not is_end[start - 1]:  # only long sentences are cut, and no documents
                assert not is_documents
                assert 4 * sentence_length(is_end, start) >= min(size for size, _ in cuts)
        assert (n_trainings == 1).all()
        assert sum(unit.tokens for unit in trained_units) == corpus.total_tokens
        assert sum(unit.raw_words for unit in trained_units) == corpus.total_raw_words
        assert sum(unit.sentences for unit in trained_units) == corpus.total_sentences


def sentence_length(is_end, index):
    """Return the number of entries of the sentence that contains an entry."""
    stops = np.flatnonzero(is_end)
    lengths = np.diff(stops, prepend=-1)
    return lengths[np.searchsorted(stops, index)]


@given(SHARDS, st.integers(5, 400))
def test_units_without_trained_ranges_cover_the_corpus(shards, size):
    with make_corpus(shards, False) as corpus:
        units = corpus.units(size)
        assert units == corpus.units(size, [])
        n_entries = sum(unit.stop - unit.start for unit in units)
        assert corpus.unit_ranges(units) == [(0, n_entries)]
        assert corpus.units(size, corpus.unit_ranges(units)) == []


def test_checksum_depends_on_entries_but_not_on_shards():
    checksums = []
    for shards in [[3, 4, 5]], [[3, 4], [5]], [[4, 3, 5]]:
        with make_corpus(shards, False) as corpus:
            checksums.append(corpus.checksum)
    assert checksums[0] == checksums[1] != checksums[2]


@pytest.mark.parametrize("size", [0, -1])
def test_impossible_size_of_the_rest_raises(size):
    with make_corpus([[3]], False) as corpus, pytest.raises(ValueError, match="at least 1 entry"):
        corpus.units(size, [(0, 1)])
