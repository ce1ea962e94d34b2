"""Cost model: CPU time per token, row, job and epoch, fitted to measured clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.scaling.run import Measured

#: Fraction of a ps task's work per row that is for fetching; the remainder is for pushing. A fetch
#: reads and casts the row; a push casts the change, reads the row, adds and writes. The value is
#: assumed, not measured. It has little influence, because workers wait for both.
FETCHING = 0.4


@dataclass(frozen=True)
class Costs:
    """Costs in seconds of a core."""

    token: float  # worker, per token trained on, with all cores busy
    row: float  # worker, per row fetched and pushed, with all cores busy
    job: float  # worker, per job
    ps_row: float  # ps task, per row
    ticket: float  # coordinator, per job, while workers train further jobs
    epoch: float  # coordinator and training program, at the end of an epoch
    #: Speed-up of a worker that has all cores of a machine. It is below the number of cores that it
    #: keeps busy, because threads that wake each other up need additional time.
    threads: float


def fit(token: float, runs: Sequence[Measured], threads: float) -> Costs:
    """Fit nonnegative costs to the CPU time of tasks in runs (least squares of relative errors).

    A worker's costs per row and job are fitted to the runs with the most workers, which should keep
    all cores busy. There must be at least two such runs, with jobs of different lengths.
    """
    most = max(run.workers for run in runs)
    busy = [run for run in runs if run.workers == most]
    of_workers = [run.worker_cores for run in busy]
    beyond = [run.worker_cores - token * run.tokens for run in busy]
    row, job = _solve([[run.rows, run.jobs] for run in busy], beyond, of_workers)
    of_ps = [run.ps_cores for run in runs]
    (ps_row,) = _solve([[run.rows] for run in runs], of_ps, of_ps)
    took = [run.coordinator_cores for run in runs]
    ticket, epoch = _solve([[run.jobs, 1.0] for run in runs], took, took)
    return Costs(token, row, job, ps_row, ticket, epoch, threads)


def _solve(
    amounts: Sequence[Sequence[float]], took: Sequence[float], total: Sequence[float]
) -> list[float]:
    """Return costs [k] of amounts [n, k] that minimize the errors of `took` relative to `total`."""
    scale = np.maximum(total, 1e-12)
    solution, _ = nnls(np.array(amounts) / scale[:, None], np.array(took) / scale)
    return [float(x) for x in solution]
