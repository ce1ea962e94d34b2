"""The tutorial: its committed outputs, and a run of it."""

import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from statistics import fmean

import nbformat
import numpy as np
import psutil
import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "examples" / "tutorial.ipynb"

#: AUCs change from run to run, for threads train beside each other: how much the mean of a row may,
#: and how much each.
MEAN, EACH = 0.04, 0.1

ROW = re.compile(r"^(\S.*?) {2,}((?:0\.\d{3} ±0\.\d{3} *){4})$", re.MULTILINE)


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outputs(path):
    return [output for cell in code_cells(path) for output in cell.outputs]


def images(path):
    return [o for o in outputs(path) if "image/png" in o.get("data", {})]


def printed(path):
    return "".join(output.text for output in outputs(path) if output.output_type == "stream")


def aucs(path):
    """Mean AUCs of the tables, by row: of each detector, of each class."""
    return {
        name: [float(mean) for mean in re.findall(r"(0\.\d{3}) ±", cells)]
        for name, cells in ROW.findall(printed(path))
    }


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A copy that nbmake has executed with this Python; none of its processes is left."""
    path = tmp_path_factory.mktemp("tutorial") / TUTORIAL.name
    shutil.copy(TUTORIAL, path)
    mark = {"TUTORIAL_RUN": uuid.uuid4().hex}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", "--nbmake-timeout=600"]
        + ["-p", "no:cacheprovider", "--rootdir", path.parent, path],
        cwd=path.parent,
        env=os.environ | mark | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    left = [process for process in psutil.process_iter() if has_mark(process, mark)]
    assert not left, left
    return path


def has_mark(process, mark):
    try:
        return mark.items() <= process.environ().items()
    except psutil.Error:
        return False


def test_committed_outputs_are_of_one_run_from_the_top():
    cells = code_cells(TUTORIAL)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert len(images(TUTORIAL)) >= 3
    assert all(output.output_type in ("stream", "display_data") for output in outputs(TUTORIAL))
    assert all(output.get("name", "stdout") == "stdout" for output in outputs(TUTORIAL))
    assert not re.search(r"warning|/(tmp|home|root|usr)/", printed(TUTORIAL), re.IGNORECASE)


def test_it_runs_and_gives_what_the_committed_copy_shows(executed):
    committed, found = aucs(TUTORIAL), aucs(executed)
    assert committed.keys() == found.keys() >= {"bag of words", "vectors", "cluster"}
    for name, shown in committed.items():
        assert found[name] == pytest.approx(shown, abs=EACH), name
        assert fmean(found[name]) == pytest.approx(fmean(shown), abs=MEAN), name
    assert len(images(executed)) == len(images(TUTORIAL))


def test_vectors_are_better_than_a_bag_of_words(executed):
    found = aucs(executed)
    assert all(np.array(found["vectors"]) > found["bag of words"])
    assert fmean(found["vectors"]) == pytest.approx(fmean(found["gensim's vectors"]), abs=MEAN)
    assert fmean(found["vectors"]) - fmean(found["cluster"]) < 0.04
    assert fmean(found["cluster"]) > fmean(found["bag of words"]) + 0.1
