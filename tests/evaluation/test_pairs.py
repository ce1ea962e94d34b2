import json
import math

import pytest
from gensim.test.utils import datapath

from gensim_tfw2v.evaluation import EvaluationFileError, evaluate_pairs
from tests.evaluation import reference


@pytest.mark.parametrize("options", [{}, {"case_insensitive": False}, {"restrict_vocab": 300}])
@pytest.mark.parametrize(
    ("name", "file"), [("ws353", "wordsim353.tsv"), ("simlex999", "simlex999.txt")]
)
def test_equals_gensim(lee, name, file, options):
    pearson, spearman, oov_percent = lee.evaluate_word_pairs(datapath(file), **options)
    score = evaluate_pairs(lee, name, **options)
    assert score.pearson == pytest.approx(pearson[0], abs=1e-12)
    assert score.spearman == pytest.approx(spearman[0], abs=1e-12)
    assert 100 * score.oov_ratio == pytest.approx(oov_percent)


def test_equals_slow_reference(keyed, tmp_path):
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


def test_bad_line_is_an_error(keyed, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("one two 3\none two\n")
    with pytest.raises(EvaluationFileError, match="line 2"):
        evaluate_pairs(keyed({"one": (1, 0), "two": (0, 1)}), path)


def test_the_vectors_keep_their_keys_for_other_threads(keyed, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("one two 3\none three 1\n")
    vectors = keyed({"one": (1, 0), "two": (0, 1), "three": (1, 1)})

    class Fixed(type(vectors)):
        def __setattr__(self, name, value):
            assert self is not vectors, name
            super().__setattr__(name, value)

    vectors.__class__ = Fixed
    assert evaluate_pairs(vectors, path).used == 2
