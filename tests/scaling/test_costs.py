"""What was measured is explained by costs."""

import numpy as np
import pytest

from benchmarks.scaling.costs import Measured, fit
from benchmarks.scaling.run import Trained
from benchmarks.scaling.usage import Usage

TOKEN, ROW, JOB, PS_ROW, TICKET, EPOCH = 1e-6, 2e-6, 3e-3, 5e-7, 4e-3, 0.2


def measured(tokens, rows, jobs, error=1.0, workers=4):
    return Measured(
        workers=workers,
        ps=1,
        seconds=1.0,
        words_per_second=1.0,
        tokens=tokens,
        rows=rows,
        jobs=jobs,
        worker_cores=error * (TOKEN * tokens + ROW * rows + JOB * jobs),
        ps_cores=PS_ROW * rows,
        coordinator_cores=TICKET * jobs + EPOCH,
        peak_memory={},
        bytes_per_token=1.0,
    )


def test_costs_are_found_again():
    runs = measured(1e7, 2e6, 32), measured(1e6, 9e5, 128)
    costs = fit(TOKEN, runs, threads=1.5)
    assert costs.row == pytest.approx(ROW) and costs.job == pytest.approx(JOB)
    assert costs.ps_row == pytest.approx(PS_ROW)
    assert costs.ticket == pytest.approx(TICKET) and costs.epoch == pytest.approx(EPOCH)
    assert (costs.token, costs.threads) == (TOKEN, 1.5)


def test_a_worker_with_cores_to_spare_does_not_tell_what_rows_cost():
    runs = measured(1e7, 2e6, 32), measured(1e6, 9e5, 128)
    alone = measured(1e7, 2e6, 48, error=1.3, workers=1)
    assert fit(TOKEN, [alone, *runs], 1.0).row == pytest.approx(ROW)


@pytest.mark.parametrize("error", [0.1, 3.0])
def test_none_is_below_zero(error):
    costs = fit(TOKEN, [measured(1e7, 2e6, 32), measured(1e6, 9e5, 128, error)], threads=1.0)
    assert min(costs.row, costs.job, costs.ps_row, costs.ticket, costs.epoch) >= 0


def test_the_first_epoch_is_left_out():
    cores = [{}, {"worker-0": 9.0, "ps-0": 1.0}, {"worker-0": 12.0, "ps-0": 2.0, "chief": 1.0}]
    trained = Trained(
        raw_words=1000,
        sentences=10,
        tokens=1400,
        epochs=2,
        marks=[0.0, 50.0, 60.0],
        cores=cores,
        units=8,
        jobs=8,
        entries=1 << 20,
        fetched_bytes=8000,
        pushed_bytes=2 * 3 * 204,
        corpus_bytes=0,
        staleness=0.0,
        losses=[],
        quality={},
        counts=[],
    )
    usage = Usage(*([[1.0, 2.0]] * 5))
    usages = dict.fromkeys(
        ["worker-0", "ps-0", "chief"], usage._replace(memory=np.array([1.0, 7.0]))
    )
    found = Measured.of(trained, usages, vector_size=100)
    assert (found.workers, found.ps, found.seconds, found.words_per_second) == (1, 1, 10.0, 100.0)
    assert (found.tokens, found.rows, found.jobs) == (700, 3, 4)
    assert (found.worker_cores, found.ps_cores, found.coordinator_cores) == (3.0, 1.0, 1.0)
    assert found.peak_memory["ps-0"] == 7.0
