"""Options far from the defaults give vectors like gensim's: a part of `benchmarks.options`."""

import json

import pytest

from benchmarks.options.cells import draw_cells
from benchmarks.options.corpora import write_corpora
from benchmarks.options.judge import judge
from benchmarks.options.page import as_document, markdown, options_of, summary
from benchmarks.options.run import measure_cell, record_path, seeds
from benchmarks.report import begin

#: Maximum cost of a cell in multiplications, for which gensim needs a fraction of a second.
#: Vectors shorter than `FEW` cost as much as those of size `FEW`.
CHEAP, FEW = 6e8, 50
CELLS = [
    cell
    for cell in draw_cells()
    if cell.cost * max(1, FEW / cell.vector_size) < CHEAP and cell.corpus != "words"
][:60]

#: Number of cells that are not marked slow. They were drawn in random order.
ALWAYS = 30

#: Known differences, also listed on the benchmark's page.
DIFFERENT = {
    ("walks", "CBOW", 5, 5): "loss",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpora(None, tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="module")
def few_seeds():
    """Limit the judge to two seeds per class; the benchmark may have more."""
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
def test_cell_has_no_fault_against_gensim(cell, files, few_seeds, tmp_path):
    for engine in ("gensim", "machine"):
        for seed in seeds(cell, engine)[:2]:
            record = measure_cell(cell, files[cell.corpus], engine, seed)
            record_path(tmp_path, cell, engine, seed).write_text(json.dumps(record))
    verdict = judge(cell, tmp_path, "machine")
    faults = {*verdict.faults} - {
        DIFFERENT.get((cell.corpus, cell.objective, cell.window, cell.negative))
    }
    if cell.corpus == "ten words":  # its few neighbours differ by chance
        faults -= {"neighbours"}
    assert not faults, verdict
    assert summary([verdict])[0].startswith("1 of 1 " if not verdict.faults else "0 of 1 ")
    document = json.loads(json.dumps(begin() | as_document([verdict], "machine")))
    assert f"| {cell.corpus} | {cell.objective} | {options_of(cell)} |" in markdown(document)


def test_grid_has_300_distinct_reproducible_cells():
    cells = draw_cells()
    assert len(cells) >= 300 and len({cell.name for cell in cells}) == len(cells)
    assert cells == draw_cells() and len(CELLS) == 60
