"""Cost model: CPU time per token, row, job and epoch, fitted to measured clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.scaling.run import Measured

#: Fraction of a ps task's time per row that a fetch takes (read and cast the row). The push of the
#: row's change takes the rest (cast the change, read the row, add, and write). The fraction is
#: assumed, not measured. It has little influence, because workers wait for fetches and pushes.
FETCH_FRACTION = 0.4


@dataclass(frozen=True)
class Costs:
    """Costs in seconds of a core."""

    token: float  # of a worker, per token trained on, with all cores busy
    row: float  # of a worker, per row fetched and pushed, with all cores busy
    job: float  # of a worker, per job
    ps_row: float  # of a ps task, per row
    ticket: float  # of the coordinator, per job, while workers train further jobs
    epoch: float  # of the coordinator and the training program, at the end of an epoch
    #: Speed-up of a worker that has all cores of a machine. It is below the number of cores that it
    #: keeps busy, because threads that wake each other up need additional time.
    threads: float


def fit(token: float, runs: Sequence[Measured], threads: float) -> Costs:
    """Fit nonnegative costs to the CPU time of tasks in runs (least squares of relative errors).

    A worker's costs per row and job are fitted to the runs with the most workers, which should keep
    all cores busy. There must be at least two such runs, with jobs of different lengths.
    """
    max_workers = max(run.workers for run in runs)
    busy_runs = [run for run in runs if run.workers == max_workers]
    worker_seconds = [run.worker_cores for run in busy_runs]
    overheads = [run.worker_cores - token * run.tokens for run in busy_runs]
    row, job = _solve([[run.rows, run.jobs] for run in busy_runs], overheads, worker_seconds)
    ps_seconds = [run.ps_cores for run in runs]
    (ps_row,) = _solve([[run.rows] for run in runs], ps_seconds, ps_seconds)
    coordinator_seconds = [run.coordinator_cores for run in runs]
    ticket, epoch = _solve(
        [[run.jobs, 1.0] for run in runs], coordinator_seconds, coordinator_seconds
    )
    return Costs(token, row, job, ps_row, ticket, epoch, threads)


def _solve(
    amounts: Sequence[Sequence[float]], seconds: Sequence[float], scales: Sequence[float]
) -> list[float]:
    """Return the costs [k] with which `amounts` [n, k] best explain `seconds` [n].

    They minimize the sum of squared errors, each relative to the run's entry in `scales` [n].
    """
    scale = np.maximum(scales, 1e-12)
    solution, _ = nnls(np.array(amounts) / scale[:, None], np.array(seconds) / scale)
    return [float(x) for x in solution]
