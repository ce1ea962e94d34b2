"""Figures on the pages are those of the results in docs/benchmarks."""

import json
import re
import statistics

import pytest

from benchmarks.records import Run, read_runs
from benchmarks.report import notice, paired_ratios
from benchmarks.scaling.report import overview
from docs import charts
from tests.docs.pages import PAGES, ROOT, page

README = ROOT / "README.md"

#: Engines by their names in the results.
GENSIM, OURS = "gensim corpus_file", "TFWord2Vec corpus_file"
CLUSTER = "TFWord2Vec cluster=local:ps=2,worker=4"
SUBMODELS = "TFWord2Vec regime=submodels:models=5,merging="

#: Names of measures in the results by their names on the pages.
MEASURES = {
    "WS353": "WS353",
    "SimLex-999": "SimLex999",
    "MEN": "men3000",
    "MTurk-771": "mturk771",
    "RW": "rw2034",
    "unknown": "rw2034, unknown",
    "analogies": "analogies",
    "halves": "halves",
    "itself": "itself",
}

#: Tables of quality: page -> (study, {first cell of a row: (setting, engine)}). A row may name a
#: different study as its third element.
QUALITY = {
    "benchmarks.md": (
        "speed-65m",
        {
            f"{objective}, {name}": (setting, *engine)
            for setting, objective in (("cbow100", "CBOW"), ("sg100", "skip-gram"))
            for name, engine in {
                "gensim": (GENSIM,),
                "TFWord2Vec, AVX2": (OURS,),
                "TFWord2Vec, AVX512-BF16": (OURS, "speed-65m-avx512"),
            }.items()
        },
    ),
    "choosing.md": (
        "regimes",
        {
            "gensim, 2 threads": ("sg100", GENSIM),
            "local, 2 threads": ("sg100", OURS),
            "asynchronous": ("sg100", CLUSTER),
            "asynchronous, `deterministic=True`": ("sg100", f"{CLUSTER} deterministic=True"),
            "synchronous": ("sg100", f"{CLUSTER} regime=synchronous"),
            "Downpour (`n_fetch=32`)": ("sg100", f"{CLUSTER} regime=downpour:n_fetch=32"),
            "sub-models, 5 of 20 %, concatenated": ("sg100", f"{SUBMODELS}concat"),
        },
    ),
    "doc2vec.md": (
        "doc2vec",
        {
            f"{mode}, {name}": (setting, engine)
            for setting, mode in (("dbow100", "DBOW"), ("dm100", "DM"))
            for name, engine in {
                "gensim": GENSIM,
                "TFDoc2Vec": "TFDoc2Vec corpus_file",
            }.items()
        },
    ),
    "fasttext.md": (
        "fasttext",
        {
            f"{objective}, {name}": (setting, engine)
            for setting, objective in (("sg100", "skip-gram"), ("cbow100", "CBOW"))
            for name, engine in {
                "gensim": GENSIM,
                "TFFastText": "TFFastText corpus_file",
                "2 ps and 2 workers": "TFFastText cluster=local:ps=2,worker=2",
            }.items()
        },
    ),
    "regimes/asynchronous.md": (
        "workers",
        {
            "local, 2 threads": ("sg100", OURS),
            "4 workers": ("sg100", CLUSTER),
            "32 workers": ("sg100", CLUSTER.replace("worker=4", "worker=32")),
        },
    ),
}


def runs_of(study):
    return read_runs(Run, json.loads(page(f"benchmarks/{study}.json")))


def row_of(text, label):
    """Return the row of a Markdown table that starts with `label`: {title of column: cell}."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = (line.strip("| \n").split(" | ") for line in table.splitlines())
        for row in rows:
            if row[0] == label:  # the first column has no title
                return dict(zip(head[-len(row) + 1 :], row[1:], strict=True))
    raise LookupError(f"no table has a row {label!r}")


def measured_row(study, setting, engine, titles):
    """Return the cells of a row with these titles."""
    runs = [run for run in runs_of(study) if run.setting == setting]
    own, gensim = ([run for run in runs if run.engine == name] for name in (engine, GENSIM))
    cells = {}
    for title in titles:
        if title == "bytes per token":
            value = f"{statistics.median(run.bytes_per_token or 0 for run in own):.0f}"
        elif title == "× gensim":
            ratios = paired_ratios(own, gensim, lambda run: run.words_per_second)
            value = f"{statistics.median(ratios):.1f}"
        else:
            score = statistics.mean(run.quality[MEASURES[title]] for run in own)
            value = f"{score:.3f}".removeprefix("0")
        cells[title] = value
    return cells


@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name, (_, rows) in QUALITY.items() for label in rows]
)
def test_tables_of_quality_show_the_means_of_the_results(name, label):
    study, rows = QUALITY[name]
    shown = row_of(page(name), label)
    setting, engine, *others = rows[label]
    measured = measured_row(*others or [study], setting, engine, shown)
    assert any(title in MEASURES for title in shown)
    assert shown == measured


def test_readme_speeds_equal_the_measured():
    """The table and the chart of the README show speed.json and speed-avx512.json."""
    runs = runs_of("speed")
    readme = README.read_text(encoding="utf-8")
    for setting, found in charts.ratios().items():
        speeds = [
            statistics.median(
                run.words_per_second
                for run in runs
                if (run.setting, run.engine) == (setting, engine)
            )
            for engine in (GENSIM, OURS)
        ]
        cells = *(f"{speed / 1e6:.2f} M" for speed in speeds), *(f"{x:.1f}" for x in found.values())
        assert f" | {' | '.join(cells)} |\n" in readme, setting


@pytest.mark.parametrize(("label", "study", "setting", "engine"), [
    ("FastText, skip-gram", "fasttext", "sg100", "TFFastText corpus_file"),
    ("FastText, CBOW", "fasttext", "cbow100", "TFFastText corpus_file"),
    ("Doc2Vec, DBOW", "doc2vec", "dbow100", "TFDoc2Vec corpus_file"),
    ("Doc2Vec, DM", "doc2vec", "dm100", "TFDoc2Vec corpus_file"),
])  # fmt: skip
def test_readme_ratios_equal_the_measured(label, study, setting, engine):
    shown = row_of(README.read_text(encoding="utf-8"), label)
    assert {"× gensim": shown["× gensim"]} == measured_row(study, setting, engine, ["× gensim"])


@pytest.mark.parametrize("path", [README, ROOT / "docs/benchmarks.md"], ids=lambda path: path.stem)
def test_speeds_with_bfloat16_equal_the_measured(path):
    ratios = [
        measured_row("speed-65m-avx512", setting, OURS, ["× gensim"])["× gensim"]
        for setting in ("sg100", "cbow100")
    ]
    text = re.sub(r"\]\([^)]*\)|\[", "", path.read_text(encoding="utf-8"))
    told = "{} times as fast as gensim with skip-gram, and {} times as fast with CBOW"
    assert told.format(*ratios) in " ".join(text.split())


@pytest.mark.parametrize("graph", ["BlogCatalog", "PPI", "Wikipedia"])
def test_readme_times_of_graphs_equal_the_measured(graph):
    shown = row_of(README.read_text(encoding="utf-8"), graph)
    study = page("benchmarks/graphs.md").split(f"## {graph}, ")[1].split("\n## ")[0]
    baseline, ours = row_of(study, "PecanPy + gensim"), row_of(study, "TFWord2Vec")
    times = baseline["total time, s"], ours["total time, s"]
    assert [*shown.values()] == [*times, ours["× PecanPy + gensim"].split()[0]]


def test_readme_speeds_of_clusters_equal_the_simulated():
    simulated = json.loads(page("benchmarks/scaling.json"))["simulated"]
    readme = README.read_text(encoding="utf-8")
    for machines in ("2 cores, 10 Gbit/s", "16 cores, 10 Gbit/s", "16 cores, 1 Gbit/s"):
        speeds, shown = (row_of(text, machines) for text in (overview(simulated), readme))
        assert len(shown) == 4 and shown.items() <= speeds.items()


def test_speed_table_is_only_in_the_readme():
    readme = README.read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* M \|.*$", readme, re.MULTILINE)
    assert len(rows) == 6
    for path in PAGES:
        if path.name != "README.md":
            text = path.read_text(encoding="utf-8")
            assert not [row for row in rows if row in text], f"{path}: link to the README"


def test_scaling_figures_equal_the_simulated():
    """Speeds of clusters equal docs/benchmarks/scaling.json."""
    simulated = json.loads(page("benchmarks/scaling.json"))["simulated"]
    head, _, *rows = (line.strip("| ").split(" | ") for line in overview(simulated).splitlines())
    table = page("benchmarks.md").split("| M words/s, ")[1].split("\n\n")[0]
    shown, _, *lines = (line.strip("| ").split(" | ") for line in table.splitlines())
    kept = [head.index(workers) for workers in shown]
    assert lines == [[row[column] for column in kept] for row in rows]
    million = dict(zip(head, rows[0], strict=True))
    told = f"reach {million['4']} M words/s with 4 workers and 2 ps, and {million['32']} M with 32"
    assert told in " ".join(page("clusters.md").split())


@pytest.mark.parametrize("name", ["speed", "speed-65m"])
def test_main_tables_are_of_the_kernels_that_a_reader_installs(name):
    assert not notice(json.loads(page(f"benchmarks/{name}.json"))), (
        f"run make results RESULTS_ARGS='--only {name}'"
    )
