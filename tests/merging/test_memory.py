"""What merging holds in memory beside its result does not grow with the sub-models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gensim_tfw2v.merging import METHODS

ROOT = Path(__file__).parents[2]


def measured(**options):
    """Figures by method, of a process of its own."""
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "benchmarks.merge_memory", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["method"]: line for line in lines[1:]}


def test_the_measurement():
    figures = measured(words=500, size=4, models=3)
    assert set(figures) == set(METHODS)
    assert all(figure["seconds"] >= 0 and figure["own_gb"] > 0 for figure in figures.values())


@pytest.mark.slow
def test_memory_is_bounded(tmp_path):
    """Twelve sub-models of 1.2 GB in all: their result, 128 MB of a matrix, and pieces."""
    few = measured(words=2000, size=100, models=12, folder=tmp_path)
    many = measured(words=140_000, size=100, models=12, folder=tmp_path)
    for method, figure in many.items():
        beside = figure["own_gb"] - figure["result_gb"]
        assert beside < few[method]["own_gb"] + 0.35, method
