import numpy as np
import pytest

from gensim_tfw2v.evaluation import neighbour_agreement
from tests.evaluation import reference


def random_words(seed, words="abcdefghij"):
    rng = np.random.default_rng(seed)
    return {word: rng.normal(size=4) for word in words}


def test_equals_slow_reference(keyed):
    first, second = random_words(1), random_words(2)
    overlaps, jaccards = [], []
    for probe in "ace":
        one = set(reference.nearest(first, first[probe], {probe}, 3))
        two = set(reference.nearest(second, second[probe], {probe}, 3))
        overlaps.append(len(one & two) / 3)
        jaccards.append(len(one & two) / len(one | two))
    found = neighbour_agreement(keyed(first), keyed(second), ["a", "c", "unknown", "e"], k=3)
    assert found.probes == ("a", "c", "e")
    assert found.overlap == pytest.approx(np.mean(overlaps))
    assert found.jaccard == pytest.approx(np.mean(jaccards))


def test_a_model_agrees_with_itself_whatever_its_rotation(lee):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    turned = type(lee)(20)
    turned.add_vectors(lee.index_to_key, lee.vectors @ rotation.astype(np.float32))
    found = neighbour_agreement(lee, turned, k=1)
    assert found.overlap == found.jaccard > 0.98  # near ties may fall the other way
    assert len(found.probes) == 200
    assert neighbour_agreement(lee, lee).overlap == 1


def test_restricted_to_frequent_words(keyed):
    first, second = keyed(random_words(1)), keyed(random_words(2))
    assert neighbour_agreement(first, second, k=3, restrict_vocab=4).overlap > 0.5


@pytest.mark.parametrize("k", [0, 10, 11])
def test_k_out_of_range(keyed, k):
    vectors = keyed(random_words(1))
    with pytest.raises(ValueError, match="k must be from 1 to 9"):
        neighbour_agreement(vectors, vectors, k=k)


def test_no_shared_probe(keyed):
    with pytest.raises(ValueError, match="no probe word"):
        neighbour_agreement(keyed(random_words(1)), keyed(random_words(1, "klmnopqrst")), k=2)


def test_a_string_is_no_list_of_words(keyed):
    vectors = keyed(random_words(1))
    with pytest.raises(ValueError, match="list of words"):
        neighbour_agreement(vectors, vectors, "ab", k=2)
