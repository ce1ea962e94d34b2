"""Vectors are as sane as gensim's far from the defaults: a cut of `benchmarks.options`."""

import json

import pytest

from benchmarks.options.cells import draw_cells
from benchmarks.options.corpora import write_corpora
from benchmarks.options.judge import judge
from benchmarks.options.page import markdown, summary
from benchmarks.options.run import measured, record_path, seeds

#: Multiplications of cells that gensim trains in a fraction of a second, where a row of few numbers
#: takes as long as one of `FEW`.
CHEAP, FEW = 6e8, 50
CELLS = [
    cell
    for cell in draw_cells()
    if cell.cost * max(1, FEW / cell.vector_size) < CHEAP and cell.corpus != "words"
][:60]

#: How many of them are trained always: they were drawn in random order.
ALWAYS = 30

#: What differs: it is on the benchmark's page, too.
DIFFERENT = {
    ("walks", "CBOW", 5, 5): "loss",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpora(None, tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="module")
def few_seeds():
    """Two trainings of each class, where the benchmark may have more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "benchmarks.options.judge.seeds", lambda cell, engine: seeds(cell, engine)[:2]
        )
        yield


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, marks=[pytest.mark.slow] if number >= ALWAYS else [], id=cell.name)
        for number, cell in enumerate(CELLS)
    ],
)
def test_cells(cell, files, few_seeds, tmp_path):
    for engine in ("gensim", "machine"):
        for seed in seeds(cell, engine)[:2]:
            record = measured(cell, files[cell.corpus], engine, seed)
            record_path(tmp_path, cell, engine, seed).write_text(json.dumps(record))
    verdict = judge(cell, tmp_path, "machine")
    faults = {*verdict.faults} - {
        DIFFERENT.get((cell.corpus, cell.objective, cell.window, cell.negative))
    }
    if cell.corpus == "ten words":  # whose few neighbours differ by chance
        faults -= {"neighbours"}
    assert not faults, verdict
    assert "1 cells; gensim's result is usable in 1" in summary([verdict])
    assert f"| {cell.objective} | {cell.window} |" in markdown([verdict], "machine")


def test_the_grid():
    cells = draw_cells()
    assert len(cells) >= 300 and len({cell.name for cell in cells}) == len(cells)
    assert cells == draw_cells() and len(CELLS) == 60
