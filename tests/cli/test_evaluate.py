import json
import os
import subprocess
import sys
import threading

import pytest
from gensim.models import Word2Vec

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.common import print_table
from gensim_tfw2v.cli.model_files import is_model, load_vectors
from gensim_tfw2v.evaluation import (
    EvaluationFileError,
    evaluate_edges,
    evaluate_labels,
    split_edges,
    summary,
)
from tests.evaluation.nodes import planted_edges, planted_groups, write_pairs


@pytest.fixture
def files(tmp_path):
    pairs, questions = tmp_path / "pairs.csv", tmp_path / "questions.txt"
    pairs.write_text("the,a,1\nthe,of,2\nto,of,3\n")
    questions.write_text("the a of to\nthe a of unknown\n")
    return pairs, questions


def test_json_output_equals_summary(tfw2v, models, files):
    result = tfw2v("evaluate", models["vectors.kv"], *files, "--json")
    assert json.loads(result.stdout) == summary(load_vectors(models["vectors.kv"]), files)


def test_tables_list_all_evaluation_sets(tfw2v, models, files):
    shown = tfw2v("evaluate", models["binary.bin"], *files).stdout
    for name in ("ws353", "simlex999", "pairs.csv", "questions-words", "questions.txt", "19,544"):
        assert name in shown


def test_no_standard_evaluates_only_own_files(tfw2v, models, files):
    shown = tfw2v("evaluate", models["model"], files[0], "--no-standard").stdout
    assert "3 of 3" in shown
    assert "ws353" not in shown and "Analogies" not in shown


def test_text_option_reports_the_held_out_loss(tfw2v, models, tmp_path):
    text = tmp_path / "held.txt"
    text.write_text("the of and to\nthe state of the\n" * 50)
    model = TFWord2Vec.load(str(models["model"]))
    arguments = ("evaluate", models["model"], "--text", text, "--no-standard")
    found = json.loads(tfw2v(*arguments, "--json").stdout)["held_out_loss"]
    assert found == model.held_out_loss(corpus_file=str(text)) > 0
    assert f"held-out loss {found:.4f} nats per prediction" in tfw2v(*arguments).stdout


def test_held_out_loss_of_bare_vectors_is_rejected(tfw2v, models, tmp_path):
    (tmp_path / "held.txt").write_text("the of\n")
    result = tfw2v("evaluate", models["vectors.kv"], "--text", tmp_path / "held.txt", status=2)
    assert "holds a KeyedVectors" in result.stderr and "a full model" in result.stderr


def test_process_prints_json(process, models, files):
    result = process("evaluate", models["text.txt.gz"], files[1], "--no-standard", "--json")
    assert result.returncode == 0, result.stderr
    (metrics,) = json.loads(result.stdout)["analogies"].values()
    assert (metrics["gensim"]["counted"], metrics["all"]["counted"]) == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "bad.txt: No such file or directory"),
        ("", "bad.txt: contains no line"),
        ("the a 1\nthe of\n", "bad.txt, line 2: expected two words and a finite number"),
        (": family\nthe of\n", "bad.txt, line 2: expected four words"),
    ],
)
def test_bad_evaluation_files_are_reported_with_their_line(
    tfw2v, models, tmp_path, content, message
):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    result = tfw2v("evaluate", models["model"], path, status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_bad_models_are_rejected(tfw2v, tmp_path):
    (tmp_path / "model").write_text("no model")
    for name, message in (("model", "not vectors in a known format"), ("missing", "no such file")):
        assert message in tfw2v("evaluate", tmp_path / name, status=2).stderr


def test_log_dir_writes_scores_as_a_tensorboard_run(tfw2v, models, files, tmp_path):
    from tests.monitor.runs import Runs

    model = Word2Vec.load(str(models["model"]))
    to = ("--no-standard", "--log-dir", tmp_path)
    result = json.loads(tfw2v("evaluate", models["model"], *files, *to, "--json").stdout)
    runs = Runs(tmp_path)
    assert runs.names() == {"model"}
    step = model.corpus_total_words * model.epochs
    pairs, questions = map(str, files)
    for tag, score in (
        ("quality/pairs", result["pairs"][pairs]["spearman"]),
        ("quality/questions", result["analogies"][questions]["gensim"]["total"]),
    ):
        (point,) = runs.points("model", tag)
        assert point == (step, pytest.approx(score))
    assert runs.hyperparameters("model")["vector_size"] == model.vector_size

    # a second evaluation replaces the run
    tfw2v("evaluate", models["model"], pairs, *to)
    assert "quality/questions" not in Runs(tmp_path).tags("model")
    assert len(Runs(tmp_path).points("model", "quality/pairs")) == 1
    # bare vectors do not record how many words they were trained on
    tfw2v("evaluate", models["text.txt"], pairs, *to, "--run", "b")
    ((step, _),) = Runs(tmp_path).points("b", "quality/pairs")
    assert step == 0


def test_scores_of_files_with_one_name_are_all_kept(tfw2v, models, files, tmp_path):
    from tests.monitor.runs import Runs

    pairs = files[0].read_text(encoding="utf-8")
    scores = {}
    for folder, text in (("a", pairs), ("b", "\n".join(pairs.splitlines()[::2]))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pairs.txt").write_text(text, encoding="utf-8")
    both = [tmp_path / folder / "pairs.txt" for folder in "ab"]
    to = ("--no-standard", "--log-dir", tmp_path / "log", "--json")
    scores = json.loads(tfw2v("evaluate", models["model"], *both, *to).stdout)["pairs"]
    for path in both:
        tag = f"quality/{path.parent.name}/pairs.txt"
        ((_, score),) = Runs(tmp_path / "log").points("model", tag)
        assert score == pytest.approx(scores[str(path)]["spearman"])


def test_run_of_a_training_is_not_overwritten(tfw2v, models, tmp_path):
    from gensim_tfw2v.monitor.events import EventLog

    EventLog(str(tmp_path / "model")).close()
    result = tfw2v("evaluate", models["model"], "--log-dir", tmp_path, status=2)
    assert "model holds the log of a training run: give the scores another name" in result.stderr
    result = tfw2v("evaluate", models["model"], "--run", "x", status=2)
    assert "needs --log-dir" in result.stderr


def test_scores_are_written_without_tensorflow(models, files, tmp_path):
    from tests.monitor.runs import Runs

    code = (
        "import sys; from gensim_tfw2v.cli.main import app;"
        "app(sys.argv[1:], standalone_mode=False); assert 'tensorflow' not in sys.modules"
    )
    arguments = ["evaluate", models["model"], files[0], "--no-standard", "--log-dir", tmp_path]
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, timeout=300)
    assert Runs(tmp_path).names() == {"model"}


@pytest.fixture
def two_models(models, corpus, tmp_path):
    """Paths of two models, with 8 and 4 dimensions."""
    path = tmp_path / "other.txt"
    other = Word2Vec(corpus_file=str(corpus), vector_size=4, epochs=1, workers=1)
    other.wv.save_word2vec_format(str(path))
    return models["model"], path


def test_several_models_are_rows_of_one_table(tfw2v, two_models, files):
    arguments = ("evaluate", *two_models, *files)
    found = json.loads(tfw2v(*arguments, "--json").stdout)
    assert found == {str(path): summary(load_vectors(path), files) for path in two_models}
    header, *rows = (line.split("\t") for line in tfw2v(*arguments).stdout.splitlines())
    assert header[:5] == ["model", "words", "vector_size", "ws353", "simlex999"]
    assert [row[0] for row in rows] == list(map(str, two_models)) and rows[1][2] == "4"
    pairs, questions = map(str, files)
    for path, row in zip(two_models, rows, strict=True):
        shown, result = dict(zip(header, row, strict=True)), found[str(path)]
        assert float(shown[pairs]) == pytest.approx(result["pairs"][pairs]["spearman"], abs=1e-4)
        total = result["analogies"][questions]["all"]["total"]
        assert float(shown[f"{questions} (all)"]) == pytest.approx(total, abs=1e-4)


def test_several_models_get_held_out_losses_and_runs(tfw2v, models, tmp_path):
    from tests.monitor.runs import Runs

    text, other = tmp_path / "held.txt", tmp_path / "other"
    text.write_text("the of and to\nthe state of the\n" * 50)
    Word2Vec.load(str(models["model"])).save(str(other))
    arguments = ("evaluate", models["model"], other, "--no-standard", "--text", text)
    header, first, second = tfw2v(*arguments, "--log-dir", tmp_path / "log").stdout.splitlines()
    assert header.split("\t")[-1] == "held_out_loss"
    assert first.split("\t")[-1] == second.split("\t")[-1]
    assert Runs(tmp_path / "log").names() == {"model", "other"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--log-dir", "log", "--run", "x"), "--run names the TensorBoard run of a single MODEL"),
        (("--text", "-"), "is needed once per model"),
    ],
)
def test_single_model_options_are_rejected_for_several(tfw2v, two_models, options, message):
    assert message in tfw2v("evaluate", *two_models, *options, status=2).stderr


def test_models_with_equal_names_cannot_share_a_log_dir(tfw2v, models, tmp_path):
    (tmp_path / "text.bin").write_bytes(models["binary.bin"].read_bytes())
    paths = models["text.txt"], tmp_path / "text.bin"
    result = tfw2v("evaluate", *paths, "--log-dir", tmp_path, status=2)
    assert "would share a run" in result.stderr


def test_tables_on_a_terminal_have_no_tabs(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(["model", "x"], [["a [b]", "1"]])
    shown = capsys.readouterr().out
    assert "a [b]" in shown and "\t" not in shown


def test_is_model_recognizes_all_formats(models, files, tmp_path):
    assert all(map(is_model, models.values()))
    assert not any(map(is_model, [*files, tmp_path / "missing", tmp_path]))


def test_pipes_are_refused_before_anything_is_read(tfw2v, models, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = f"{pipe}: is read several times, but is a pipe or a device; write it to a file"
    assert said in tfw2v("evaluate", models["model"], pipe, status=2).stderr
    with pytest.raises(EvaluationFileError, match=said):
        summary(load_vectors(models["vectors.kv"]), [pipe])


@pytest.fixture
def nodes(tmp_path):
    """Return paths of vectors of nodes, of their labels, of held-out edges and of known edges."""
    vectors, groups = planted_groups()
    paths = [tmp_path / name for name in ("nodes.kv", "labels.tsv", "held_out.tsv", "edges.tsv")]
    vectors.save(str(paths[0]))
    training_edges, held_out_edges = split_edges(planted_edges(groups, 600), 0.2)
    write_pairs(paths[1], [("node", "label"), *((str(n), g) for n, g in enumerate(groups))])
    write_pairs(paths[2], held_out_edges)
    write_pairs(paths[3], training_edges)
    return paths


def test_labels_replace_the_standard_sets(tfw2v, nodes):
    vectors, labels, *_ = nodes
    result = json.loads(tfw2v("evaluate", vectors, "--labels", labels, "--json").stdout)
    assert result["pairs"] == result["analogies"] == {} and "edges" not in result
    expected = evaluate_labels(load_vectors(vectors), labels)
    assert result["labels"] == {str(labels): expected.to_dict()}
    lines = tfw2v("evaluate", vectors, "--labels", labels).stdout.splitlines()
    assert lines[0].endswith(": 200 words x 8 dimensions")
    header, *rows = (line.split("\t") for line in lines[1:])
    assert header[1:4] == ["training nodes", "micro F1", "macro F1"]
    for row, f1 in zip(rows, expected.f1, strict=True):
        scores = [f"{f1.micro:.3f}", f"{f1.macro:.3f}"]
        assert row == ["labels.tsv", f"{f1.train_share:.0%}", *scores, "200 of 201", "0"]


def test_edges_replace_the_standard_sets(tfw2v, nodes):
    vectors, _, held_out, known = nodes
    arguments = ("evaluate", vectors, "--edges", held_out, "--known-edges", known)
    result = json.loads(tfw2v(*arguments, "--json").stdout)
    assert result["pairs"] == result["analogies"] == {} and "labels" not in result
    expected = evaluate_edges(load_vectors(vectors), held_out, known_edges=known)
    assert result["edges"] == {str(held_out): expected.to_dict()}
    assert expected.auc != evaluate_edges(load_vectors(vectors), held_out).auc
    header, *rows = (line.split("\t") for line in tfw2v(*arguments).stdout.splitlines()[1:])
    assert header == ["held-out edges", "score", "AUC", "edges", "without vector"]
    assert rows == [
        ["held_out.tsv", name, f"{area:.3f}", "120 of 120", "0"]
        for name, area in expected.auc.items()
    ]


def test_standard_option_evaluates_words_and_nodes(tfw2v, nodes):
    arguments = ("evaluate", nodes[0], "--labels", nodes[1], "--standard")
    shown = tfw2v(*arguments).stdout
    assert "ws353" in shown and "micro F1" in shown


def test_files_of_nodes_may_be_pipes_if_they_are_read_once(tfw2v, nodes, tmp_path):
    vectors, labels, *_ = nodes
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[labels.read_bytes()], daemon=True)
    writer.start()
    found = json.loads(tfw2v("evaluate", vectors, "--labels", pipe, "--json").stdout)["labels"]
    writer.join(10)
    assert found[str(pipe)] == evaluate_labels(load_vectors(vectors), labels).to_dict()
    other = tmp_path / "other.kv"
    other.write_bytes(vectors.read_bytes())
    for option in ("--labels", "--edges"):
        said = tfw2v("evaluate", vectors, other, option, pipe, status=2).stderr
        assert "pipe: is read several times" in said


def test_several_models_of_nodes_are_rows_of_one_table(tfw2v, nodes, tmp_path):
    other = tmp_path / "other.kv"
    planted_groups(noise=2)[0].save(str(other))
    arguments = ("evaluate", nodes[0], other, "--labels", nodes[1], "--edges", nodes[2])
    results = json.loads(tfw2v(*arguments, "--json").stdout)
    header, *rows = (line.split("\t") for line in tfw2v(*arguments).stdout.splitlines())
    assert len(rows) == 2 and header[3:5] == ["micro F1 10%", "macro F1 10%"]
    for path, row in zip((nodes[0], other), rows, strict=True):
        shown, result = dict(zip(header, row, strict=True)), results[str(path)]
        f1 = result["labels"][str(nodes[1])]["f1"][1]
        assert shown["micro F1 50%"] == f"{f1['micro']:.4f}"
        area = result["edges"][str(nodes[2])]["auc"]["weighted_l1"]
        assert shown["AUC weighted_l1"] == f"{area:.4f}"


def test_log_dir_gets_the_scores_of_nodes(tfw2v, nodes, tmp_path):
    from tests.monitor.runs import Runs

    vectors, labels, edges, _ = nodes
    arguments = ("evaluate", vectors, "--labels", labels, "--edges", edges, "--json")
    result = json.loads(tfw2v(*arguments, "--log-dir", tmp_path / "log").stdout)
    f1 = result["labels"][str(labels)]["f1"][1]
    for tag, score in (
        ("quality/labels/micro_f1_50", f1["micro"]),
        ("quality/labels/macro_f1_50", f1["macro"]),
        ("quality/held_out/auc_hadamard", result["edges"][str(edges)]["auc"]["hadamard"]),
    ):
        ((_, value),) = Runs(tmp_path / "log").points("nodes", tag)
        assert value == pytest.approx(score)
