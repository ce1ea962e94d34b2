import json
import subprocess
import sys

import pytest
from gensim.models import Word2Vec

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.model_files import load_vectors
from gensim_tfw2v.evaluation import summary
from gensim_tfw2v.monitor.events import EventLog
from gensim_tfw2v.monitor.run import quality_tag
from tests.monitor.runs import Runs


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
    assert "holds a KeyedVectors" in result.stderr and "a whole model" in result.stderr


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
        ("the a 1\nthe of\n", "bad.txt, line 2: expected two words and a finite number"),
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


def test_scores_as_a_run_for_tensorboard(tfw2v, models, files, tmp_path):
    model = Word2Vec.load(str(models["model"]))
    to = ("--no-standard", "--log-dir", tmp_path)
    result = json.loads(tfw2v("evaluate", models["model"], *files, *to, "--json").stdout)
    runs = Runs(tmp_path)
    assert runs.names() == {"model"}
    step = model.corpus_total_words * model.epochs
    pairs, questions = map(str, files)
    for name, score in (
        (pairs, result["pairs"][pairs]["spearman"]),
        (questions, result["analogies"][questions]["gensim"]["total"]),
    ):
        (point,) = runs.points("model", quality_tag(name))
        assert point == (step, pytest.approx(score))
    assert runs.hyperparameters("model")["vector_size"] == model.vector_size

    # again: what was there is replaced
    tfw2v("evaluate", models["model"], pairs, *to)
    assert "quality/questions" not in Runs(tmp_path).tags("model")
    assert len(Runs(tmp_path).points("model", "quality/pairs")) == 1
    # vectors alone: not known how many words they have seen
    tfw2v("evaluate", models["text.txt"], pairs, *to, "--run", "b")
    ((step, _),) = Runs(tmp_path).points("b", "quality/pairs")
    assert step == 0


def test_the_run_of_a_training_is_left_alone(tfw2v, models, tmp_path):
    EventLog(str(tmp_path / "model")).close()
    result = tfw2v("evaluate", models["model"], "--log-dir", tmp_path, status=2)
    assert "model holds the run of a training: give the scores another name" in result.stderr
    result = tfw2v("evaluate", models["model"], "--run", "x", status=2)
    assert "give --log-dir too" in result.stderr


def test_scores_are_written_without_tensorflow(models, files, tmp_path):
    code = (
        "import sys; from gensim_tfw2v.cli.main import app;"
        "app(sys.argv[1:], standalone_mode=False); assert 'tensorflow' not in sys.modules"
    )
    arguments = ["evaluate", models["model"], files[0], "--no-standard", "--log-dir", tmp_path]
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, timeout=120)
    assert Runs(tmp_path).names() == {"model"}
