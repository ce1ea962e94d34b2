"""How training scales with the number of workers: measured, simulated, and its quality."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scaling.costs import Costs, Measured, fit
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.run import Asked, Trained, in_a_process
from benchmarks.scaling.simulation import Layout, Outcome, Work, simulate
from benchmarks.scaling.usage import read_usage

#: Workers for each ps task.
WORKERS_A_PS = 2

#: Parts of the corpus on which clusters for calibration train: the shorter, the shorter are jobs,
#: and the more rows they have for each token.
PARTS = 2, 8

#: Share of a resource's time above which it is what limits.
BUSY = 0.8


@dataclass(frozen=True)
class Question:
    """What is to be studied.

    Parameters
    ----------
    corpus : Path
    options : dict
        Of `TFWord2Vec`.
    workers : tuple of int
    real : int
        Up to how many workers the cluster is really run.
    seeds : tuple of int
        Of the runs that quality is measured in.
    cores, threads : int
        Of this machine; of each worker.
    host : Host
        What the simulated machines are, one for each task.
    latency : float
        Seconds of a message and its answer.
    words : int
        Of the corpus that is simulated: more text of the same kind; 0 for the corpus itself.
    shared_text : bool
        Whether simulated workers read the text themselves, rather than being sent it.
    pairs : dict of str to str
        See `Asked`.
    """

    corpus: Path
    options: dict[str, Any]
    workers: tuple[int, ...]
    real: int
    seeds: tuple[int, ...]
    cores: int
    threads: int
    host: Host
    latency: float
    words: int = 0
    shared_text: bool = False
    pairs: dict[str, str] = field(default_factory=dict)

    @property
    def vector_size(self) -> int:
        """D."""
        return int(self.options.get("vector_size", 100))


@dataclass(frozen=True)
class Simulated:
    """An epoch of so many workers.

    Parameters
    ----------
    workers, ps : int
    words_per_second : float
    staleness : float
        Units of others between a job's fetching and its pushing.
    busy : dict of str to float
        Share of the time in which each kind of resource is in use: of the busiest of its kind.
    bound : str
        By what it is limited.
    bytes_per_token : float
    """

    workers: int
    ps: int
    words_per_second: float
    staleness: float
    busy: dict[str, float]
    bound: str
    bytes_per_token: float


def ps_tasks(workers: int) -> int:
    """How many ps tasks there are for so many workers."""
    return max(1, workers // WORKERS_A_PS)


def run_cluster(
    question: Question, workers: int, folder: Path, corpus: Path | None = None
) -> tuple[Trained, Measured]:
    """Run a local cluster of so many workers, and read what its processes took."""
    options = question.options | {
        "cluster": f"local:ps={ps_tasks(workers)},worker={workers}",
        "workers": question.threads,
        "log_dir": str(folder),
        "progress": False,
    }
    trained = in_a_process(Asked(str(corpus or question.corpus), options))
    return trained, Measured.of(trained, read_usage(folder), question.vector_size)


def calibrate(question: Question, folder: Path) -> tuple[Costs, Corpus, float, list[Measured]]:
    """Measure what pieces of the work cost.

    A token's cost is that of threads on all cores, without a cluster; what a row and a job cost is
    what workers take beyond it, as many as are run, on parts of the corpus. How much faster a
    worker is that has cores to spare is found from one worker on the corpus.

    Returns
    -------
    costs : Costs
    corpus : Corpus
    rows_factor : float
        How many rows travel for each one that the traffic model predicts.
    runs : list of Measured
        Of the clusters, the one worker first.
    """
    asked = {"whole": (1, question.corpus)}
    for part in PARTS:
        name = f"part-{part}"
        asked[name] = question.real, folder / f"{name}.txt"
        _copy_part(question.corpus, asked[name][1], part)
    runs, factors, corpora = [], [], []
    for name, (workers, path) in asked.items():
        trained, measured = run_cluster(question, workers, folder / name, path)
        corpus = Corpus(tuple(trained.counts), trained.sentences, question.options)
        predicted = corpus.work(workers, question.threads)
        factors.append(measured.rows / (predicted.rows * predicted.jobs))
        runs.append(measured)
        corpora.append(corpus)
    whole, rows_factor = corpora[0], sum(factors) / len(factors)
    token = _token_cost(question, folder / "threads", runs[0].tokens)
    costs = _with_threads(
        question, fit(token, runs, 1.0), whole.work(1, question.threads, rows_factor), runs[0]
    )
    return costs, whole, rows_factor, runs


def _token_cost(question: Question, folder: Path, tokens: float) -> float:
    """Core seconds of a token, of an epoch with so many, where no rows travel."""
    options = question.options | {
        "workers": question.cores,
        "log_dir": str(folder),
        "progress": False,
    }
    trained = in_a_process(Asked(str(question.corpus), options))
    return sum(map(trained.epoch_cores, trained.cores[-1])) / tokens


def _with_threads(question: Question, costs: Costs, work: Work, measured: Measured) -> Costs:
    """Find how fast one worker is: as fast as gives the time that was measured."""
    layout = Layout.one_host(Host(question.cores, np.inf), 1, 1)

    def too_slow(threads: float) -> bool:
        tried = replace(costs, threads=threads)
        return simulate(tried, work, layout).seconds > measured.seconds

    low, high = 0.0, float(question.cores)
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if too_slow(middle) else (low, middle)
    return replace(costs, threads=high)


def _copy_part(source: Path, target: Path, part: int) -> None:
    """Copy every so manieth line."""
    with open(source, "rb") as lines, open(target, "wb") as copy:
        copy.writelines(line for number, line in enumerate(lines) if number % part == 0)


def predict(costs: Costs, work: Work, layout: Layout, raw_words: int) -> Simulated:
    """Simulate an epoch, and say what limits it."""
    outcome = simulate(costs, work, layout)
    busy = _busy(outcome, layout, costs, work)
    most = max(busy, key=lambda name: busy[name])
    tokens = work.jobs * work.tokens
    travelled = work.jobs * work.rows * (work.fetched_bytes + work.pushed_bytes)
    return Simulated(
        workers=len(layout.workers),
        ps=len(layout.ps),
        words_per_second=raw_words / outcome.seconds,
        staleness=outcome.staleness,
        busy=busy,
        bound=most if busy[most] >= BUSY else "waiting",
        bytes_per_token=travelled / tokens,
    )


def _busy(outcome: Outcome, layout: Layout, costs: Costs, work: Work) -> dict[str, float]:
    """Share of the time in which each kind of resource was in use.

    A worker's cores are those that it can keep busy.
    """
    coordinating = (costs.ticket * work.jobs + costs.epoch) / outcome.seconds
    cores = np.array([host.cores for host in layout.hosts])
    computing = outcome.computed / outcome.seconds / cores
    if len(layout.hosts) == 1:
        return {"cores": float(computing[0]), "coordinator": coordinating}
    net = np.array([host.net for host in layout.hosts])
    usable = np.maximum(1.0, cores / costs.threads)
    sending, receiving = (x / outcome.seconds / net for x in (outcome.sent, outcome.received))
    ps, workers = list(layout.ps), list(layout.workers)
    return {
        "workers": float((computing * usable)[workers].max()),
        "ps": float(computing[ps].max()),
        "coordinator": coordinating,
        "network of the coordinator": float(
            max(sending[layout.coordinator], receiving[layout.coordinator])
        ),
        "network of ps": float(max(sending[ps].max(), receiving[ps].max())),
        "network of workers": float(max(sending[workers].max(), receiving[workers].max())),
    }


def quality(question: Question, workers: int, seed: int) -> Trained:
    """Train by the schedule of so many workers in one process, and evaluate; 0: without a cluster.

    Threads of this process take the part of the workers, each with jobs of the same length as on
    a cluster, so what a job does not know of the others' is what it would not know there. Without
    a cluster one thread trains: alpha then falls as it does with workers of one thread.
    """
    options = question.options | {"seed": seed, "progress": False, "compute_loss": True}
    options |= {"regime": "asynchronous", "workers": workers} if workers else {"workers": 1}
    return in_a_process(Asked(str(question.corpus), options, question.pairs))
