"""Example scripts, run as by a user, and their output."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

NEIGHBOURS = {
    "attacks": {"September", "11", "terrorist"},
    "government": {"interim", "agreement", "government,", "Karzai"},
    "cricket": {"Test", "captain", "squad", "African", "batsman"},
}


@pytest.fixture
def printed(tmp_path):
    """Return a function that runs a script in an empty folder and returns its output lines."""

    def run(name):
        result = subprocess.run(
            [sys.executable, EXAMPLES / name],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr
        assert not list(tmp_path.iterdir())
        return result.stdout.splitlines()

    return run


def check_neighbours(lines):
    """Check that the last lines contain neighbours that any sound training finds."""
    found = dict(line.split(": ", 1) for line in lines[-len(NEIGHBOURS) :])
    assert found.keys() == NEIGHBOURS.keys()
    for word, sound in NEIGHBOURS.items():
        neighbours = re.findall(r"(\S+) (0\.\d\d)(?:, |$)", found[word])
        assert len(neighbours) == 5
        assert sound & {neighbour for neighbour, _ in neighbours}, found[word]


def test_every_script_is_tested_and_explains_how_to_run_it():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {
        "drop_in.py", "local_cluster.py", "continue_gensim.py", "tf_config_job.py", "sub_models.py"
    }  # fmt: skip
    for name in names:
        assert f"``python examples/{name}``" in (EXAMPLES / name).read_text()


def test_drop_in_prints_neighbours(printed):
    lines = printed("drop_in.py")
    assert len(lines) == 3
    check_neighbours(lines)


@pytest.mark.slow
def test_local_cluster_prints_traffic_and_neighbours(printed):
    lines = printed("local_cluster.py")
    check_neighbours(lines)
    network = r"network    [\d.]+ MB, (\d+) bytes per trained word"
    assert 20 < int(re.fullmatch(network, lines[0])[1]) < 1000
    assert 98 <= sum(map(int, re.findall(r"(\d+)%", lines[1]))) <= 102
    units = re.fullmatch(r"work units (\d+), 0 of them repeated", lines[2])
    assert int(units[1]) >= 40 and lines[3].startswith("staleness")


def test_continue_gensim_prints_four_models(printed):
    models = {}
    for line in printed("continue_gensim.py"):
        name, kind, words, times, nearest = re.fullmatch(
            r"(.+): (\w+), (\d+) words, trained (\d) times, nearest to attacks: (.+)", line
        ).groups()
        models[name] = kind, int(words), int(times), nearest
    (gensim, went_on, back, alone) = models.values()
    assert list(models) == ["gensim", "continued", "back", "vectors only"]
    assert [model[0] for model in models.values()] == [
        "Word2Vec", "TFWord2Vec", "Word2Vec", "TFWord2Vec"
    ]  # fmt: skip
    assert went_on[1] > gensim[1] and alone[1] == went_on[1]  # new words were added
    assert [gensim[2], went_on[2], alone[2]] == [1, 2, 1]
    assert back[1:] == went_on[1:]
    assert gensim[3] != went_on[3]


@pytest.mark.slow  # other tests read TF_CONFIG too
def test_tf_config_job_starts_and_stops_its_tasks(printed):
    lines = printed("tf_config_job.py")
    check_neighbours(lines)
    tasks = ["ps 0", "worker 0", "worker 1"]
    for task, line in zip(tasks, lines[:3], strict=True):
        host, port = re.fullmatch(rf"{task} at (.+):(\d+)", line).groups()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5).close()
    assert lines[3:6] == [f"{task} exited" for task in tasks]


@pytest.mark.slow  # equivalent commands are always tested
def test_sub_models_prints_merged_neighbours(printed):
    lines = printed("sub_models.py")
    assert len(lines) == 8
    first, second = lines[:4], lines[4:]
    assert first[0].startswith("words of 3 sub-models: in all: 1,7")
    assert second[0].startswith("words of 2 sub-models: in all: ")
    missing = int(re.search(r"in 1 of 2: ([\d,]+)", second[0])[1].replace(",", ""))
    assert 200 < missing < 2000
    check_neighbours(first)
    check_neighbours(second)
