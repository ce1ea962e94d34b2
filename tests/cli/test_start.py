"""Standard streams of tfw2v that are closed or have a limited encoding."""

import json
import os
import subprocess
import sys

import pytest
from gensim.models import KeyedVectors, Word2Vec

from tests.cli.conftest import ROOT

QUICK = ("--vector-size", 4, "--epochs", 1, "--workers", 1)
ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


def run(*arguments, shell="", environment=None):
    """Run tfw2v in a separate process, with its streams redirected as in `shell`."""
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "gensim_tfw2v"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        env=os.environ | (environment or {}),
        timeout=300,
    )


@pytest.mark.parametrize("shell", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_training_works_with_closed_streams(corpus, tmp_path, shell):
    path = tmp_path / "model"
    assert run("train", corpus, "-o", path, *QUICK, shell=shell).returncode == 0
    assert Word2Vec.load(str(path)).vector_size == 4


def test_cluster_training_works_with_closed_streams(corpus, tmp_path):
    """5 s of CPU: the command's processes are not forked, so each imports TensorFlow."""
    path = tmp_path / "model"
    on = ("--cluster", "local:ps=1,worker=1")
    assert run("train", corpus, "-o", path, *QUICK, *on, shell=">&- 2>&-").returncode == 0
    assert Word2Vec.load(str(path)).vector_size == 4


def test_errors_are_not_printed_to_stdout(tmp_path):
    failed = run("train", tmp_path / "missing", "-o", tmp_path / "model", shell="2>&-")
    assert (failed.returncode, failed.stdout) == (2, b"")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_characters_outside_the_encoding_are_escaped(tmp_path, encoding):
    """Printing must not fail after everything is saved."""
    environment = ENCODINGS[encoding]
    text, model = tmp_path / "m\u0142yn.txt", tmp_path / "m\u0142yn"
    text.write_text("\u017c\u00f3\u0142w je tu \u017c\u00f3\u0142w\n" * 9, encoding="utf-8")
    options = ("--min-count", 1, *QUICK, "--progress")
    trained = run("train", text, "-o", model, *options, environment=environment)
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout.splitlines()[-1].startswith(b"saved")
    found = run("neighbours", model, "tu", environment=environment)
    assert found.returncode == 0, found.stderr
    assert rb"\u017c" in found.stdout


def test_json_is_valid_in_latin1(tmp_path):
    vectors, pairs = KeyedVectors(2), tmp_path / "m\u0142yn.tsv"
    vectors.add_vectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
    vectors.save(str(tmp_path / "vectors"))
    pairs.write_text("a\tb\t1\nb\tc\t3\na\tc\t2\n")
    command = ("evaluate", tmp_path / "vectors", pairs, "--no-standard", "--json")
    said = run(*command, environment={"PYTHONIOENCODING": "latin-1"}).stdout
    assert list(json.loads(said)["pairs"]) == [str(pairs)]
