"""The tutorial notebook: committed outputs, and a run."""

import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import fmean

import nbformat
import numpy as np
import psutil
import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "examples" / "tutorial.ipynb"

#: Tolerances of the mean AUC of a row, and of each AUC: results vary because threads train in
#: parallel.
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
    """Return the mean AUCs of each row of the tables, by the row's name."""
    return {
        name: [float(mean) for mean in re.findall(r"(0\.\d{3}) ±", cells)]
        for name, cells in ROW.findall(printed(path))
    }


#: Replacements that shorten a run to seconds; its figures mean nothing.
SHORTENED = {
    "epochs=10": "epochs=1",
    "vector_size=100, window=10": "vector_size=20, window=2",
    "lsa(dimensions=100)": "lsa(dimensions=10)",
    "n_splits=10": "n_splits=2",
    "seed in (2, 3)": "seed in (2,)",
    'extract_pages(file, filter_namespaces=("0",))': (
        '[page for _, page in zip(range(50), extract_pages(file, filter_namespaces=("0",)))]'
    ),
    "IsolationForest(random_state": "IsolationForest(n_estimators=10, random_state",
}


def execute(folder, less=()):
    """Execute a copy with nbmake and this Python; wait until its processes have ended."""
    path = folder / TUTORIAL.name
    notebook = nbformat.read(TUTORIAL, as_version=4)
    for cell in notebook.cells:
        for much, little in dict(less).items():
            cell.source = cell.source.replace(much, little)
    nbformat.write(notebook, path)
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
    deadline = time.monotonic() + 60
    while left := [process for process in psutil.process_iter() if has_mark(process, mark)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    return path


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Path of a copy executed without changes."""
    return execute(tmp_path_factory.mktemp("tutorial"))


def has_mark(process, mark):
    try:
        return mark.items() <= process.environ().items()
    except psutil.Error:
        return False


def test_committed_outputs_come_from_one_complete_run():
    cells = code_cells(TUTORIAL)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert len(images(TUTORIAL)) >= 3
    assert all(output.output_type in ("stream", "display_data") for output in outputs(TUTORIAL))
    assert all(output.get("name", "stdout") == "stdout" for output in outputs(TUTORIAL))
    assert not re.search(r"warning|/(tmp|home|root|usr)/", printed(TUTORIAL), re.IGNORECASE)


def test_shortened_tutorial_runs(tmp_path):
    """24 s of CPU: a separate process runs all cells."""
    code = "".join(cell.source for cell in code_cells(TUTORIAL))
    assert all(code.count(much) == 1 for much in SHORTENED)
    quick = execute(tmp_path, SHORTENED)
    assert aucs(quick).keys() == aucs(TUTORIAL).keys()
    assert len(images(quick)) == len(images(TUTORIAL))
    assert all(0 <= auc <= 1 for row in aucs(quick).values() for auc in row)


@pytest.mark.slow
def test_full_run_reproduces_the_committed_results(executed):
    committed, found = aucs(TUTORIAL), aucs(executed)
    assert committed.keys() == found.keys() >= {"bag of words", "vectors", "cluster"}
    for name, shown in committed.items():
        assert found[name] == pytest.approx(shown, abs=EACH), name
        assert fmean(found[name]) == pytest.approx(fmean(shown), abs=MEAN), name
    assert len(images(executed)) == len(images(TUTORIAL))


@pytest.mark.slow
def test_vectors_beat_a_bag_of_words(executed):
    found = aucs(executed)
    assert all(np.array(found["vectors"]) > found["bag of words"])
    assert fmean(found["vectors"]) == pytest.approx(fmean(found["gensim's vectors"]), abs=MEAN)
    assert fmean(found["vectors"]) - fmean(found["cluster"]) < 0.04
    assert fmean(found["cluster"]) > fmean(found["bag of words"]) + 0.1
