"""Page and picture of a study, from a made-up document."""

import copy

import pytest

from benchmarks.scaling.plots import draw
from benchmarks.scaling.report import markdown


def real(number, workers, measured, predicted):
    return {
        "round": number,
        "measured": {
            "workers": workers, "ps": 1, "seconds": 10.0, "words_per_second": measured,
            "tokens": 1e6, "rows": 1e5, "jobs": 32, "worker_cores": 1.0,
            "ps_cores": 0.25, "coordinator_cores": 0.125,
            "peak_bytes": 1.5 * 2**30,
            "bytes_per_token": 90.0,
        },
        "predicted": simulated(workers, predicted),
        "threads_words_per_second": 2e6,
    }  # fmt: skip


def simulated(workers, speed, bound="workers"):
    busy = {"workers": 0.9, "ps": 0.2, "coordinator": 0.1}
    return {"workers": workers, "ps": 1, "words_per_second": speed, "staleness": workers - 1.0,
            "busy": busy, "bound": bound, "bytes_per_token": 95.0}  # fmt: skip


DOCUMENT = {
    "date": "2026-01-01",
    "machine": {"cpu": "a processor", "cores": 2, "memory_bytes": 2**34, "system": "Linux",
                "load_average": [0.5],
                "versions": {"python": "3.11", "tensorflow": None}},
    "corpus": {"name": "text.txt", "bytes": 10_000_000, "words": 1_700_000},
    "options": {"sg": 1, "epochs": 3},
    "threads": 2,
    "real": [real(0, 1, 1e6, 1e6), real(0, 2, 1.5e6, 1.2e6), real(1, 2, 1e6, 0.9e6),
             real(2, 2, 1e6, 1.1e6)],
    "simulated_words": 0,
    "calibration": {"token": 1e-6, "row": 2e-6, "job": 3e-3, "ps_row": 5e-7, "ticket": 4e-3,
                    "epoch": 0.2, "threads": 1.5, "rows_factor": 1.0},
    "simulated": [
        {"cores": 2, "net": 1.25e9, "latency": 2e-4, "shared_text": shared,
         "rows": [simulated(1, 1e6), simulated(16, speed, "coordinator")]}
        for shared, speed in ((False, 8e6), (True, 12e6))
    ],
    "roofline": {"flops_per_token": 34_800.0, "bytes_per_token": 5100.0, "fraction": 0.25,
                 "products_per_second": 5e10, "machine": 2e11},
}  # fmt: skip


def row(text, first):
    """Return the cells of the only row with this first cell."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def section(name):
    text = markdown(DOCUMENT)
    return text[text.index(f"## {name}\n") :].split("\n## ", 1)[0]


def test_measured_and_predicted_speeds_share_a_row():
    assert row(section("Measured"), 2) == [
        "2", "1", "1.000 M", "0.50 (0.50 to 0.75)", "1.100 M", "-10% (-20% to +10%)", "1,000",
        "250", "125", "90", "1,536",
    ]  # fmt: skip
    assert row(section("Measured"), 1)[5] == "–"  # the simulation is calibrated to this row


def test_each_kind_of_machines_has_a_row():
    text = section("Simulated")
    assert row(text, "2 cores, 10 Gbit/s")[1:] == ["1.0", "8.0"]
    assert row(text, "2 cores, 10 Gbit/s, text on a shared file system")[1:] == ["1.0", "12"]


def test_simulated_rows_show_speedup_efficiency_and_bound():
    cells = row(section("Simulated"), 16)
    assert cells[2:6] == ["8.00 M", "8.0", "50%", "coordinator"]
    assert cells[6:9] == ["90%", "20%", "10%"]


def test_costs_and_roofline_are_printed():
    text = section("Costs")
    for part in (
        "1000 ns of a core per token",
        "4.0 ms per job",
        "25% of the 200.0 G",
    ):
        assert part in text


def test_unfinished_study_omits_missing_sections():
    begun = {name: DOCUMENT[name] for name in DOCUMENT if name != "simulated"}
    assert "## Simulated" not in markdown(begun) and "## Measured" in markdown(begun)
    without = copy.deepcopy(DOCUMENT)
    del without["roofline"]
    assert "- kernel:" not in markdown(without)


def test_picture_is_reproducible(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "study-speed.svg"
    draw(DOCUMENT, path)
    before = path.read_text()
    assert "<svg" in before
    draw(DOCUMENT, path)
    assert path.read_text() == before
