import os
import subprocess
import sys
from pathlib import Path

import pytest

from gensim_tfw2v.cluster.launcher import why_no_namespace
from gensim_tfw2v.processes import children

HEAD = "import atexit, sys\nfrom gensim_tfw2v.processes.children import run_and_exit\n"


def leave(body):
    """Run a function with this body by `run_and_exit` in another process."""
    lines = [f"    {line}" for line in body.splitlines()]
    code = "\n".join([HEAD, "def run():", *lines, "run_and_exit(run)"])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('too much')", 1, "too much\n"),
        ("raise ValueError('as asked')", 1, "ValueError: as asked\n"),
    ],
)
def test_exit_status_and_error_reach_the_parent(body, status, error):
    left = leave(body)
    assert left.returncode == status
    assert left.stderr.endswith(error) and bool(left.stderr) == bool(error)


def test_atexit_handlers_run_and_objects_are_not_destroyed():
    left = leave(
        "class Loud:\n"
        "    def __del__(self): print('taken apart')\n"
        "sys.modules['kept'] = Loud()\n"
        "atexit.register(print, 'done', end='')\n"  # the handler itself does not flush
    )
    assert left.stdout == "done" and left.returncode == 0


def test_closed_output_does_not_change_the_exit_status():
    assert leave("print('x')\nsys.stdout.close()\nsys.exit(3)").returncode == 3


@pytest.mark.parametrize("executable", ["", None])
def test_embedded_python_can_start_processes(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    found = children.python()
    version = [found, "-c", "import sys; print(*sys.version_info[:2])"]
    said = subprocess.run(version, capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(part) for part in sys.version_info[:2]]
    with children.start_module("tests.forked", "nothing") as process:
        assert process.wait(60) == 0
    assert isinstance(why_no_namespace(), str)


def test_missing_interpreter_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    for name in ("prefix", "base_prefix"):
        monkeypatch.setattr(sys, name, "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RuntimeError, match="set sys.executable to an interpreter"):
        children.start_module("tests.forked")


def test_entries_of_the_path_that_are_not_strings_are_left_out(monkeypatch):
    monkeypatch.setattr(sys, "path", [Path("somewhere"), "elsewhere", *sys.path])
    paths = children._make_environment({})["PYTHONPATH"].split(os.pathsep)
    assert "elsewhere" in paths and "somewhere" not in paths
