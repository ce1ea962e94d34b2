"""Every option of ``tfw2v train`` reaches the training, or is refused by name, in every way to
train."""

import contextlib
import csv
import inspect
import json
import os
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from click.testing import CliRunner
from gensim.models import KeyedVectors, Word2Vec

from gensim_tfw2v import RandomWalks, TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.cli.option_wording import PYTHON_NAMES
from gensim_tfw2v.cli.train import train

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FOLDER = "folder"
FASTTEXT = ("--fasttext", "--bucket", "50")
HOSTS = {"ps": ["h:1"], "worker": ["h:2"], "chief": ["h:3"]}

# Options of a training run: what is typed, and what the run must then be given. Values are not the
# defaults, nor those of the saved models, unless arrays depend on them.
#: Attributes of the model.
ATTRIBUTES = {
    "vector_size": (["--vector-size", "8"], 8),
    "window": (["--window", "3"], 3),
    "sg": (["--sg"], True),
    "negative": (["--negative", "7"], 7),
    "ns_exponent": (["--ns-exponent", "0.5"], 0.5),
    "hs": (["--hs"], True),
    "cbow_mean": (["--cbow-sum"], False),
    "corrected_cbow": (["--corrected-cbow"], True),
    "deterministic": (["--deterministic"], True),
    "shrink_windows": (["--no-shrink-windows"], False),
    "sample": (["--sample", "0.01"], 0.01),
    "alpha": (["--alpha", "0.05"], 0.05),
    "min_alpha": (["--min-alpha", "0.001"], 0.001),
    "epochs": (["--epochs", "4"], 4),
    "seed": (["--seed", "7"], 7),
    "min_count": (["--min-count", "2"], 2),
    "max_vocab_size": (["--max-vocab-size", "5000"], 5000),
    "max_final_vocab": (["--max-final-vocab", "300"], 300),
    "sorted_vocab": (["--no-sorted-vocab"], False),
    "workers": (["--workers", "2"], 2),
    "batch_words": (["--batch-words", "500"], 500),
    "compute_loss": (["--compute-loss"], True),
    "encoded_dir": (["--encoded-dir", FOLDER], FOLDER),
    "tables_dir": (["--tables-dir", FOLDER], FOLDER),
    "regime": (["--regime", "synchronous:steps=8"], "synchronous:steps=8"),
    "layout": (["--layout", "columns", "--cluster", "local:ps=1,worker=1"], "columns"),
    "checkpoint_dir": (["--checkpoint-dir", FOLDER], FOLDER),
    "progress": (["--no-progress"], False),
    "dbow_words": (["--doc2vec", "--dbow", "--dbow-words"], True),
}
#: Other results, with the function that reads them from what `train` was called with.
RESULTS = {
    "cluster": (["--cluster", "local:ps=1,worker=2"], lambda it: it.model.cluster,
                "local:ps=1,worker=2"),
    "hosts": (["--hosts", "hosts.json"], lambda it: it.model.cluster.ps, ("h:1",)),
    "wire": (["--wire", "float32", "--cluster", "local:ps=1,worker=1"],
             lambda it: it.model.wire, "float32"),
    "checkpoint_minutes": (["--checkpoint-minutes", "3", "--checkpoint-dir", FOLDER],
                           lambda it: it.model.checkpoint_minutes, 3),
    "early_stopping": (["--early-stopping", "loss"], lambda it: it.callbacks[0].monitor, "loss"),
    "patience": (["--early-stopping", "loss", "--patience", "9"],
                 lambda it: it.callbacks[0].patience, 9),
    "log_dir": (["--log-dir", FOLDER], lambda it: it.model.log_dir.folder.name, FOLDER),
    "log_pairs": (["--log-dir", FOLDER, "--log-pairs", "ws353"],
                  lambda it: it.model.log_dir.word_pairs, ["ws353"]),
    "log_words": (["--log-dir", FOLDER, "--log-words", "king"],
                  lambda it: it.model.log_dir.probe_words, ["king"]),
    "projector_words": (["--log-dir", FOLDER, "--projector-words", "77"],
                        lambda it: it.model.log_dir.projector_words, 77),
    "projector_each_epoch": (["--log-dir", FOLDER, "--projector-each-epoch"],
                             lambda it: it.model.log_dir.projector_each_epoch, True),
    "column": (["--column", "words"], lambda it: it.source.column, "words"),
    "recursive": (["--column", "words", "--recursive"],
                  lambda it: it.source.options.recursive, True),
    "weight": (["--column", "words", "--weight", "w"], lambda it: it.source.weight, "w"),
    "fasttext": ([*FASTTEXT], lambda it: type(it.model), TFFastText),
    "min_n": ([*FASTTEXT, "--min-n", "2"], lambda it: it.model.wv.min_n, 2),
    "max_n": ([*FASTTEXT, "--max-n", "4"], lambda it: it.model.wv.max_n, 4),
    "bucket": (["--fasttext", "--bucket", "90"], lambda it: it.model.wv.bucket, 90),
    "doc2vec": (["--doc2vec"], lambda it: type(it.model), TFDoc2Vec),
    "dm": (["--doc2vec", "--dbow"], lambda it: it.model.sg, 1),
    "init": (["--init", "model"], lambda it: len(it.model.wv) > 9, True),
    "compass": (["--compass", "model"], lambda it: it.model.learn_hidden, False),
}  # fmt: skip
#: Options that describe how a table is written.
DIALECT = {
    "sep": (["--column", "words", "--sep", ";"], ";"),
    "quotechar": (["--column", "words", "--quotechar", "'"], "'"),
    "escapechar": (["--column", "words", "--escapechar", "\\"], "\\"),
    "header": (["--column", "0", "--no-header"], None),
    "newlines": (["--column", "words", "--newlines"], True),
    "table_encoding": (["--column", "words", "--table-encoding", "utf-16"], "utf-16"),
    "lists": (["--column", "words", "--lists", "json"], "json"),
}
#: Options of walks, with the value of an attribute of `RandomWalks`.
WALKS = {
    "num_walks": (["--walks", "--num-walks", "2"], 2),
    "walk_length": (["--walks", "--walk-length", "5"], 5),
    "p": (["--walks", "--p", "0.5"], 0.5),
    "q": (["--walks", "--q", "2"], 2),
    "restart": (["--walks", "--restart", "0.1"], 0.1),
    "fixed": (["--walks", "--fixed"], True),
}
#: Options of walks, with arguments of `RandomWalks` for the same walks.
WALK_ARGUMENTS = {
    "weight": (["--walks", "--weight", "w"], {"weight": "w"}),
    "directed": (["--walks", "--directed"], {"directed": True}),
    "start_nodes": (["--walks", "--start-nodes", "starts.txt"], {"start_nodes": ["the", "of"]}),
    "extend": (["--walks", "--weight", "w", "--extend", "--q", "9"],
               {"weight": "w", "extend": True, "q": 9}),
    "node_types": (["--walks", "--node-types", "types.txt", "--metapath", "short,long,short"],
                   {"node_types": "types.txt", "metapath": ["short", "long", "short"]}),
    "relation": (["--walks", "--relation", "w"], {"relation": "w"}),
    "metapath": (["--walks", "--relation", "w", "--metapath", "1,2"],
                 {"relation": "w", "metapath": ["1", "2"]}),
}  # fmt: skip


def has_walks(arguments, it):
    """Return whether the walks of training are those of `RandomWalks` with some arguments."""
    walks = it.source
    expected = RandomWalks(
        "edges.tsv", num_walks=walks.num_walks, walk_length=walks.walk_length, **arguments
    )
    return walks.sample().tolist() == expected.sample().tolist()


RESULTS |= {
    "walks": (["--walks"], lambda it: type(it.source), RandomWalks),
} | {
    name: (typed, lambda it, name=name: getattr(it.source, name), value)
    for name, (typed, value) in WALKS.items()
} | {
    name: (typed, partial(has_walks, arguments), True)
    for name, (typed, arguments) in WALK_ARGUMENTS.items()
}  # fmt: skip
#: All options of walks.
ALL_WALKS = {"walks", *WALKS, *WALK_ARGUMENTS}


def read_dialect(name, it):
    return getattr(it.source.options, PYTHON_NAMES.get(name, name))


RESULTS |= {
    name: (typed, partial(read_dialect, name), value) for name, (typed, value) in DIALECT.items()
}
RESULTS |= {
    name: (typed, lambda it, name=name: getattr(it.model, name), value)
    for name, (typed, value) in ATTRIBUTES.items()
}
#: Arguments of `train` that would override attributes of the model.
ARGUMENTS = {"alpha": "start_alpha", "min_alpha": "end_alpha", "epochs": "epochs",
             "compute_loss": "compute_loss"}  # fmt: skip
#: Options that are used when training has ended; `test_outputs_are_written` trains with them.
OUTPUTS = {"output", "vectors", "binary"}
#: Options that are no matter of the training: its corpus, and the log on stderr (`test_main`).
OTHERS = {"corpus", "verbose"}

#: Ways to train, the options that select each, and the options that each refuses.
WAYS = {
    "new": ([], set()),
    "model": (["--init", "model"],
              {"hs", "sg", "cbow_mean", "sorted_vocab", "tables_dir", "fasttext", "min_n", "max_n",
               "bucket", "doc2vec", "dm", "dbow_words", "compass"}),
    "fasttext-model": (["--init", "fasttext"],
                       {"hs", "sg", "cbow_mean", "sorted_vocab", "tables_dir", "min_n", "max_n",
                        "bucket", "doc2vec", "dm", "dbow_words", "compass", "layout"}),
    "doc2vec-model": (["--init", "doc2vec"],
                      {"hs", "sg", "cbow_mean", "sorted_vocab", "tables_dir", "fasttext", "min_n",
                       "max_n", "bucket", "dm", "dbow_words", "compass", "layout", *ALL_WALKS}),
    "vectors": (["--init", "vectors.txt"],
                {"sorted_vocab", "fasttext", "min_n", "max_n", "bucket", "doc2vec", "dm",
                 "dbow_words", "compass"}),
    "compass": (["--compass", "model"],
                {"hs", "sg", "cbow_mean", "negative", "fasttext", "min_n", "max_n", "bucket",
                 "doc2vec", "dm", "dbow_words", "init", "cluster", "hosts", "wire", "regime",
                 "layout"}),
    "fasttext": ([*FASTTEXT],
                 {"tables_dir", "doc2vec", "dm", "dbow_words", "init", "compass", "layout"}),
    "doc2vec": (["--doc2vec"],
                {"sg", "fasttext", "min_n", "max_n", "bucket", "init", "compass", "layout",
                 *ALL_WALKS}),
    "table": (["--column", "words"], ALL_WALKS),
    "walks": (["--walks", "--walk-length", "9"],
              {"column", "recursive", *DIALECT, "doc2vec", "dm", "dbow_words"}),
    "stdin": (["-"], {"max_vocab_size", "column", "recursive", *DIALECT}),
    "cluster": (["--cluster", "local:ps=1,worker=2"], {"hosts", "compass"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, corpus):
    """Folder with a corpus, a table, hosts, and saved models and vectors."""
    folder = tmp_path_factory.mktemp("ways")
    text = "".join(corpus.read_text(encoding="utf-8").splitlines(keepends=True)[:8])
    (folder / "corpus.txt").write_text(text, encoding="utf-8")
    rows = [line.split() for line in text.splitlines()]
    table = pa.table({"words": rows, "w": [2.5] * len(rows)})
    pq.write_table(table, folder / "table.parquet")
    (folder / "recursive/y=1").mkdir(parents=True)
    pq.write_table(table, folder / "recursive/y=1/table.parquet")
    write_dialects(folder, rows)
    write_graph(folder, rows)
    (folder / "hosts.json").write_text(json.dumps(HOSTS))
    small = {"vector_size": 8, "epochs": 1, "workers": 1, "corpus_file": str(folder / "corpus.txt")}
    TFWord2Vec(**small).save(str(folder / "model"))
    TFWord2Vec(**small).wv.save_word2vec_format(str(folder / "vectors.txt"))
    TFFastText(**small, bucket=50).save(str(folder / "fasttext"))
    TFDoc2Vec(**small).save(str(folder / "doc2vec"))
    return folder


def write_graph(folder, rows):
    """Write a graph of successive words, the nodes at which walks start, and types of nodes."""
    words = [word for row in rows for word in row if word.isalpha()]
    edges = sorted({edge for edge in zip(words, words[1:], strict=False) if edge[0] != edge[1]})
    lines = [f"{a}\t{b}\t{1 + number % 5}" for number, (a, b) in enumerate(edges)]
    (folder / "edges.tsv").write_text("\n".join(["source\ttarget\tw", *lines, ""]))
    (folder / "starts.txt").write_text("the\nof\n")
    types = [f"{word} {'short' if len(word) < 5 else 'long'}\n" for word in sorted({*words})]
    (folder / "types.txt").write_text("".join(types))


def write_dialects(folder, rows):
    """Write a table for each option of `DIALECT`, which is refused without the option."""
    cells = [" ".join(row) + ', "a"' for row in rows]
    forms = {
        "sep": {"delimiter": ";"},
        "quotechar": {"quotechar": "'"},
        "escapechar": {"doublequote": False, "escapechar": "\\"},
    }
    for name in DIALECT:
        encoding = "utf-16" if name == "table_encoding" else "utf-8"
        with open(folder / f"{name}.csv", "w", encoding=encoding, newline="") as file:
            writer = csv.writer(file, **forms.get(name, {}))
            if name != "header":
                writer.writerow(["words", "number"])
            for number, (row, cell) in enumerate(zip(rows, cells, strict=True)):
                text = {"lists": json.dumps(row), "newlines": f"{cell}\n"}.get(name, cell)
                writer.writerow([text, number])


class Recorded(ValueError):
    """End of a command whose training has been recorded."""


@pytest.fixture
def record(monkeypatch, folder, tmp_path):
    """Return a function that runs the command up to the training, and returns both."""
    calls = []
    command = typer.main.get_command(app)  # once, because it takes longer than a run

    def train(model, corpus_iterable=None, corpus_file=None, callbacks=(), **arguments):
        source = corpus_file if corpus_iterable is None else corpus_iterable
        calls.append(
            SimpleNamespace(model=model, source=source, callbacks=callbacks, arguments=arguments)
        )
        raise Recorded("recorded")

    monkeypatch.setattr(TFWord2Vec, "train", train)
    monkeypatch.setattr(TFWord2Vec, "_open_process_launcher", lambda *_: None)
    monkeypatch.chdir(folder)
    (folder / FOLDER).mkdir(exist_ok=True)

    def run(*typed):
        calls.clear()
        source = "table.parquet" if "--column" in typed else "corpus.txt"
        for name in DIALECT:
            if [*typed][-len(DIALECT[name][0]) :] == DIALECT[name][0]:
                source = f"{name}.csv"
        source = "recursive" if "--recursive" in typed else source
        source = "edges.tsv" if "--walks" in typed else source
        piped_file = "edges.tsv" if "--walks" in typed else "corpus.txt"
        with ended_pipe((folder / piped_file).read_text(encoding="utf-8")) as pipe:
            arguments = [pipe if word == "-" else word for word in typed]
            source = [] if "-" in typed else [source]
            result = CliRunner().invoke(
                command, ["train", *source, "-o", str(tmp_path / "out"), *arguments]
            )
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.stderr
        return result.stderr, calls[0] if calls else None

    return run


@contextlib.contextmanager
def ended_pipe(text):
    """Yield the path of a pipe with a text of less than 64 KiB in it, as of ``<(cat file)``."""
    reader, writer = os.pipe()
    try:
        os.write(writer, text.encode())
        os.close(writer)
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)


def test_table_of_options_is_complete():
    names = inspect.signature(train).parameters.keys() - {"context"}
    assert names == RESULTS.keys() | OUTPUTS | OTHERS


@pytest.mark.parametrize("way", WAYS)
def test_options_reach_the_training_or_are_refused_by_name(record, way):
    of_way, refused = WAYS[way]
    failures = []
    for name, (typed, read, expected) in RESULTS.items():
        errors, call = record(*of_way, *typed)
        if name in refused:
            if call or not any(word in errors for word in (*typed, *of_way) if word[:2] == "--"):
                failures.append(f"{name} was not refused: {errors!r}")
        elif call is None:
            failures.append(f"{name} was refused: {errors!r}")
        else:
            value = read(call)
            if value != expected and str(value) != str(expected):
                failures.append(f"{name} is {value!r}, not {expected!r}")
            if name in ARGUMENTS and call.arguments[ARGUMENTS[name]] != expected:
                failures.append(f"{name}: {call.arguments}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(
    ("way", "is_refused"),
    [
        *[("new", False), ("model", False), ("vectors", False), ("fasttext", False)],
        *[("compass", False), ("doc2vec", True), ("doc2vec-model", True), ("stdin", True)],
    ],
)
def test_weight_of_a_table_reaches_the_training_or_is_refused(record, way, is_refused):
    errors, call = record(*WAYS[way][0], "--column", "words", "--weight", "w")
    assert (call is None) == is_refused
    if call:
        assert call.source.weight == "w"
    elif way != "stdin":
        assert "--weight w has no effect on documents" in errors


@pytest.mark.parametrize("way", ["new", "model", "vectors", "compass", "fasttext", "doc2vec"])
def test_outputs_are_written(tfw2v, folder, monkeypatch, tmp_path, way):
    monkeypatch.chdir(folder)
    small = ("--vector-size", 8) if way in ("new", "fasttext", "doc2vec") else ()
    files = ("-o", tmp_path / "out", "--vectors", tmp_path / "vectors", "--binary")
    tfw2v("train", "corpus.txt", *files, *small, "--epochs", 1, *WAYS[way][0])
    model = Word2Vec.load(str(tmp_path / "out"))
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "vectors"), binary=True)
    np.testing.assert_array_equal(vectors.vectors, model.wv.vectors)
