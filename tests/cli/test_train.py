import bz2
import gzip
import inspect
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath
from typer.testing import CliRunner

from gensim_tfw2v import TensorBoardLog, TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli import model_training, train
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.model import OWN, RUNNING
from tests.cli.conftest import ROOT

QUICK = ("--vector-size", 8, "--epochs", 1, "--workers", 1)
# parameters without an option: Python objects, and those that gensim's Word2Vec does not use
NOT_OPTIONS = {"sentences", "corpus_file", "hashfxn", "null_word", "trim_rule", "callbacks",
               "comment"}  # fmt: skip


def test_options_and_defaults_equal_gensims():
    gensim = inspect.signature(Word2Vec).parameters
    ours = inspect.signature(train.train).parameters
    assert {n: ours[n].default for n in gensim.keys() & ours.keys()} == {
        n: p.default for n, p in gensim.items() if n not in NOT_OPTIONS
    }


@pytest.mark.parametrize("unused", [("cbow_mean", "corrected_cbow"), ("sg",)], ids=["sg", "cbow"])
def test_every_option_reaches_the_model(tfw2v, monkeypatch, corpus, tmp_path, unused):
    given = {}

    def record(**options):
        given.update(options)
        for ours in {*OWN, *RUNNING} - {*unused}:
            del options[ours]
        return TFWord2Vec(**options)

    monkeypatch.setattr(model_training, "model_class", lambda *_: record)
    options = {
        "vector_size": 8, "window": 3, "negative": 2, "ns_exponent": 0.5, "sample": 0.01,
        "alpha": 0.05, "min_alpha": 0.001, "epochs": 1, "seed": 7, "min_count": 2,
        "max_vocab_size": 5000, "max_final_vocab": 300, "workers": 1, "batch_words": 500,
        "encoded_dir": tmp_path, "tables_dir": tmp_path / "t",
        "cluster": "local:ps=1,worker=1", "regime": "synchronous:steps=8", "layout": "rows",
        "wire": "float32",
        "checkpoint_dir": tmp_path, "checkpoint_minutes": 2.5,
        "log_dir": str(tmp_path / "log"),
    }  # fmt: skip
    flags = {"sg": "--sg", "hs": "--hs", "cbow_mean": "--cbow-sum", "progress": "--no-progress",
             "shrink_windows": "--no-shrink-windows", "sorted_vocab": "--no-sorted-vocab",
             "compute_loss": "--compute-loss", "corrected_cbow": "--corrected-cbow",
             "deterministic": "--deterministic"}  # fmt: skip
    for name in unused:  # options of skip-gram and CBOW exclude each other
        del flags[name]
    arguments = [a for n, value in options.items() for a in (f"--{n.replace('_', '-')}", value)]
    tfw2v("train", corpus, "-o", tmp_path / "model", *arguments, *flags.values())
    switches = {name: not flag.startswith("--no-") and name != "cbow_mean"
                for name, flag in flags.items()}  # fmt: skip
    options["log_dir"] = TensorBoardLog(tmp_path / "log")
    assert given == {**options, **switches, "corpus_file": str(corpus)}


def test_fasttext_model_is_trained_with_its_options(tfw2v, corpus, tmp_path):
    output, n_grams = tmp_path / "model", ("--min-n", 2, "--max-n", 4, "--bucket", 900)
    result = tfw2v("train", corpus, "-o", output, "--fasttext", *n_grams, *QUICK, "--compute-loss")
    assert "loss" in result.stdout
    model = TFFastText.load(str(output))
    assert type(model) is TFFastText
    assert (model.wv.min_n, model.wv.max_n, model.wv.bucket) == (2, 4, 900)
    assert "policement" not in model.wv.key_to_index
    assert "policement" in tfw2v("neighbours", output, "policement").stdout
    model.to_gensim().save(str(output))
    said = tfw2v("evaluate", output, "--no-standard", "--text", corpus).stdout
    assert "nats per prediction" in said


DOC2VEC = ("--doc2vec", "--vector-size", 8, "--workers", 1)


def test_doc2vec_model_is_trained_queried_and_converted(tfw2v, corpus, tmp_path):
    output, kept = tmp_path / "model", ("--checkpoint-dir", tmp_path / "kept")
    shown = tfw2v("train", corpus, "-o", output, *DOC2VEC, "--dbow", "--dbow-words", *kept).stdout
    assert f"{'documents':<11}30\n" in shown and ", 10 epochs" in shown  # gensim's default
    model = TFDoc2Vec.load(str(output))
    assert (type(model), model.sg, model.dbow_words, len(model.dv)) == (TFDoc2Vec, 1, 1, 30)
    assert "documents     30" in tfw2v("info", output).stdout
    lines = tfw2v("neighbours", output, 7, 30, "-n", 2, "--documents")
    near = model.dv.most_similar(7, topn=2)
    assert [line.split("\t")[:2] for line in lines.stdout.splitlines()[1:]] == [
        ["7", str(tag)] for tag, _ in near
    ]
    assert "'30' is not in the vocabulary" in lines.stderr
    tfw2v("convert", output, tmp_path / "out.txt", "--documents")
    found = KeyedVectors.load_word2vec_format(str(tmp_path / "out.txt"))
    np.testing.assert_allclose(found["29"], model.dv[29], rtol=1e-6)
    model.to_gensim().save(str(output))  # gensim's own file
    words = corpus.read_text(encoding="utf-8").splitlines()[0]
    (row,) = CliRunner().invoke(app, ["vectors", str(output), "--infer"], words).stdout.splitlines()
    np.testing.assert_allclose(
        np.fromstring(row, sep=" "), model.infer_vector(words.split()), atol=1e-6
    )
    assert "needs a full model" in tfw2v("evaluate", output, "--text", corpus, status=2).stderr
    assert "standard input is empty" in tfw2v("vectors", output, "--infer", status=2).stderr


def test_lines_are_documents_in_files_folders_and_gzip(tfw2v, corpus, tmp_path):
    folder, text = tmp_path / "folder", corpus.read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    folder.mkdir()
    (folder / "1.txt").write_bytes(text[:half])
    (folder / "2.txt.bz2").write_bytes(bz2.compress(text[half:]))
    (tmp_path / "corpus.gz").write_bytes(gzip.compress(text))
    found = []
    for source in (corpus, folder, tmp_path / "corpus.gz"):
        tfw2v("train", source, "-o", tmp_path / "model", *DOC2VEC, "--epochs", 1)
        found.append(TFDoc2Vec.load(str(tmp_path / "model")).dv)
    assert all(dv.index_to_key == list(range(30)) for dv in found)
    np.testing.assert_array_equal(found[1].vectors, found[2].vectors)
    result = tfw2v("train", folder, "-o", "m", *DOC2VEC, "--max-vocab-size", 99, status=2)
    assert "reads the corpus twice" in result.stderr


@pytest.mark.parametrize("option", ["--documents", "--infer"])
def test_document_options_need_a_doc2vec_model(tfw2v, models, option):
    command = "vectors" if option == "--infer" else "nn"
    assert "needs a Doc2Vec model" in tfw2v(command, models["model"], option, status=2).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--min-n", 2, "--bucket", 900), "--bucket, --min-n: works only with --fasttext"),
        (("--fasttext", "--regime", "downpour"), "FastText"),
        (("--dbow",), "--dbow: works only with --doc2vec; add that"),
        (("--doc2vec", "--dbow-words"), "--dbow-words: works only with --dbow; add that"),
        (("--doc2vec", "--cbow"), "--doc2vec excludes --fasttext, --sg and --cbow"),
        (("--doc2vec", "--fasttext"), "--doc2vec excludes --fasttext"),
    ],
)
def test_options_of_a_different_class_are_rejected(tfw2v, corpus, tmp_path, options, said):
    result = tfw2v("train", corpus, "-o", tmp_path / "model", *options, status=2)
    assert said in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())


def test_early_stopping_reports_the_best_epoch(tfw2v, tmp_path):
    corpus = datapath("lee_background.cor")
    options = ("--vector-size", 4, "--epochs", 30, "--workers", 1, "--patience", 1)
    result = tfw2v("train", corpus, "-o", tmp_path / "m", "--early-stopping", "ws353", *options)
    model = TFWord2Vec.load(str(tmp_path / "m"))
    assert 1 < len(model.history) < 30 and max(model.history) == model.best_score
    assert f"words, {len(model.history)} epochs" in result.stdout
    assert f"epoch {model.best_epoch + 1}: {model.best_score:.4f}" in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--early-stopping", "ws354"),
            "is 'ws354': use ws353, simlex999, questions-words, loss or a file",
        ),
        (("--patience", 2), "--patience: works only with --early-stopping"),
    ],
)
def test_bad_early_stopping_options_are_rejected(tfw2v, corpus, tmp_path, options, said):
    result = tfw2v("train", corpus, "-o", tmp_path / "model", *options, status=2)
    assert said in result.output and not list(tmp_path.iterdir())


def test_log_options_reach_tensorboard_log(tfw2v, monkeypatch, corpus, tmp_path):
    given = {}

    def train_model(make, log_dir, corpus_file, **_):
        given["log"] = log_dir
        return TFWord2Vec(corpus_file=corpus_file, epochs=1), 1.0

    monkeypatch.setattr(model_training, "train_model", train_model)
    tfw2v(
        "train", corpus, "-o", tmp_path / "model", "--log-dir", tmp_path / "log",
        "--log-pairs", "ws353", "--log-pairs", datapath("simlex999.txt"),
        "--log-words", "king", "--projector-words", 0, "--projector-each-epoch",
    )  # fmt: skip
    assert given["log"] == TensorBoardLog(
        tmp_path / "log", ["ws353", datapath("simlex999.txt")], ["king"], 0, True
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--log-pairs", "ws353"), "give --log-dir"),
        (("--log-dir", "log", "--log-pairs", "nothing.tsv"), "nothing.tsv"),
    ],
)
def test_bad_log_options_are_rejected(tfw2v, corpus, tmp_path, options, said):
    result = tfw2v("train", corpus, "-o", tmp_path / "model", *options, status=2)
    assert said in result.output
    assert not list(tmp_path.iterdir())


def test_model_and_vectors_are_saved(tfw2v, corpus, tmp_path):
    output, vectors = tmp_path / "model", tmp_path / "vectors.txt"
    result = tfw2v(
        "train", corpus, "-o", output, "--vectors", vectors, *QUICK, "--compute-loss", "--sg"
    )
    expected = TFWord2Vec(corpus_file=str(corpus), vector_size=8, epochs=1, workers=1, sg=1)
    model = Word2Vec.load(str(output))
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)
    text = KeyedVectors.load_word2vec_format(str(vectors))
    np.testing.assert_allclose(text.vectors, expected.wv.vectors, atol=1e-6)
    assert sorted(tmp_path.iterdir()) == [output, vectors]
    for shown in (f"{len(model.wv):,} words x 8", "words/s", "loss", str(output), str(vectors)):
        assert shown in result.stdout


def test_binary_vectors_are_saved(tfw2v, corpus, tmp_path):
    vectors = tmp_path / "vectors.bin"
    tfw2v("train", corpus, "-o", tmp_path / "m", "--vectors", vectors, "--binary", *QUICK)
    assert KeyedVectors.load_word2vec_format(str(vectors), binary=True).vector_size == 8


def test_compressed_files_and_folders_give_the_same_words(tfw2v, corpus, tmp_path):
    text = corpus.read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    folder = tmp_path / "folder"
    (folder / "subfolder").mkdir(parents=True)
    (folder / ".hidden").write_bytes(b"\xff\xff")
    (folder / "1.txt").write_bytes(text[:half])
    (folder / "2.txt.bz2").write_bytes(bz2.compress(text[half:]))
    (tmp_path / "corpus.gz").write_bytes(gzip.compress(text))
    counts = []
    for source in (corpus, folder, tmp_path / "corpus.gz"):
        tfw2v("train", source, "-o", tmp_path / "model", *QUICK)
        words = Word2Vec.load(str(tmp_path / "model")).wv
        counts.append({word: words.get_vecattr(word, "count") for word in words.index_to_key})
    assert counts[0] == counts[1] == counts[2] != {}


@pytest.fixture
def bad(tmp_path, corpus):
    """Folder of corpora that cannot be trained on."""
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.txt").write_text("\n\n")
    (tmp_path / "rare.txt").write_text("each word once\n")
    (tmp_path / "hidden-gzip").write_bytes(gzip.compress(b"a b c\n"))
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(corpus.read_bytes())[:-20])
    (tmp_path / "text.xz").write_bytes(corpus.read_bytes())
    (tmp_path / "cut-inside").mkdir()
    (tmp_path / "cut-inside" / "part.gz").write_bytes(gzip.compress(corpus.read_bytes())[:-20])
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 " * 50)
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "corpus.txt").write_bytes(corpus.read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.txt", "missing.txt: no such file or folder"),
        ("empty.txt", "empty.txt: is empty"),
        ("blank.txt", "no word that is frequent enough"),
        ("rare.txt", "no word that is frequent enough"),
        ("hidden-gzip", "hidden-gzip: holds gzip data, not text: name it ….gz, or decompress it"),
        ("latin.txt", "latin.txt is not UTF-8 text"),
        ("empty-folder", "contains no files"),
        ("cut.txt.gz", "cut.txt.gz is damaged, cut short"),
        ("text.xz", "text.xz is damaged, cut short, or not what its name says: Input format"),
    ],
)
def test_bad_corpora_are_rejected(tfw2v, bad, name, message):
    result = tfw2v("train", bad / name, "-o", bad / "model", *QUICK, status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (bad / "model").exists()


@pytest.mark.parametrize(
    ("name", "file"), [("cut.txt.gz", "cut.txt.gz"), ("cut-inside", "cut-inside/part.gz")]
)
def test_damaged_corpus_file_is_named(tfw2v, bad, name, file):
    result = tfw2v("train", bad / name, "-o", bad / "model", *QUICK, status=2)
    assert result.stderr.startswith(f"tfw2v: {bad / file} is damaged, cut short, or not what its")
    assert result.stderr.count("\n") == 1
    assert not (bad / "model").exists()


def test_standard_input_and_pipes_train_as_a_file_does(tfw2v, corpus, tmp_path):
    tfw2v("train", corpus, "-o", tmp_path / "file", *QUICK)
    with subprocess.Popen(["cat", corpus], stdout=subprocess.PIPE) as cat:
        pipe = f"/dev/fd/{cat.stdout.fileno()}"  # as bash writes <(cat corpus)
        tfw2v("train", pipe, "-o", tmp_path / "substituted", *QUICK)
    command = f"{sys.executable} -m gensim_tfw2v train"
    options = " ".join(map(str, QUICK))
    script = f"cat {corpus} | {command} - -o {tmp_path}/piped {options}"
    subprocess.run(["bash", "-ec", script], cwd=ROOT, check=True, timeout=300)
    vectors = [
        Word2Vec.load(str(tmp_path / name)).wv.vectors for name in ("file", "piped", "substituted")
    ]
    np.testing.assert_array_equal(vectors[1], vectors[0])
    np.testing.assert_array_equal(vectors[2], vectors[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "-", "--max-vocab-size", 9), "reads the corpus twice"),
        (("cluster", "local", "--", "train", "-"), "cannot be read again"),
    ],
)
def test_standard_input_is_rejected_if_read_twice(tfw2v, tmp_path, arguments, message):
    result = tfw2v(*arguments, "-o", tmp_path / "model", status=2)
    assert message in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "missing/model"), "no such folder"),
        (("-o", "empty-folder"), "is a folder"),
        (("-o", "/proc/model"), "cannot be written to"),
        (("-o", "corpus.txt"), "is the corpus"),
        (("-o", "model", "--vectors", "model"), "is both --output and --vectors"),
        (("-o", "model", "--vectors", "missing/vectors"), "no such folder"),
        (("-o", "model", "--binary"), "--vectors"),
        (("-o", "model", "--negative", "0"), "--hs"),
        (("-o", "model", "--vector-size", "0"), "--vector-size"),
        (("-o", "model", "--epochs", "x"), "--epochs"),
        ((), "--output"),
    ],
)
def test_bad_options_are_reported_before_training(tfw2v, monkeypatch, bad, arguments, message):
    monkeypatch.chdir(bad)
    monkeypatch.setattr(
        model_training, "train_model", lambda *_, **__: pytest.fail("training began")
    )
    result = tfw2v("train", "corpus.txt", *arguments, status=2)
    assert message in result.stderr
    assert not (bad / "model").exists()


def test_ctrl_c_saves_nothing(tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.with_gensim", "train", datapath("lee_background.cor"),
         "-o", str(tmp_path / "model"), "--epochs", "1000000", "--verbose"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while "EPOCH 1" not in running.stderr.readline():
            assert running.poll() is None
        os.kill(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 130
    assert errors.endswith("tfw2v: interrupted; nothing was saved\n")
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_process_trains_a_tfword2vec(process, corpus, tmp_path):
    result = process("train", corpus, "-o", tmp_path / "model", *QUICK)
    assert result.returncode == 0, result.stderr
    assert "words/s" in result.stdout
    assert type(Word2Vec.load(str(tmp_path / "model"))).__name__ == "TFWord2Vec"


def test_process_reports_a_missing_corpus(process, tmp_path):
    result = process("train", tmp_path / "missing", "-o", tmp_path / "model")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"tfw2v: {tmp_path}/missing: no such file or folder\n"


def test_text_without_predictions_is_trained_with_a_warning(tfw2v, tmp_path):
    corpus = tmp_path / "words.txt"
    corpus.write_text("one\ntwo\none\n")
    result = tfw2v("train", corpus, "-o", tmp_path / "m", "--min-count", 1, "--compute-loss")
    assert "trains nothing" in result.stderr and "loss" not in result.stdout
