import json

import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.loading import load_vectors
from gensim_tfw2v.evaluation import summary


@pytest.fixture
def files(tmp_path):
    pairs, questions = tmp_path / "pairs.csv", tmp_path / "questions.txt"
    pairs.write_text("the,a,1\nthe,of,2\nto,of,3\n")
    questions.write_text("the a of to\nthe a of unknown\n")
    return pairs, questions


def test_json_is_the_summary(tfw2v, models, files):
    result = tfw2v("evaluate", models["vectors.kv"], *files, "--json")
    assert json.loads(result.stdout) == summary(load_vectors(models["vectors.kv"]), files)


def test_tables(tfw2v, models, files):
    shown = tfw2v("evaluate", models["binary.bin"], *files).stdout
    for name in ("ws353", "simlex999", "pairs.csv", "questions-words", "questions.txt", "19,544"):
        assert name in shown


def test_own_files_alone(tfw2v, models, files):
    shown = tfw2v("evaluate", models["model"], files[0], "--no-standard").stdout
    assert "3 of 3" in shown
    assert "ws353" not in shown and "Analogies" not in shown


def test_how_badly_a_text_is_predicted(tfw2v, models, tmp_path):
    text = tmp_path / "held.txt"
    text.write_text("the of and to\nthe state of the\n" * 50)
    model = TFWord2Vec.load(str(models["model"]))
    arguments = ("evaluate", models["model"], "--text", text, "--no-standard")
    found = json.loads(tfw2v(*arguments, "--json").stdout)["held_out_loss"]
    assert found == model.held_out_loss(corpus_file=str(text)) > 0
    assert f"a prediction costs {found:.4f} nats" in tfw2v(*arguments).stdout


def test_vectors_alone_predict_nothing(tfw2v, models, tmp_path):
    (tmp_path / "held.txt").write_text("the of\n")
    result = tfw2v("evaluate", models["vectors.kv"], "--text", tmp_path / "held.txt", status=2)
    assert "holds a KeyedVectors" in result.stderr and "whole Word2Vec model" in result.stderr


def test_process(process, models, files):
    result = process("evaluate", models["text.txt.gz"], files[1], "--no-standard", "--json")
    assert result.returncode == 0, result.stderr
    (metrics,) = json.loads(result.stdout)["analogies"].values()
    assert (metrics["gensim"]["counted"], metrics["all"]["counted"]) == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "bad.txt: No such file or directory"),
        ("", "bad.txt: holds no line"),
        ("the a 1\nthe of\n", "bad.txt, line 2: expected two words and a number"),
        (": family\nthe of\n", "bad.txt, line 2: expected four words"),
    ],
)
def test_bad_evaluation_file(tfw2v, models, tmp_path, content, message):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    result = tfw2v("evaluate", models["model"], path, status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_bad_model(tfw2v, tmp_path):
    (tmp_path / "model").write_text("no model")
    for name, message in (("model", "no vectors in a known form"), ("missing", "no such file")):
        assert message in tfw2v("evaluate", tmp_path / name, status=2).stderr
