import json
from pathlib import Path

import pytest

from gensim_tfw2v.evaluation import EvaluationFileError, evaluate_pairs, summary


def test_summary_scores_standard_sets_and_own_files(lee, tmp_path):
    pairs, questions = tmp_path / "pairs.csv", tmp_path / "questions.txt"
    pairs.write_text("the,a,1\nthe,of,2\nto,of,3\n")
    questions.write_text("the a of to\n")
    result = summary(lee, [pairs, questions])
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert list(result["pairs"]) == ["ws353", "simlex999", str(pairs)]
    assert list(result["analogies"]) == ["questions-words", str(questions)]
    assert result["pairs"]["ws353"] == evaluate_pairs(lee, "ws353").to_dict()
    assert result["analogies"]["questions-words"]["all"]["counted"] == 19_544
    assert (result["words"], result["vector_size"]) == (len(lee), 20)


def test_standard_false_scores_only_own_files(lee, tmp_path):
    (tmp_path / "questions.txt").write_text("the a of to\n")
    result = summary(lee, [tmp_path / "questions.txt"], standard=False)
    assert (len(result["pairs"]), len(result["analogies"])) == (0, 1)


def test_bad_own_file_raises(lee, tmp_path):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(EvaluationFileError, match="empty.txt"):
        summary(lee, [tmp_path / "empty.txt"])


@pytest.mark.parametrize("make", [str, Path])
def test_single_file_is_accepted(lee, tmp_path, make):
    (tmp_path / "questions.txt").write_text("the a of to\n")
    result = summary(lee, make(tmp_path / "questions.txt"), standard=False)
    assert list(result["analogies"]) == [str(tmp_path / "questions.txt")]
