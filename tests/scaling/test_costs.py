"""Costs fitted to measurements."""

import time
from collections import defaultdict

import pytest

from benchmarks.scaling.costs import fit
from benchmarks.scaling.run import Measured, steady_epoch, used

TOKEN, ROW, JOB, PS_ROW, TICKET, EPOCH = 1e-6, 2e-6, 3e-3, 5e-7, 4e-3, 0.2


def measured(tokens, rows, jobs, error=1.0, workers=4):
    return Measured(
        workers=workers,
        ps=1,
        seconds=1.0,
        raw_words=1,
        tokens=tokens,
        rows=rows,
        jobs=jobs,
        worker_cores=error * (TOKEN * tokens + ROW * rows + JOB * jobs),
        ps_cores=PS_ROW * rows,
        coordinator_cores=TICKET * jobs + EPOCH,
    )


def test_fit_recovers_known_costs():
    runs = measured(1e7, 2e6, 32), measured(1e6, 9e5, 128)
    costs = fit(TOKEN, runs, threads=1.5)
    assert costs.row == pytest.approx(ROW) and costs.job == pytest.approx(JOB)
    assert costs.ps_row == pytest.approx(PS_ROW)
    assert costs.ticket == pytest.approx(TICKET) and costs.epoch == pytest.approx(EPOCH)
    assert (costs.token, costs.threads) == (TOKEN, 1.5)


def test_row_cost_uses_only_runs_with_the_most_workers():
    runs = measured(1e7, 2e6, 32), measured(1e6, 9e5, 128)
    alone = measured(1e7, 2e6, 48, error=1.3, workers=1)
    assert fit(TOKEN, [alone, *runs], 1.0).row == pytest.approx(ROW)


@pytest.mark.parametrize("error", [0.1, 3.0])
def test_fitted_costs_are_not_negative(error):
    costs = fit(TOKEN, [measured(1e7, 2e6, 32), measured(1e6, 9e5, 128, error)], threads=1.0)
    assert min(costs.row, costs.job, costs.ps_row, costs.ticket, costs.epoch) >= 0


def test_steady_epoch_excludes_the_first():
    marks = [
        defaultdict(float, seconds=0.0),
        defaultdict(float, seconds=50.0, worker=9.0, ps=1.0),
        defaultdict(float, seconds=55.0, worker=10.0, ps=2.0),
        defaultdict(float, seconds=60.0, worker=12.0, ps=2.0, chief=1.0),
    ]
    assert steady_epoch(marks) == {"seconds": 5.0, "worker": 1.5, "ps": 0.5, "chief": 0.5}
    assert steady_epoch(marks[:2]) == {"seconds": 50.0, "worker": 9.0, "ps": 1.0}


def test_core_seconds_of_this_process_are_counted():
    before = used()
    while time.process_time() - before["program"] < 0.2:
        pass
    after = used()
    assert after["program"] - before["program"] > 0.1 and after["seconds"] > before["seconds"]
