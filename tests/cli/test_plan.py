"""tfw2v plan."""

import inspect
import re

import pytest

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.plan import plan, quantity
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cluster.links import TaskLink, write_links
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.planning import Machines
from tests.docs.pages import ROOT, blocks, words


def test_docs_page_shows_the_printed_plans(tfw2v, tmp_path, monkeypatch):
    page = (ROOT / "docs/planning.md").read_text(encoding="utf-8")
    plans = [block.text for block in blocks(page) if block.text.startswith("$ tfw2v plan")]
    assert len(plans) == 2
    monkeypatch.chdir(tmp_path)
    write_links(tmp_path / "links.json", links_of_docs_page())
    for text in plans:
        command, shown = text.split("\n", 1)
        printed = tfw2v(*words(command)[2:]).stdout
        assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


@pytest.mark.slow  # arrays of 100 million words
def test_docs_page_on_large_models_shows_the_printed_plan(tfw2v):
    page = (ROOT / "docs/large-models.md").read_text(encoding="utf-8")
    (text,) = [block.text for block in blocks(page) if block.text.startswith("$ tfw2v plan")]
    command, shown = text.split("\n", 1)
    printed = tfw2v(*words(command)[2:]).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


def links_of_docs_page():
    """Return the links in the table of docs/clusters.md; the blocked one has its neighbour's."""
    page = (ROOT / "docs/clusters.md").read_text(encoding="utf-8")
    (table,) = (block.text for block in blocks(page) if block.text.startswith("from "))
    rows = re.findall(r"^(\w+)(?: (\d))? +(\w+) (\d) +([\d.]+) +([\d.]+) +([\d.]+) ms", table, re.M)
    links = []
    for source, source_index, target, target_index, *figures in rows:
        rate, rate_back, round_trip = map(float, figures)
        links.append(
            TaskLink(
                Task("chief" if source == "coordinator" else source, int(source_index or 0), "a:1"),
                Task(target, int(target_index), "b:1"),
                rate * 1e6 / 8,
                rate_back * 1e6 / 8,
                round_trip / 1e3,
            )
        )
    *_, last = links
    assert str(last) == "worker 2 - ps 0"
    return [*links, last._replace(target=Task("ps", 1, "c:1"))]


def test_small_training_is_advised_no_cluster(tfw2v):
    printed = tfw2v("plan", "--vocab", 200_000, "--tokens", "17e6", "--worker-tasks", 1).stdout
    assert "advice     one machine: no cluster" in printed
    assert "cluster    workers: 1, threads per worker: 8, ps: 2" in printed


def test_options_and_defaults_equal_those_of_train():
    names = inspect.signature(train).parameters.keys() & inspect.signature(plan).parameters.keys()
    assert names >= {
        *("vector_size", "workers", "epochs", "window", "negative", "sample", "sg", "verbose")
    }
    given = {name: inspect.signature(plan).parameters[name].default for name in names - {"workers"}}
    assert given == {name: inspect.signature(train).parameters[name].default for name in given}


def test_defaults_equal_those_of_machines():
    given = {name: each.default for name, each in inspect.signature(plan).parameters.items()}
    assert Machines(given["worker_tasks"], given["ps_tasks"]) == Machines(
        given["worker_tasks"],
        given["ps_tasks"],
        given["workers"],
        quantity(given["net"], "bit", "--net") / 8,
        given["latency"] / 1e3,
        quantity(given["memory"], "B", "--memory"),
    )


def test_large_plan_lists_table_sizes_and_regimes(tfw2v):
    printed = tfw2v(
        "plan", "--vocab", 5_000_000, "--vector-size", 500, "--tokens", "100e9", "--sg",
        "--worker-tasks", 32, "--ps-tasks", 8, "--net", "10Gbit",
    ).output  # fmt: skip
    assert "20.0 GB: 2 tables of 5,000,000 x 500" in printed
    assert "3.5 GB" in printed  # per ps task: 1/2 GiB + 1.2 x 2.5 GB
    assert "5.5 GB" in printed  # with columns: 1/2 GiB + 2 x 2.5 GB
    for name in ("rows, asynchronous", "columns", "sub-models", "advice"):
        assert name in printed


def test_plan_that_does_not_fit_in_memory_is_reported(tfw2v):
    printed = tfw2v(
        "plan",
        "--vocab",
        5_000_000,
        "--vector-size",
        500,
        "--tokens",
        "1G",
        "--ps-tasks",
        1,
        "--memory",
        "1GB",
    ).output
    assert "none fits; give tasks as much memory" in printed
    assert "one machine: it needs 21.4 GB" in printed
    words = " ".join(printed.split())
    assert (
        "columns: a ps needs 40.5 GB, a worker needs 2.2 GB, the coordinator needs 1.4 GB" in words
    )
    assert (
        "sub-models: a ps needs 24.5 GB, a worker needs 32.2 GB, the coordinator needs 61.4"
        in words
    )
    assert "files      the coordinator keeps the model in files, with 40.0 GB of disk" in printed


LARGE = ("--vocab", 5_000_000, "--vector-size", 500, "--tokens", "100e9", "--sg",
         "--worker-tasks", 32, "--ps-tasks", 8)  # fmt: skip


@pytest.mark.parametrize(
    ("memory", "coordinator", "advice"),
    [
        ("21GB", "64GB", "rows, asynchronous"),  # not sub-models, which need 32.1 GB per worker
        ("9.6GB", "64GB", "columns"),  # not rows, which need 16.3 GB per worker
        ("33GB", "64GB", "sub-models"),
        ("24GB", None, "rows, asynchronous"),  # the coordinator keeps the model in files
    ],
)
def test_advice_fits_into_memory(tfw2v, memory, coordinator, advice):
    given = () if coordinator is None else ("--coordinator-memory", coordinator)
    printed = tfw2v("plan", *LARGE, "--memory", memory, *given).stdout
    assert f"advice     {advice}: " in printed


@pytest.mark.parametrize(("text", "unit", "value"), [
    ("10Gbit", "bit", 1e10), ("64 GB", "B", 6.4e10), ("100e9", "", 1e11), ("2.5G", "", 2.5e9),
    ("1000", "", 1000),
])  # fmt: skip
def test_quantities_are_parsed(text, unit, value):
    assert quantity(text, unit, "--x") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ten",
        "-1",
        "0",
        "10Gbyte",
        "1.2.3",
        "1_0",
        "٣",
        "1e999",
        "10\u212a",
        "10",
        "1e9",
        "nan",
        "inf",
        "nanGbit",
        "1e400Gbit",
        "-1Gbit",
    ],
)
def test_invalid_quantities_are_rejected(text):
    with pytest.raises(
        BadInput, match="--net is .* give a number above 0, with its unit, such as 10Gbit"
    ):
        quantity(text, "bit", "--net")


def test_vocabulary_may_be_written_with_an_exponent_or_a_suffix(tfw2v):
    plans = [tfw2v("plan", "--vocab", v, "--tokens", "1G").stdout for v in (200_000, "2e5", "200K")]
    assert plans[0] == plans[1] == plans[2] and "200,000 x 100" in plans[0]
    for bad in ("1e9", "0.2", "x"):
        said = tfw2v("plan", "--vocab", bad, "--tokens", "1G", status=2).stderr
        assert f"--vocab is '{bad}': give a number" in said


@pytest.mark.parametrize("given", [("--net", "10"), ("--memory", "64"), ("--memory", "64e9")])
def test_quantities_without_a_unit_are_rejected(tfw2v, given):
    said = tfw2v("plan", "--vocab", 9, "--tokens", 9, *given, status=2).stderr
    assert f"{given[0]} is '{given[1]}': give a number above 0, with its unit" in said


def test_invalid_network_speed_is_a_usage_error(tfw2v):
    assert (
        "--net is 'slow'"
        in tfw2v("plan", "--vocab", 9, "--tokens", 9, "--net", "slow", status=2).output
    )


@pytest.mark.parametrize("bad", ["nan", "inf", "1e400", "-1"])
@pytest.mark.parametrize("name", ["--latency", "--sample"])
def test_nonfinite_or_negative_numbers_are_rejected(tfw2v, name, bad):
    said = tfw2v("plan", "--vocab", 9, "--tokens", "1G", name, bad, status=2).stderr
    assert f"{name} is '{bad}': give a number from 0 up" in said
