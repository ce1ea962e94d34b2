"""What pieces of the work cost, from clusters that were measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.scaling.run import Trained
from benchmarks.scaling.usage import Usage
from gensim_tfw2v.planning import ID, NUMBER

#: Of a ps task's work with a row, the share of fetching: it reads and casts it; pushed, it is cast,
#: read, added to and written. Assumed, not measured: both are waited for, so little depends on it.
FETCHING = 0.4


@dataclass(frozen=True)
class Costs:
    """What pieces of the work cost a processor core, in seconds.

    Parameters
    ----------
    token : float
        Of a worker for each token that is trained on, where all cores are busy.
    row : float
        Of a worker for each row that it fetches and pushes, likewise.
    job : float
        Of a worker for each job.
    ps_row : float
        Of a ps task for each of them.
    ticket : float
        Of the coordinator for each job, while workers train others.
    epoch : float
        Of the coordinator and the program that trains, at the end.
    threads : float
        How many times as fast a worker is that has a machine's cores for itself: less than the
        cores that it then keeps busy, for threads that wake each other up take time of their own.
    """

    token: float
    row: float
    job: float
    ps_row: float
    ticket: float
    epoch: float
    threads: float


@dataclass(frozen=True)
class Measured:
    """An epoch of a cluster that was really run, in its steady part.

    Parameters
    ----------
    workers, ps : int
    seconds, words_per_second : float
    tokens, rows : float
        Trained on; that travelled.
    jobs : float
        Trained.
    worker_cores, ps_cores, coordinator_cores : float
        Core seconds of all tasks of a kind.
    peak_memory : dict of str to float
        Bytes, of each process.
    bytes_per_token : float
    """

    workers: int
    ps: int
    seconds: float
    words_per_second: float
    tokens: float
    rows: float
    jobs: float
    worker_cores: float
    ps_cores: float
    coordinator_cores: float
    peak_memory: dict[str, float]
    bytes_per_token: float

    @classmethod
    def of(cls, trained: Trained, usages: Mapping[str, Usage], vector_size: int) -> "Measured":
        """The costs of a training, and of what its processes took."""
        roles = {name: name.partition("-")[0] for name in trained.cores[-1]}

        def cores(*of_roles: str) -> float:
            return sum(trained.epoch_cores(name) for name in roles if roles[name] in of_roles)

        travelled = trained.fetched_bytes + trained.pushed_bytes + trained.corpus_bytes
        return cls(
            workers=list(roles.values()).count("worker"),
            ps=list(roles.values()).count("ps"),
            seconds=trained.epoch_seconds,
            words_per_second=trained.words_per_second,
            tokens=trained.tokens / trained.epochs,
            rows=trained.pushed_bytes / (NUMBER * vector_size + ID) / trained.epochs,
            jobs=round(trained.jobs / trained.epochs),
            worker_cores=cores("worker"),
            ps_cores=cores("ps"),
            coordinator_cores=cores("chief", "program"),
            peak_memory={name: float(usage.memory.max()) for name, usage in usages.items()},
            bytes_per_token=travelled / max(1, trained.tokens),
        )


def fit(token: float, runs: Sequence[Measured], threads: float) -> Costs:
    """Find the costs that explain best what tasks took, none below 0.

    Parameters
    ----------
    token, threads : float
        Of `Costs`.
    runs : sequence of Measured
        With different numbers of jobs. What rows and jobs cost a worker is found from those with
        the most workers, which should keep all cores busy; two or more, whose jobs differ in
        length.
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
