"""Memory of merging, apart from its result, does not grow with the sub-models."""

import pytest

from benchmarks.process import call
from gensim_tfw2v.merging import METHODS
from tests.merging.memory import write_models


def measured(folder, words, size, models):
    """Figures by method, each measured in a separate process."""
    folder.mkdir()
    write_models(folder, models, words, size)
    given = {"folder": str(folder), "models": models, "words": words}
    return {
        method: call("tests.merging.memory:measure", given | {"method": method}, limit=600)[0]
        for method in METHODS
    }


def test_measurement_reports_memory_and_result_size(tmp_path):
    figures = measured(tmp_path / "few", words=500, size=4, models=3)
    assert all(figure["own"] > 1e7 for figure in figures.values())
    assert {figure["result"] for figure in figures.values()} == {500 * 4 * 8, 500 * 12 * 8}


@pytest.mark.slow
def test_memory_is_bounded(tmp_path):
    """Twelve sub-models of 1.2 GB in total need the result, a matrix of 128 MB, and pieces."""
    few = measured(tmp_path / "few", words=2000, size=100, models=12)
    many = measured(tmp_path / "many", words=140_000, size=100, models=12)
    for method, figure in many.items():
        assert figure["own"] - figure["result"] < few[method]["own"] + 0.35e9, method
