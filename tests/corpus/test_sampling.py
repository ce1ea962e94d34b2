"""Samples of sentences: sizes, overlaps and reproducible draws."""

import numpy as np
import pytest

from gensim_tfw2v.corpus.sampling import Sampling


def unit(sentences, seed=0, cut=False):
    """Return entries of sentences with 1 to 9 words, each word the sentence's number."""
    lengths = np.random.default_rng(seed).integers(1, 10, sentences)
    entries = np.concatenate([[number] * length + [-1] for number, length in enumerate(lengths)])
    return entries[:-1].astype(np.int32) if cut else entries.astype(np.int32)


def sentences_of(sample):
    return set(sample[sample >= 0].tolist())


@pytest.mark.parametrize(("number", "rate"), [(10, 0.1), (5, 0.2), (5, 0.4), (3, 0.5)])
def test_shuffle_puts_each_sentence_in_at_least_one_sample(number, rate):
    sampling, entries = Sampling("shuffle", number, rate, 3), unit(4000)
    samples = [sampling.select(entries, sample, 5, 2) for sample in range(number)]
    taken = [sentences_of(sample) for sample in samples]
    assert set.union(*taken) == set(range(4000))
    for own in taken:
        assert len(own) / 4000 == pytest.approx(rate, abs=4 * np.sqrt(0.25 / 4000))
    # all pairs of samples overlap equally
    both = [len(taken[0] & taken[1]) / 4000, len(taken[0] & taken[-1]) / 4000]
    more = (rate * number - 1) / (number - 1)
    expected = 2 / number * more + (1 - 2 / number) * more**2
    assert both == pytest.approx([expected] * 2, abs=0.03)


def test_shuffle_at_rate_one_over_n_partitions_the_sentences():
    sampling, entries = Sampling("shuffle", 8, 1 / 8, 3), unit(4000)
    taken = [sentences_of(sampling.select(entries, sample, 5, 2)) for sample in range(8)]
    assert sum(map(len, taken)) == len(set.union(*taken)) == 4000


def test_shuffle_at_a_lower_rate_omits_sentences():
    sampling, entries = Sampling("shuffle", 5, 0.1, 3), unit(4000)
    taken = [sentences_of(sampling.select(entries, sample, 5, 2)) for sample in range(5)]
    assert sum(map(len, taken)) == len(set.union(*taken))
    assert sum(map(len, taken)) / 4000 == pytest.approx(0.5, abs=0.03)


def test_single_sample_at_rate_one_holds_everything():
    sampling, entries = Sampling("shuffle", 1, 1.0, 3), unit(50)
    np.testing.assert_array_equal(sampling.select(entries, 0, 0, 0), entries)


@pytest.mark.parametrize("cut", [False, True])
def test_samples_hold_whole_sentences_in_order(cut):
    sampling, entries = Sampling("shuffle", 4, 0.25, 1), unit(300, cut=cut)
    for sample in range(4):
        own = sampling.select(entries, sample, 0, 0)
        wanted = entries[
            np.isin(np.cumsum(entries == -1) - (entries == -1), list(sentences_of(own)))
        ]
        np.testing.assert_array_equal(own, wanted)
        assert own.dtype == np.int32


def test_shuffle_redraws_each_epoch_and_random_does_not():
    entries = unit(2000)
    for kind, changes in [("shuffle", True), ("random", False)]:
        sampling = Sampling(kind, 10, 0.1, 1)
        first, again, later = (sampling.select(entries, 3, 7, epoch) for epoch in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (sentences_of(first) != sentences_of(later)) is changes
        assert sentences_of(first) != sentences_of(sampling.select(entries, 3, 8, 0))
        assert sentences_of(first) != sentences_of(
            Sampling(kind, 10, 0.1, 2).select(entries, 3, 7, 0)
        )


def test_random_may_omit_sentences():
    sampling, entries = Sampling("random", 4, 0.25, 0), unit(4000)
    taken = [sentences_of(sampling.select(entries, sample, 0, 0)) for sample in range(4)]
    assert len(set.union(*taken)) / 4000 == pytest.approx(1 - 0.75**4, abs=0.03)
    assert sampling.share == 0.25


@pytest.mark.parametrize(("units", "number"), [(10, 3), (7, 7), (100, 10)])
def test_equal_samples_are_contiguous_parts_of_the_text(units, number):
    sampling, entries = Sampling("equal", number, 1 / number, 0), unit(20)
    owners = [[s for s in range(number) if sampling.has_unit(s, u, units)] for u in range(units)]
    assert all(len(owner) == 1 for owner in owners)
    assert sum(owners, []) == sorted(sum(owners, []))
    assert max(np.bincount(sum(owners, []))) - min(np.bincount(sum(owners, []))) <= 1
    np.testing.assert_array_equal(sampling.select(entries, 1, 0, 0), entries)


def test_sample_of_an_empty_unit_is_empty():
    nothing = np.zeros(0, np.int32)
    assert len(Sampling("shuffle", 3, 0.3, 0).select(nothing, 0, 0, 0)) == 0
