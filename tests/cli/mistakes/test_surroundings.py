"""Mistakes in what surrounds a command: its streams, environment variables, ports and disks."""

import json
import os
import socket
import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT
from tests.disks import fill, small_disk

FULL = "; free some space, or use a different disk\n"


@pytest.fixture
def shell(files):
    """Return a function that runs a line of bash in which ``$tfw2v`` runs the tool."""

    def run(line, status, **environment):
        result = subprocess.run(
            ["bash", "-c", line.format(**files)],
            cwd=ROOT,
            env={
                name: value
                for name, value in {
                    **os.environ,
                    "tfw2v": f"{sys.executable} -m gensim_tfw2v",
                    **environment,
                }.items()
                if value is not None
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == status, result.stderr
        assert "Traceback" not in result.stderr
        return result

    return run


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "line",
    [
        "$tfw2v info {model}",
        "$tfw2v -h",
        pytest.param("PYTHONUNBUFFERED=1 $tfw2v info {model}", id="unbuffered"),
    ],
)
def test_full_standard_output_is_named(shell, line):
    said = shell(f"{line} > /dev/full", 2).stderr
    assert said == f"tfw2v: standard output: No space left on device{FULL}"


def test_full_disk_is_named_with_the_file(shell, tmp_path):
    with small_disk(tmp_path / "disk", "128k") as disk:
        fill(disk, 8192)
        line = f"$tfw2v convert {{model}} {disk}/vectors.txt"
        assert shell(line, 2).stderr == f"tfw2v: {disk}/vectors.txt: No space left on device{FULL}"
        assert [path.name for path in disk.iterdir()] == ["fill"]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("$tfw2v neighbours {model} <&-", 2, "give a WORD, as an argument or on standard input"),
        ("$tfw2v vectors {model} <&-", 2, "standard input has no words; write one per line, as "),
        ("$tfw2v info {missing} >&-", 2, "{missing}: no such file"),
    ],
)
def test_closed_stream_counts_as_empty(shell, files, line, status, said):
    assert shell(line, status).stderr.startswith(f"tfw2v: {said.format(**files)}")


def test_closed_standard_error_keeps_the_status(shell):
    shell("$tfw2v info {missing} 2>&-", 2)


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": None},
        {"TERM": "nonsense"},
        {"COLUMNS": "20"},
        {"COLUMNS": "x"},
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_message_does_not_depend_on_the_terminal(shell, environment):
    said = shell("$tfw2v neighbours {model} the --topm 5", 2, **environment).stderr
    assert said == "tfw2v: neighbours has no option --topm. Did you mean --topn?\n"


def test_characters_that_cannot_be_printed_are_escaped(shell):
    said = shell("$tfw2v neighbours {model} 日本 $'\\e[31m'", 2, PYTHONIOENCODING="ascii").stderr
    assert said == (
        r"tfw2v: '\u65e5\u672c' is not in the vocabulary; '\x1b[31m' is not in the vocabulary"
        "\n"
    )
    assert shell("$tfw2v info $'a\\e[31m'", 2).stderr == "tfw2v: a\\x1b[31m: no such file\n"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TFW2V_ISA", "avx9000", "TFW2V_ISA='avx9000' is no kernel for this processor: set it to"),
        ("TFW2V_LOG_DIR", "-", "TFW2V_LOG_DIR is -, but standard input and output cannot be used"),
        ("TFW2V_LOG_DIR", "/proc/x", "--log-dir /proc/x: cannot be written to"),
    ],
)
def test_wrong_environment_variable_is_named(shell, tmp_path, name, value, said):
    line = f"$tfw2v train {{corpus}} -o {tmp_path}/out"
    assert shell(line, 2, **{name: value}).stderr.startswith(f"tfw2v: {said}")
    assert not list(tmp_path.iterdir())


def test_port_in_use_is_named_with_its_process(shell, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = shell(f"$tfw2v tensorboard {{f}} --port {port}", 2).stderr
        assert f"could not bind to port {port}" in said and f"process {os.getpid()}" in said
        hosts = tmp_path / "hosts.json"
        hosts.write_text(json.dumps({"ps": [f"127.0.0.1:{port}"], "worker": ["127.0.0.1:1"]}))
        said = shell(f"$tfw2v task --role ps --hosts {hosts}", 2).stderr
        assert f"cannot listen at port {port}: Address already in use by" in said
        assert "choose a different port" in said


@pytest.mark.parametrize("what", ["a command", "an option"])
def test_very_long_name_is_cut(shell, what):
    line = "$tfw2v $(printf 'x%.0s' {{1..5000}})" if what == "a command" else (
        "$tfw2v info --$(printf 'x%.0s' {{1..5000}})"
    )  # fmt: skip
    assert len(shell(line, 2).stderr) < 600
