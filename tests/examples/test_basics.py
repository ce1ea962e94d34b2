"""The basics notebook: committed outputs, and a run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
BASICS = ROOT / "examples" / "basics.ipynb"


def test_each_cell_shows_its_output():
    cells = nbformat.read(BASICS, as_version=4).cells
    assert len(cells) == 10
    assert all(cell.outputs for cell in cells if cell.cell_type == "code")


def test_basics_notebook_runs(tmp_path):
    copy = shutil.copy(BASICS, tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbmake", "-p", "no:cacheprovider"]
        + ["--rootdir", tmp_path, copy],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
