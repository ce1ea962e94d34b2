"""What pieces of the work cost, from clusters that were measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from gensim_tfw2v.planning.traffic import ID, NUMBER
from gensim_tfw2v.regimes.turns import Turns, most_in_turn
from gensim_tfw2v.scaling.run import Trained
from gensim_tfw2v.scaling.usage import Usage

#: Of a ps task's work with a row, the share of fetching: it reads and casts it; pushed, it is cast,
#: read, added to and written. Assumed, not measured: both are waited for, so little depends on it.
FETCHING = 0.4


@dataclass(frozen=True)
class Costs:
    """What pieces of the work cost a processor core, in seconds.

    Parameters
    ----------
    token : float
        Of a worker for each token that is trained on.
    row : float
        Of a worker for each row that it fetches and pushes.
    ps_row : float
        Of a ps task for each of them.
    turn : float
        Of the coordinator for each `Turns` of jobs, one after the other.
    epoch : float
        Of the coordinator and the program that trains, at the end.
    threads : float
        Cores that a worker keeps busy with a job, where it has as many.
    """

    token: float
    row: float
    ps_row: float
    turn: float
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
    jobs, turns : float
        Trained, and handed out: several at a time.
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
    turns: float
    worker_cores: float
    ps_cores: float
    coordinator_cores: float
    peak_memory: dict[str, float]
    bytes_per_token: float

    @classmethod
    def of(cls, trained: Trained, usages: Mapping[str, Usage], vector_size: int) -> "Measured":
        """Of a training, and of what its processes took."""
        roles = {name: name.partition("-")[0] for name in trained.cores[-1]}

        def cores(*of_roles: str) -> float:
            return sum(trained.epoch_cores(name) for name in roles if roles[name] in of_roles)

        workers, jobs = list(roles.values()).count("worker"), round(trained.jobs / trained.epochs)
        entries = trained.entries * round(trained.units / max(1, trained.jobs))
        turns = Turns(range(jobs), 1, workers, most_in_turn(entries, workers))
        travelled = trained.fetched_bytes + trained.pushed_bytes + trained.corpus_bytes
        return cls(
            workers=workers,
            ps=list(roles.values()).count("ps"),
            seconds=trained.epoch_seconds,
            words_per_second=trained.words_per_second,
            tokens=trained.tokens / trained.epochs,
            rows=trained.pushed_bytes / (NUMBER * vector_size + ID) / trained.epochs,
            jobs=jobs,
            turns=len(list(iter(turns.take, None))),
            worker_cores=cores("worker"),
            ps_cores=cores("ps"),
            coordinator_cores=cores("chief", "program"),
            peak_memory={name: float(usage.memory.max()) for name, usage in usages.items()},
            bytes_per_token=travelled / max(1, trained.tokens),
        )


def fit(runs: Sequence[Measured], threads: float) -> Costs:
    """Find the costs that explain best what tasks took, none below 0.

    Parameters
    ----------
    runs : sequence of Measured
        Two or more, with different numbers of turns, and with jobs of different lengths, and so
        with different numbers of rows for the same tokens.
    threads : float
        Of `Costs`, which core seconds do not tell.
    """
    token, row = _solve(([run.tokens, run.rows] for run in runs), (r.worker_cores for r in runs))
    (ps_row,) = _solve(([run.rows] for run in runs), (run.ps_cores for run in runs))
    took = [run.coordinator_cores for run in runs]
    turn, epoch = _solve(([run.turns, 1.0] for run in runs), took)
    return Costs(token, row, ps_row, turn, epoch, threads)


def _solve(amounts: Iterable[Sequence[float]], took: Iterable[float]) -> list[float]:
    """Costs of each amount, such that the relative errors are small."""
    matrix, right = np.array(list(amounts)), np.array(list(took))
    scale = np.maximum(right, 1e-12)
    solution, _ = nnls(matrix / scale[:, None], right / scale)
    return [float(x) for x in solution]
