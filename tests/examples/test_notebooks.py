"""The short notebooks: committed outputs, and a run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

#: Number of cells of each notebook.
NOTEBOOKS = {"basics": 10, "graphs": 12}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_cell_shows_its_output(name):
    cells = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4).cells
    assert len(cells) == NOTEBOOKS[name]
    assert all(cell.outputs for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name, tmp_path):
    copy = shutil.copy(EXAMPLES / f"{name}.ipynb", tmp_path)
    shutil.copy(EXAMPLES / "les-miserables.tsv", tmp_path)
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
