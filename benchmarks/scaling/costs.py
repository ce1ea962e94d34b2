"""What pieces of the work cost, from clusters that were measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.scaling.run import Measured

#: Of a ps task's work with a row, the share of fetching: it reads and casts it; pushed, it is cast,
#: read, added to and written. Assumed, not measured: both are waited for, so little depends on it.
FETCHING = 0.4


@dataclass(frozen=True)
class Costs:
    """What pieces of the work cost a processor core, in seconds."""

    token: float  # of a worker for each token that is trained on, where all cores are busy
    row: float  # of a worker for each row that it fetches and pushes, likewise
    job: float  # of a worker for each job
    ps_row: float  # of a ps task for each row
    ticket: float  # of the coordinator for each job, while workers train others
    epoch: float  # of the coordinator and the program that trains, at the end
    #: How many times as fast a worker is that has a machine's cores for itself: less than the
    #: cores that it then keeps busy, for threads that wake each other up take time of their own.
    threads: float


def fit(token: float, runs: Sequence[Measured], threads: float) -> Costs:
    """Find the costs that explain best what tasks took in runs, none below 0.

    What rows and jobs cost a worker is found from the runs with the most workers, which should keep
    all cores busy: two or more, whose jobs differ in length.
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
    """Costs of each amount, such that the errors are small beside what was measured in total."""
    scale = np.maximum(total, 1e-12)
    solution, _ = nnls(np.array(amounts) / scale[:, None], np.array(took) / scale)
    return [float(x) for x in solution]
