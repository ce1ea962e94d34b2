import json
import math

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v.evaluation import EvaluationFileError, evaluate_pairs, neighbour_agreement
from tests.evaluation import reference


@pytest.mark.parametrize("options", [{}, {"case_insensitive": False}, {"restrict_vocab": 300}])
@pytest.mark.parametrize(
    ("name", "file"), [("ws353", "wordsim353.tsv"), ("simlex999", "simlex999.txt")]
)
def test_score_equals_gensim(lee, name, file, options):
    pearson, spearman, oov_percent = lee.evaluate_word_pairs(datapath(file), **options)
    score = evaluate_pairs(lee, name, **options)
    assert score.pearson == pytest.approx(pearson[0], abs=1e-12)
    assert score.spearman == pytest.approx(spearman[0], abs=1e-12)
    assert 100 * score.oov_ratio == pytest.approx(oov_percent)


def test_score_equals_slow_reference(keyed, tmp_path):
    words = {"one": (1, 0.2), "Two": (0.5, 0.5), "three": (-1, 0.1), "four": (0.3, -1)}
    ratings = [("one", "two", 8), ("one", "three", 1), ("two", "four", 4), ("three", "four", 4)]
    path = tmp_path / "pairs.csv"
    path.write_text("".join(f"{a}, {b}, {r}\n" for a, b, r in [*ratings, ("one", "nine", 3)]))

    score = evaluate_pairs(keyed(words), path)

    vector = {word.lower(): values for word, values in words.items()}
    cosines = [reference.cosine(vector[a], vector[b]) for a, b, _ in ratings]
    human = [rating for *_, rating in ratings]
    assert score.spearman == pytest.approx(reference.spearman(cosines, human))
    assert score.pearson == pytest.approx(reference.pearson(cosines, human), abs=1e-6)
    assert (score.pairs, score.used, score.oov_ratio) == (5, 4, pytest.approx(0.2))


@pytest.mark.parametrize("text", ["eins zwei 3\n", "one two 3\neins zwei 3\n"])
def test_too_few_known_pairs_give_nan_and_json_null(keyed, tmp_path, text):
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    score = evaluate_pairs(keyed({"one": (1, 0), "two": (0, 1)}), path)
    assert math.isnan(score.spearman) and math.isnan(score.pearson)
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False))["spearman"] is None


def test_bad_line_raises(keyed, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("one two 3\none two\n")
    with pytest.raises(EvaluationFileError, match="line 2"):
        evaluate_pairs(keyed({"one": (1, 0), "two": (0, 1)}), path)


def test_evaluation_sets_no_attribute_of_the_vectors(keyed, tmp_path):
    """Threads may use the vectors during an evaluation."""
    path = tmp_path / "pairs.txt"
    path.write_text("one two 3\none three 1\n")
    vectors = keyed({"one": (1, 0), "two": (0, 1), "three": (1, 1)})

    class Fixed(type(vectors)):
        def __setattr__(self, name, value):
            assert self is not vectors, name
            super().__setattr__(name, value)

    vectors.__class__ = Fixed
    assert evaluate_pairs(vectors, path).used == 2


def random_words(seed, words="abcdefghij"):
    rng = np.random.default_rng(seed)
    return {word: rng.normal(size=4) for word in words}


def test_agreement_equals_slow_reference(keyed):
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


def test_rotated_vectors_agree_with_the_original(lee):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    turned = type(lee)(20)
    turned.add_vectors(lee.index_to_key, lee.vectors @ rotation.astype(np.float32))
    found = neighbour_agreement(lee, turned, k=1)
    assert found.overlap == found.jaccard > 0.98  # near ties may fall the other way
    assert len(found.probes) == 200
    assert neighbour_agreement(lee, lee).overlap == 1


def test_restrict_vocab_limits_the_neighbours(keyed):
    first, second = keyed(random_words(1)), keyed(random_words(2))
    assert neighbour_agreement(first, second, k=3, restrict_vocab=4).overlap > 0.5


@pytest.mark.parametrize("k", [0, 10, 11])
def test_k_out_of_range_raises(keyed, k):
    vectors = keyed(random_words(1))
    with pytest.raises(ValueError, match="k must be from 1 to 9"):
        neighbour_agreement(vectors, vectors, k=k)


def test_no_shared_probe_raises(keyed):
    with pytest.raises(ValueError, match="no probe word"):
        neighbour_agreement(keyed(random_words(1)), keyed(random_words(1, "klmnopqrst")), k=2)


def test_string_of_probes_raises(keyed):
    vectors = keyed(random_words(1))
    with pytest.raises(ValueError, match="list of words"):
        neighbour_agreement(vectors, vectors, "ab", k=2)
