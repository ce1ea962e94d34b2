"""Logs of training, as TensorBoard reads them."""

import copy
import logging
import re
import shutil
import types

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import datapath, lee_corpus_list

from gensim_tfw2v import TensorBoardLog, TFDoc2Vec, TFWord2Vec
from gensim_tfw2v.evaluation import evaluate_pairs
from gensim_tfw2v.monitor import labels
from gensim_tfw2v.monitor import run as monitor_run
from gensim_tfw2v.monitor.evaluation_run import write_baseline
from tests.disks import fill, small_disk
from tests.monitor.projector_files import embeddings, read
from tests.monitor.runs import Runs

LEE = datapath("lee_background.cor")
OPTIONS = dict(corpus_file=LEE, sg=1, vector_size=24, workers=2, epochs=6, seed=3)


@pytest.fixture(autouse=True)
def points_at_once(monkeypatch, short_layouts):
    """Write a point per unit, because these training runs are short."""
    monkeypatch.setattr(monitor_run, "MIN_INTERVAL", 0.0)
    monkeypatch.setattr(monitor_run, "N_CLOSE_POINTS", 10**9)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 8192)


class Scores:
    """Callback that records the score of word pairs and the nearest word after each epoch."""

    def __init__(self):
        self.scores, self.near = [], []

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_begin(self, model): ...

    def on_epoch_end(self, model):
        self.scores.append(evaluate_pairs(model.wv, "simlex999").spearman)
        self.near.append(model.wv.most_similar("Australia", topn=1)[0][0])


def test_training_logs_one_run_with_all_curves(tmp_path):
    scores = Scores()
    log = TensorBoardLog(
        tmp_path / "run", word_pairs=["simlex999"], probe_words=["Australia", "no such word"]
    )
    model = TFWord2Vec(**OPTIONS | {"workers": 1}, log_dir=log, callbacks=[scores])
    words = model.corpus_total_words * model.epochs
    runs = Runs(tmp_path)
    assert runs.names() == {"run"}
    groups = {tag.partition("/")[0] for tag in runs.tags("run") if "/" in tag}
    assert sorted(groups - {"_hparams_"}) == [
        *("loss", "quality", "training", "usage", "vectors", "vs_epoch")
    ]
    assert {"usage/cpu_percent", "usage/memory_MiB"} <= runs.tags("run")

    speed = runs.points("run", "training/words_per_second")
    assert all(value > 0 for _, value in speed)
    assert [step for step, _ in speed] == sorted({step for step, _ in speed})
    assert speed[-1][0] == words
    alphas = [value for _, value in runs.points("run", "training/alpha")]
    assert alphas == sorted(alphas, reverse=True)
    assert 0.8 * model.alpha < alphas[0] <= model.alpha
    # gensim's last batch is trained with the learning rate at its start
    last_batch = model.batch_words / words * (model.alpha - model.min_alpha)
    np.testing.assert_allclose(alphas[-1], model.min_alpha + last_batch, rtol=1e-3)
    losses = [value for _, value in runs.points("run", "loss/running")]
    assert losses[0] > 1.3 * losses[-1]

    means = runs.points("run", "loss/epoch")
    assert [step for step, _ in means] == [
        model.corpus_total_words * epoch for epoch in range(1, 1 + model.epochs)
    ]
    np.testing.assert_allclose([value for _, value in means], model.mean_losses, rtol=1e-6)
    quality = [value for _, value in runs.points("run", "quality/simlex999")]
    np.testing.assert_allclose(quality, scores.scores, rtol=1e-5)
    numbers = [*range(1, 1 + model.epochs)]
    for by_words, tag in (means, "loss"), (runs.points("run", "quality/simlex999"), "simlex999"):
        values = [value for _, value in by_words]
        assert runs.points("run", f"vs_epoch/{tag}") == list(zip(numbers, values, strict=True))
    steps, epochs = zip(*runs.points("run", "training/epoch"), strict=True)
    np.testing.assert_allclose(epochs, np.array(steps) / model.corpus_total_words, rtol=1e-6)

    tables = runs.texts("run", "neighbours")
    assert len(tables) == model.epochs
    for table, nearest in zip(tables, scores.near, strict=True):
        assert table.splitlines()[2].startswith(f"| Australia | {nearest} ")
        assert "no such word" not in table

    made_with = runs.hyperparameters("run")
    assert made_with["vector_size"] == 24
    assert made_with["sg"] is True
    assert made_with["cluster"] == "none"
    assert "ns_exponent" not in made_with  # omitted at its default
    assert made_with["vocabulary"] == len(model.wv)


def test_log_dir_changes_neither_vectors_nor_gensims_loss(tmp_path):
    options = OPTIONS | {"workers": 1, "epochs": 2}
    computed = TFWord2Vec(**options, compute_loss=True)
    sampled = TFWord2Vec(**options, log_dir=tmp_path)
    np.testing.assert_array_equal(sampled.wv.vectors, computed.wv.vectors)
    np.testing.assert_allclose(sampled.mean_losses, computed.mean_losses, rtol=0.02)
    assert sampled.get_latest_training_loss() == 0
    both = TFWord2Vec(**options, log_dir=tmp_path / "both", compute_loss=True)
    assert both.mean_losses == computed.mean_losses
    assert both.get_latest_training_loss() == computed.get_latest_training_loss() > 0


@pytest.fixture(scope="module")
def trained():
    return {sg: TFWord2Vec(**OPTIONS | {"epochs": 2, "sg": sg, "hs": 1 - sg}) for sg in (0, 1)}


@pytest.mark.parametrize(
    ("sg", "regime"),
    [
        # skip-gram by each regime; CBOW by the kernels and by their ops
        *((1, regime) for regime in (None, "asynchronous", "synchronous", "submodels:models=2")),
        *((0, regime) for regime in (None, "asynchronous")),
    ],
)
def test_sampled_loss_equals_the_full_loss_in_each_regime(tmp_path, trained, sg, regime):
    """A tiny learning rate keeps the vectors, so that the loss of a sample is that of all."""
    model, losses = copy.deepcopy(trained[sg]), {}
    for name, compute_loss in ("all", True), ("some", False):
        model.log_dir, model.regime = (None, None) if compute_loss else (tmp_path, regime)
        size = {"total_words": model.corpus_total_words, "epochs": 3}
        still = {"start_alpha": 1e-9, "end_alpha": 1e-10, "compute_loss": compute_loss}
        model.train(corpus_file=LEE, **size, **still)
        losses[name] = model.mean_losses
    np.testing.assert_allclose(losses["some"], losses["all"], rtol=0.02)
    points = Runs(tmp_path).points(".", "loss/epoch")
    np.testing.assert_allclose([value for _, value in points], losses["some"], rtol=1e-6)
    words = model.corpus_total_words
    assert [step for step, _ in points] == [words, 2 * words, 3 * words]
    assert [step for step, _ in Runs(tmp_path).points(".", "vs_epoch/loss")] == [1, 2, 3]


def test_final_speed_is_not_taken_over_a_tiny_interval(tmp_path, monkeypatch):
    now = [0.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(monitor_run, "time", clock)
    monkeypatch.setattr(monitor_run, "MIN_INTERVAL", 1.0)
    log = monitor_run.RunLog(TensorBoardLog(tmp_path), {"words": 10_000}, lambda: None)
    unit = types.SimpleNamespace(raw_words=100)
    for words in range(100, 1100, 100):
        now[0] += 1.0 if words < 1000 else 0.001
        log.unit(types.SimpleNamespace(unit=unit, loss=1, predictions=1, alpha=0.1), words)
    log.close()
    speeds = [speed for _, speed in Runs(tmp_path).points(".", "training/words_per_second")]
    assert speeds[:-1] == [100.0] * 9
    assert 100 <= speeds[-1] <= 130
    assert Runs(tmp_path).points(".", "training/epoch")[-1] == (1000, pytest.approx(0.1))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"sg": 0}, marks=pytest.mark.slow),
        {"hs": 1, "negative": 0},
        pytest.param({"sg": 0, "hs": 1}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_every_objective_logs_its_loss(tmp_path, options):
    model = TFWord2Vec(**OPTIONS | options | {"workers": 1}, log_dir=tmp_path)
    whole = TFWord2Vec(**OPTIONS | options | {"workers": 1}, compute_loss=True)
    np.testing.assert_allclose(model.mean_losses, whole.mean_losses, rtol=0.15)
    np.testing.assert_array_equal(model.wv.vectors, whole.wv.vectors)


@pytest.mark.parametrize("options", [{}, {"regime": "asynchronous", "sg": 0, "hs": 1}], ids=str)
def test_logged_graph_matches_the_objective(tmp_path, options):
    TFWord2Vec(**OPTIONS | {"epochs": 1} | options, log_dir=tmp_path)
    nodes = {node.name: node for node in Runs(tmp_path).graph(".").node}
    assert ("hidden/mean" in nodes) == ("scores/nodes" in nodes) == (options != {})
    vectors = nodes["wv.vectors"].attr["shape"].shape
    assert [dim.size for dim in vectors.dim][1] == 24
    assert nodes["negative_samples/sampled"].attr["distortion"].f == 0.75


def test_repeated_training_of_a_model_continues_its_run(tmp_path, caplog):
    model = TFWord2Vec(**OPTIONS | {"epochs": 1}, log_dir=tmp_path)
    with caplog.at_level(logging.WARNING, "gensim_tfw2v"):
        model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=2)
    assert not caplog.records
    steps = [step for step, _ in Runs(tmp_path).points(".", "loss/epoch")]
    # event files of the same second are read in any order
    assert sorted(steps) == [model.corpus_total_words * epoch for epoch in (1, 2, 3)]
    numbers = [number for number, _ in Runs(tmp_path).points(".", "vs_epoch/loss")]
    assert sorted(numbers) == [1, 2, 3]


def test_log_dir_of_another_training_logs_a_warning(tmp_path, caplog):
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "gensim_tfw2v"):
            TFWord2Vec(**OPTIONS | {"epochs": 1}, log_dir=tmp_path)
    (warning,) = caplog.records
    assert "already contains the log of another training run" in warning.getMessage()
    assert str(tmp_path) in warning.getMessage()


@pytest.mark.parametrize("each_epoch", [False, True])
def test_projector_shows_the_most_frequent_words(tmp_path, each_epoch, monkeypatch):
    written = []
    whole = monitor_run.write_projector
    monkeypatch.setattr(
        monitor_run, "write_projector", lambda *a: (written.append(a), whole(*a))[1]
    )
    log = TensorBoardLog(tmp_path, projector_words=50, projector_each_epoch=each_epoch)
    model = TFWord2Vec(**OPTIONS, log_dir=log)
    assert len(written) == (model.epochs if each_epoch else 1)
    _, rows, _ = read(tmp_path)
    np.testing.assert_array_equal(rows, model.wv.vectors[:50])


def test_projector_words_0_writes_no_projector(tmp_path):
    TFWord2Vec(**OPTIONS | {"epochs": 1}, log_dir=TensorBoardLog(tmp_path, projector_words=0))
    assert not list(tmp_path.glob("projector*"))


def test_log_dir_is_not_saved_with_the_model(tmp_path):
    model = TFWord2Vec(**OPTIONS | {"epochs": 1}, log_dir=tmp_path / "run")
    model.save(str(tmp_path / "model"))
    loaded = TFWord2Vec.load(str(tmp_path / "model"))
    assert loaded.log_dir is None
    assert vars(loaded).keys().isdisjoint({"log_dir", "_logged"})


@pytest.mark.parametrize(
    ("log_dir", "error", "message"),
    [
        ("", ValueError, "log_dir must be the path"),
        (3, ValueError, "log_dir must be the path"),
        (lambda: TensorBoardLog("x", projector_words=-1), ValueError, "from 0 up, got -1"),
        (lambda: TensorBoardLog("x", probe_words="king"), ValueError, r"give \['king'\]"),
        (lambda: TensorBoardLog("x", word_pairs=["nothing.tsv"]), OSError, "nothing.tsv"),
    ],
)
def test_invalid_log_dir_raises_in_the_constructor(log_dir, error, message):
    with pytest.raises(error, match=message):
        TFWord2Vec(**OPTIONS, log_dir=log_dir() if callable(log_dir) else log_dir)


def test_default_probe_words_range_from_frequent_to_rare():
    vectors = KeyedVectors(4)
    words = [f"w{rank}" for rank in range(3000)]
    vectors.add_vectors(words, np.ones((3000, 4), np.float32))
    log = monitor_run.RunLog.__new__(monitor_run.RunLog)
    log.options = TensorBoardLog("unused")
    probes = [int(word[1:]) for word in log._select_probes(vectors)]
    assert probes[0] == 100
    assert probes[-1] == 2999
    assert probes == sorted(set(probes))


SMALL = {"sentences": [["a", "b", "c", "d"] * 50] * 40, "vector_size": 8, "min_count": 1}


@pytest.mark.parametrize("how", ["full", "fills"])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_full_disk_stops_the_log_but_not_training(tmp_path, caplog, how):
    options = SMALL | {"epochs": 30 if how == "fills" else 2, "workers": 1, "seed": 3}
    with small_disk(tmp_path / "disk", "16k") as disk:
        if how == "full":
            fill(disk)
        log = TensorBoardLog(disk / "run", projector_words=0 if how == "fills" else 10)
        model = TFWord2Vec(**options, log_dir=log)
        assert how != "fills" or list((disk / "run").glob("*tfevents*"))
    (error,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert f"{disk}/run cannot be written to (" in error.getMessage()
    assert "training continues without its TensorBoard log" in error.getMessage()
    np.testing.assert_array_equal(model.wv.vectors, TFWord2Vec(**options).wv.vectors)


WORDS = {
    "integers": lambda word: ord(word),
    "tuples": lambda word: (word, 1),
    "bytes": lambda word: word.encode(),
    "surrogates": lambda word: f"{word}\ud800|",
    "mixed": lambda word: ord(word) if word < "e" else word + "\n",
}


@pytest.mark.parametrize("kind", WORDS)
def test_words_of_every_type_are_logged(tmp_path, caplog, kind):
    make = WORDS[kind]
    sentences = [[make(word) for word in "abcdefgh"] * 20] * 20
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("a b 1\nc d 2\na d 3\n")
    probes = [make("a"), make("h"), "none"]
    log = TensorBoardLog(tmp_path / "run", [pairs, "ws353"], probes, projector_each_epoch=True)
    options = {"vector_size": 8, "min_count": 1, "epochs": 2, "workers": 1, "seed": 3}
    model = TFWord2Vec(sentences, **options, log_dir=log)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    np.testing.assert_array_equal(model.wv.vectors, TFWord2Vec(sentences, **options).wv.vectors)
    tables = Runs(tmp_path).texts("run", "neighbours")
    assert len(tables) == 2
    rows = tables[-1].splitlines()[2:]
    for word, row in zip((make("a"), make("h")), rows, strict=True):
        vector = model.wv.get_vector(word)
        (_, _), (near, _) = model.wv.most_similar([vector], topn=2)
        shown = [re.escape(labels.word_label(one).replace("|", "\\|")) for one in (word, near)]
        assert re.match(rf"\| {shown[0]} \| {shown[1]} -?\d\.\d\d, ", row)
    (table,) = (tmp_path / "run" / "projector").glob("words-*.tsv")
    cells = [line.split("\t")[0] for line in table.read_text("utf-8").split("\n")[1:-1]]
    assert cells == [labels.word_label(word) for word in model.wv.index_to_key]


def test_failures_of_the_log_do_not_end_the_training(tmp_path, caplog, monkeypatch):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("a b 1\nc d 2\n")
    options = SMALL | {"epochs": 3, "workers": 1, "seed": 3}

    class Remove(Scores):
        def on_epoch_end(self, model):
            pairs.unlink(missing_ok=True)

    class Word:
        def __str__(self):
            raise RuntimeError("no name")

    def fail(*_):
        raise ArithmeticError("of the layout")

    expected = TFWord2Vec(**options).wv.vectors
    log = TensorBoardLog(tmp_path / "1", [pairs])
    model = TFWord2Vec(**options, log_dir=log, callbacks=[Remove()])
    np.testing.assert_array_equal(model.wv.vectors, expected)
    words = [Word() for _ in range(4)]
    TFWord2Vec([words * 50] * 40, min_count=1, vector_size=8, epochs=1, log_dir=tmp_path / "2")
    monkeypatch.setattr(monitor_run, "write_projector", fail)
    model = TFWord2Vec(**options, log_dir=tmp_path / "3")
    np.testing.assert_array_equal(model.wv.vectors, expected)
    monkeypatch.setattr(monitor_run.TaskLog, "_measure", fail)
    model = TFWord2Vec(**options, log_dir=tmp_path / "4")
    np.testing.assert_array_equal(model.wv.vectors, expected)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    reasons = (f"{pairs}: No such file or directory", "RuntimeError: no name",
               "ArithmeticError: of the layout", "ArithmeticError: of the layout")  # fmt: skip
    assert said == [
        f"{tmp_path / str(number)} cannot be written to ({reason}): training continues without its "
        "TensorBoard log"
        for number, reason in enumerate(reasons, 1)
    ]


def test_training_continues_if_the_folder_of_the_log_is_lost(tmp_path, caplog):
    class Replace(Scores):
        def on_epoch_begin(self, model):
            if (tmp_path / "run").is_dir():
                shutil.rmtree(tmp_path / "run")
                (tmp_path / "run").write_text("a file in its place")

        def on_epoch_end(self, model): ...

    options = SMALL | {"epochs": 3, "workers": 1, "seed": 3}
    model = TFWord2Vec(**options, log_dir=tmp_path / "run", callbacks=[Replace()])
    np.testing.assert_array_equal(model.wv.vectors, TFWord2Vec(**options).wv.vectors)
    (error,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "run cannot be written to (" in error.getMessage()


def test_unwritable_folder_raises_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    folders = {"/proc/x": "No such file or directory", f"{tmp_path}/file": "Not a directory"}
    for folder, reason in folders.items():
        for name in ("log_dir", "checkpoint_dir", "encoded_dir", "tables_dir"):
            said = re.escape(f"{name}='{folder}': cannot be written to ({reason}); use a different")
            with pytest.raises(OSError, match=said):
                TFWord2Vec(**{name: folder})
        with pytest.raises(OSError, match="^log_dir='"):
            TFWord2Vec(log_dir=TensorBoardLog(folder))
    model = TFWord2Vec(**SMALL, epochs=1)
    before, model.log_dir = model.wv.vectors.copy(), "/proc/x"
    with pytest.raises(OSError, match="^log_dir='/proc/x': cannot be written to"):
        model.train(SMALL["sentences"], total_examples=40, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors, before)
    with small_disk(tmp_path / "disk", "16k", "ro") as disk:
        with pytest.raises(OSError, match="Read-only file system"):
            TFWord2Vec(log_dir=disk / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "file"]


def test_projector_shows_documents_and_words(tmp_path):
    documents = [TaggedDocument(text, [f"text {n}"]) for n, text in enumerate(lee_corpus_list)]
    log = TensorBoardLog(tmp_path, projector_words=30)
    model = TFDoc2Vec(documents, vector_size=8, dm=0, dbow_words=1, epochs=2, log_dir=log)
    given = Runs(tmp_path).hyperparameters(".")
    assert (given["sg"], given["dbow_words"]) == (True, 1) and "dm_concat" not in given
    words, tagged = embeddings(tmp_path)
    assert (words.tensor_name, tagged.tensor_name) == ("vectors", "documents")
    _, found, table = read(tmp_path, tagged)
    tags = [line[0] for line in table]
    assert tags == ["tag", *(f"text {number}" for number in range(30))]
    np.testing.assert_array_equal(found, model.dv.vectors[:30])


def test_sample_none_is_logged_as_zero(tmp_path):
    TFWord2Vec(**OPTIONS | {"sample": None, "epochs": 1}, log_dir=tmp_path / "run")
    runs = Runs(tmp_path)
    assert runs.hyperparameters("run")["sample"] == 0
    assert runs.points("run", "training/alpha")


def test_failed_evaluation_keeps_the_earlier_scores(tmp_path):
    scores = {"pairs": {"ws353": {"spearman": 0.5}}, "analogies": {}}
    write_baseline(tmp_path / "run", scores, {"words": 10, "epochs": 2})
    with pytest.raises(TypeError):
        write_baseline(tmp_path / "run", scores, {"words": 10, "epochs": 2, "sample": None})
    assert Runs(tmp_path).points("run", "quality/ws353") == [(20, 0.5)]


def test_scores_of_files_whose_names_are_not_utf8_are_logged(tmp_path):
    scores = {"pairs": {"/a/caf\udce9.tsv": {"spearman": 0.5}}, "analogies": {}}
    write_baseline(tmp_path / "run", scores, None)
    assert Runs(tmp_path).points("run", "quality/caf\\udce9") == [(0, 0.5)]
