"""``tfw2v walks`` writes the walks on a graph, and ``tfw2v train --walks`` trains on them."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from gensim.models import Word2Vec
from pyarrow import feather, parquet

from gensim_tfw2v import RandomWalks, TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cli.walk_command import walks
from gensim_tfw2v.cli.walk_options import WALK_OPTIONS
from tests.cli.conftest import ROOT

QUICK = ("--vector-size", 8, "--epochs", 1, "--workers", 1)
SMALL = ("--num-walks", 3, "--walk-length", 12)

#: Options of walks as they are typed, with the arguments of `RandomWalks`.
TYPED = {
    "num_walks": (["--num-walks", "4"], 4),
    "walk_length": (["--walk-length", "7"], 7),
    "p": (["--p", "0.1"], 0.1),
    "q": (["--q", "10"], 10),
    "weight": (["--weight", "w"], "w"),
    "directed": (["--directed"], True),
    "restart": (["--restart", "0.5"], 0.5),
    "extend": (
        ["--weight", "w", "--extend", "--q", "10"],
        {"weight": "w", "extend": True, "q": 10},
    ),
    "seed": (["--seed", "9"], 9),
}


def two_cliques(name=str):
    """Return the edges of two cliques of nodes 0 to 7 and 8 to 15, which an edge joins."""
    edges = [(a, b) for a in range(16) for b in range(a) if a // 8 == b // 8]
    return [(name(a), name(b)) for a, b in [*edges, (7, 8)]]


def write_edges(path, edges):
    path.write_text("".join(f"{a}\t{b}\n" for a, b in edges), encoding="utf-8")
    return path


@pytest.fixture
def graph(tmp_path):
    """A list of edges between nodes whose names are a0 to a7 and b8 to b15."""
    return write_edges(tmp_path / "edges.tsv", two_cliques(lambda node: f"{'ab'[node // 8]}{node}"))


@pytest.fixture
def weighted(tmp_path):
    """A table of edges with weights in the column w."""
    path = tmp_path / "weighted.csv"
    lines = [f"{a},{b},{1 + a * b % 5}" for a, b in two_cliques(int)]
    path.write_text("\n".join(["source,target,w", *lines]))
    return path


@pytest.fixture
def integers(tmp_path):
    """A table of edges between nodes whose names are the integers 100 to 115."""
    edges = np.array(two_cliques(lambda node: 100 + node))
    path = tmp_path / "integers.parquet"
    parquet.write_table(pa.table({"src": edges[:, 0], "dst": edges[:, 1]}), path)
    return path


def read_walks(path):
    """Return the walks in a file as lists of names."""
    if path.suffix == ".parquet":
        return parquet.read_table(path)["walk"].to_pylist()
    if path.suffix in (".arrow", ".feather"):
        return feather.read_table(path)["walk"].to_pylist()
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()]


def counts_of(path):
    model = Word2Vec.load(str(path))
    return {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key}


def test_training_on_walks_learns_communities(tfw2v, graph, tmp_path):
    options = ("--walks", "--p", 0.5, "--q", 2, "--sg", "--vector-size", 16, "--epochs", 5)
    printed = tfw2v("train", graph, *options, "-o", tmp_path / "m.model").stdout
    assert "vocabulary 16 nodes x 16 dimensions" in printed
    assert "corpus     160 walks of 12,800 nodes, 5 epochs" in printed
    assert "nodes/s" in printed
    nearest = tfw2v("neighbours", tmp_path / "m.model", "a1", "b12", "-n", 5).stdout
    rows = [line.split("\t") for line in nearest.splitlines()[1:]]
    assert len(rows) == 10
    assert all(node[0] == neighbour[0] for node, neighbour, _ in rows)


def test_defaults_are_those_of_random_walks():
    expected = inspect.signature(RandomWalks).parameters
    for command, names in ((train, WALK_OPTIONS), (walks, {*WALK_OPTIONS, "seed"} - {"fixed"})):
        parameters = inspect.signature(command).parameters
        assert {name: parameters[name].default for name in names} == {
            name: expected[name].default for name in names
        }


@pytest.mark.parametrize("name", TYPED)
def test_option_of_walks_reaches_them(tfw2v, weighted, tmp_path, name):
    typed, value = TYPED[name]
    arguments = value if isinstance(value, dict) else {name: value}
    tfw2v("walks", weighted, "-o", tmp_path / "walks.parquet", *typed)
    written = read_walks(tmp_path / "walks.parquet")
    assert written == list(RandomWalks(weighted, **arguments))
    without = {} if name != "extend" else {"weight": "w", "q": 10}
    assert written != list(RandomWalks(weighted, **without))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "txt", "txt.gz"])
def test_written_walks_have_the_counts_of_trained_walks(tfw2v, graph, tmp_path, suffix):
    path = tmp_path / f"walks.{suffix}"
    printed = tfw2v("walks", graph, "-o", path, *SMALL).stdout
    assert "graph      16 nodes\nwalks      48 of up to 12 nodes\n" in printed
    assert printed.endswith(f"saved      {path}\n")
    is_table = not suffix.startswith("txt")
    column = ("--column", "walk") if is_table else ()
    tfw2v("train", path, *column, "--min-count", 1, "-o", tmp_path / "file", *QUICK)
    tfw2v("train", graph, "--walks", "--fixed", *SMALL, "-o", tmp_path / "drawn", *QUICK)
    assert counts_of(tmp_path / "file") == counts_of(tmp_path / "drawn")
    assert sum(counts_of(tmp_path / "file").values()) == 48 * 12


def test_walks_that_end_early_are_shorter_rows(tfw2v, tmp_path):
    path = write_edges(tmp_path / "path.tsv", [("a", "b"), ("b", "c")])
    options = ("--directed", "--num-walks", 1)
    for suffix in ("parquet", "txt"):
        tfw2v("walks", path, *options, "-o", tmp_path / f"walks.{suffix}")
        rows = read_walks(tmp_path / f"walks.{suffix}")
        assert sorted(rows) == [["a", "b", "c"], ["b", "c"], ["c"]]


def test_integers_are_written_and_trained_as_integers(tfw2v, integers, tmp_path):
    tfw2v("walks", integers, "-o", tmp_path / "walks.parquet", *SMALL)
    assert parquet.read_schema(tmp_path / "walks.parquet").field("walk").type.value_type == "int64"
    tfw2v("train", integers, "--walks", *SMALL, "-o", tmp_path / "model", *QUICK)
    assert sorted(counts_of(tmp_path / "model")) == list(range(100, 116))
    (tmp_path / "starts").write_text("103\r\n105\r\n")
    tfw2v(
        *("walks", integers, "--start-nodes", tmp_path / "starts", "--num-walks", 1),
        *("-o", tmp_path / "walks.txt"),
    )
    assert sorted(walk[0] for walk in read_walks(tmp_path / "walks.txt")) == ["103", "105"]


def test_integer_nodes_are_known_to_log_words(tfw2v, integers, tmp_path):
    pytest.importorskip("tensorboard")
    log = ("--log-dir", tmp_path / "log", "--projector-words", 0, "--log-words", 105)
    arguments = ("train", integers, "--walks", *SMALL, *QUICK, "-o", tmp_path / "model")
    said = tfw2v(*arguments, *log, "--log-words", 5).stderr
    assert said == "tfw2v: --log-words: '5' is not in the vocabulary\n"


@pytest.fixture
def triples(tmp_path):
    """A list of edges between 16 nodes, with the relations same and next."""
    path = tmp_path / "triples.tsv"
    lines = [f"n{a}\t{'same' if a // 8 == b // 8 else 'next'}\tn{b}" for a, b in two_cliques(int)]
    path.write_text("\n".join(["source\trelation\ttarget", *lines]))
    return path


def test_relations_are_words_of_walks(tfw2v, triples, tmp_path):
    typed = ("--relation", "relation", "--directed", *SMALL)
    printed = tfw2v("walks", triples, *typed, "-o", tmp_path / "walks.txt").stdout
    assert "graph      16 nodes\nwalks      48 of up to 12 nodes\n" in printed
    expected = RandomWalks(triples, 3, 12, relation="relation", directed=True)
    assert read_walks(tmp_path / "walks.txt") == list(expected)
    printed = tfw2v("train", triples, "--walks", *typed, *QUICK, "-o", tmp_path / "model").stdout
    assert "vocabulary 18 words x 8 dimensions\n" in printed and "48 walks of " in printed
    counts = counts_of(tmp_path / "model")
    assert len(counts) == 18 and counts["same"] > counts["next"] > 0


def test_integer_nodes_and_relations_are_written_as_strings(tfw2v, tmp_path):
    path = tmp_path / "triples.parquet"
    table = {"source": [1, 2, 3], "relation": ["is", "has", "is"], "target": [2, 3, 1]}
    parquet.write_table(pa.table(table), path)
    typed = ("--relation", "relation", "--directed", "--num-walks", 1, "--walk-length", 3)
    tfw2v("walks", path, *typed, "-o", tmp_path / "walks.parquet")
    assert sorted(read_walks(tmp_path / "walks.parquet")) == [
        ["1", "is", "2", "has", "3"],
        ["2", "has", "3", "is", "1"],
        ["3", "is", "1", "is", "2"],
    ]


def test_walks_follow_metapaths(tfw2v, triples, tmp_path):
    types = tmp_path / "types.txt"
    types.write_text(
        "".join(f"n{node} {'even' if node % 2 == 0 else 'odd'}\n" for node in range(16))
    )
    typed = ("--node-types", types, "--metapath", "odd, odd,even,odd")
    tfw2v("walks", triples, *typed, *SMALL, "-o", tmp_path / "walks.txt")
    walks = read_walks(tmp_path / "walks.txt")
    assert len(walks) == 3 * 8
    assert all([int(name[1:]) % 2 for name in walk] == [1, 1, 0] * 4 for walk in walks)
    typed = ("--relation", "relation", "--metapath", "next,same", "--directed")
    printed = tfw2v("train", triples, "--walks", *typed, *QUICK, "-o", tmp_path / "model").stdout
    assert "10 walks of 20 nodes" in printed
    errors = tfw2v("walks", triples, "--metapath", "a,b", "-o", tmp_path / "w.txt", status=2).stderr
    assert errors == (
        "tfw2v: --metapath needs the types of the nodes or of the edges: set --node-types or "
        "--relation\n"
    )


def test_names_with_blanks_need_a_table(tfw2v, tmp_path):
    path = write_edges(tmp_path / "places.tsv", [("New York", "Rome"), ("Rome", "Paris")])
    for suffix in ("txt", "txt.gz"):
        errors = tfw2v("walks", path, "-o", tmp_path / f"walks.{suffix}", status=2).stderr
        assert f"{path}: the name 'New York' contains a blank" in errors
    assert [file.name for file in tmp_path.iterdir()] == ["places.tsv"]
    tfw2v("walks", path, "-o", tmp_path / "walks.parquet")
    assert {name for walk in read_walks(tmp_path / "walks.parquet") for name in walk} == {
        *("New York", "Rome", "Paris"),
    }


def test_dash_reads_edges_from_standard_input_and_writes_text_to_standard_output(
    process, tfw2v, graph, tmp_path
):
    tfw2v("walks", graph, *SMALL, "-o", tmp_path / "walks.txt")
    result = process("walks", "-", *SMALL, "-o", "-", input=graph.read_text())
    assert result.returncode == 0, result.stderr
    assert result.stdout == (tmp_path / "walks.txt").read_text()
    assert result.stderr == ""
    output = tmp_path / "model"
    result = process("train", "-", "--walks", *SMALL, *QUICK, "-o", output, input=graph.read_text())
    assert result.returncode == 0, result.stderr
    assert len(counts_of(output)) == 16


def test_seed_of_the_model_is_that_of_the_walks(tfw2v, graph, tmp_path):
    vectors = {}
    for name, seed in (("first", 5), ("again", 5), ("different", 6)):
        tfw2v("train", graph, "--walks", *SMALL, *QUICK, "--seed", seed, "-o", tmp_path / name)
        vectors[name] = counts_of(tmp_path / name)
    assert vectors["first"] == vectors["again"] != vectors["different"]
    expected = RandomWalks(graph, 3, 12, seed=5)
    nodes, counts = np.unique(expected.sample(), return_counts=True)
    assert vectors["first"] == {
        expected.names[node]: count for node, count in zip(nodes, counts, strict=True)
    }


def test_rarely_visited_nodes_keep_their_vectors(tfw2v, graph, tmp_path):
    rare = ("--walks", "--num-walks", 1, "--walk-length", 2, *QUICK)
    tfw2v("train", graph, *rare, "-o", tmp_path / "model")
    assert len(counts_of(tmp_path / "model")) == 16
    errors = tfw2v("train", graph, *rare, "--min-count", 99, "-o", tmp_path / "m", status=2).stderr
    assert errors == (
        "tfw2v: walks visit no node often enough; lower --min-count, or raise --num-walks\n"
    )


def test_models_and_vectors_are_trained_further_on_walks(tfw2v, graph, tmp_path):
    files = ("-o", tmp_path / "model", "--vectors", tmp_path / "vectors.txt")
    tfw2v("train", graph, "--walks", *SMALL, *QUICK, *files)
    grown = write_edges(tmp_path / "grown.tsv", [("a0", "new"), ("new", "newer")])
    for init in ("model", "vectors.txt"):
        typed = ("--init", tmp_path / init, "--num-walks", 1, "--walk-length", 2, "--epochs", 1)
        tfw2v("train", grown, "--walks", *typed, "-o", tmp_path / "more")
        model = TFWord2Vec.load(str(tmp_path / "more"))
        assert len(model.wv) == 18 and {"new", "newer"} <= model.wv.key_to_index.keys()
    tfw2v("train", graph, "--walks", "--compass", tmp_path / "model", "-o", tmp_path / "slice")
    assert len(TFWord2Vec.load(str(tmp_path / "slice")).wv) == 16


def test_fasttext_is_trained_on_walks(tfw2v, graph, tmp_path):
    options = ("--fasttext", "--bucket", 50, "--min-n", 1, *SMALL, *QUICK)
    tfw2v("train", graph, "--walks", *options, "-o", tmp_path / "model")
    model = TFFastText.load(str(tmp_path / "model"))
    assert len(model.wv) == 16 and model.wv["a99"].shape == (8,)


def test_models_that_walks_cannot_train_are_refused(tfw2v, graph, integers, tmp_path):
    errors = tfw2v("train", graph, "--walks", "--doc2vec", "-o", tmp_path / "m", status=2).stderr
    assert errors == (
        "tfw2v: --doc2vec excludes --walks, because walks have no tags; leave one of them out\n"
    )
    texts = tmp_path / "texts.txt"
    texts.write_text("one two one two\n" * 9)
    TFDoc2Vec(corpus_file=str(texts), vector_size=4, epochs=1).save(str(tmp_path / "documents"))
    TFWord2Vec(corpus_file=str(texts), vector_size=4, epochs=1).save(str(tmp_path / "strings"))
    TFWord2Vec([[1, 2, 3]] * 9, vector_size=4, epochs=1).save(str(tmp_path / "numbers"))
    for source, init, message in (
        (graph, "documents", "holds a TFDoc2Vec; --walks needs a Word2Vec or FastText model"),
        (
            graph,
            "numbers",
            "its words are integers, but the names of the graph's nodes are strings",
        ),
        (integers, "strings", "its words are strings, but the names of the graph's nodes are inte"),
    ):
        typed = ("--walks", "--init", tmp_path / init, "-o", tmp_path / "m")
        errors = tfw2v("train", source, *typed, status=2).stderr
        assert errors.startswith(f"tfw2v: {tmp_path / init}: {message}"), errors
    assert not (tmp_path / "m").exists()


def test_training_on_walks_resumes_from_its_checkpoint(tfw2v, graph, tmp_path):
    typed = ("--walks", *SMALL, *QUICK, "--checkpoint-dir", tmp_path / "kept")
    tfw2v("train", graph, *typed, "-o", tmp_path / "first")
    printed = tfw2v("train", graph, *typed, "-o", tmp_path / "again").stdout
    assert "resumed    576 of 576 nodes had been trained before" in printed
    first, again = (TFWord2Vec.load(str(tmp_path / name)).wv for name in ("first", "again"))
    np.testing.assert_array_equal(first.vectors, again.vectors)


def test_bars_of_walks_count_walks(tfw2v, graph, tmp_path):
    typed = ("--walks", *QUICK, "--epochs", 2, "--progress", "-o", tmp_path / "model")
    shown = tfw2v("train", graph, *typed).stderr.replace("\r", "\n")
    starts = [f"{name}:" for name in ("counting nodes", "training")]
    bars = {
        start: [line for line in shown.split("\n") if line.startswith(start)] for start in starts
    }
    assert "reading the graph ..." in shown
    assert all("/160 [" in bar and "walks/s" in bar for bar in bars["counting nodes:"])
    assert all("/320 [" in bar and "walks/s" in bar for bar in bars["training:"])
    assert bars["counting nodes:"] and bars["training:"]


def run_and_measure(*arguments):
    """Run a command, and return its peak memory in MiB."""
    command = [sys.executable, "-m", "gensim_tfw2v", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    killing = threading.Timer(300, process.kill)
    killing.start()
    _, status, usage = os.wait4(process.pid, 0)
    killing.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="other systems measure memory in other units")
@pytest.mark.parametrize("suffix", ["txt", pytest.param("parquet", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_number_of_walks(graph, tmp_path, suffix):
    path = tmp_path / f"walks.{suffix}"
    # more batches than are drawn ahead
    peak = run_and_measure("walks", graph, "--num-walks", 4_000, "-o", path)
    # the additional numbers of nodes have 58 MiB
    larger_peak = run_and_measure("walks", graph, "--num-walks", 16_000, "-o", path)
    assert larger_peak < peak + 20
    # there are as many numbers in few long walks
    long_peak = run_and_measure(
        *("walks", graph, "--num-walks", 10, "--walk-length", 128_000, "-o", path)
    )
    assert long_peak < peak + 100


def test_interrupted_command_leaves_no_file(graph, tmp_path):
    command = ("walks", graph, "--num-walks", 1_000_000, "-o", tmp_path / "walks.txt")
    process = subprocess.Popen(
        [sys.executable, "-m", "gensim_tfw2v", *map(str, command)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120  # seconds until the first walks are in the hidden file
        while not any(file.stat().st_size for file in tmp_path.rglob("walks.txt")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline, "no walks were written"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait(60)
    assert process.returncode == 130
    assert errors == "tfw2v: interrupted\n"
    assert os.listdir(tmp_path) == ["edges.tsv"]
