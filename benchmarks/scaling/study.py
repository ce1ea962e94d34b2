"""How training scales with the number of workers: measured and simulated."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.scaling.costs import Costs, fit
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.run import Measured, run_training
from benchmarks.scaling.simulation import Layout, Outcome, Work, simulate

#: Workers for each ps task.
WORKERS_A_PS = 2

#: Parts of the corpus on which clusters for calibration train: the shorter, the shorter are jobs,
#: and the more rows they have for each token.
PARTS = 2, 8

#: Share of a resource's time above which it is what limits.
BUSY = 0.8


@dataclass(frozen=True)
class Question:
    """What is to be studied."""

    corpus: Path
    options: dict[str, Any]  # of `TFWord2Vec`
    workers: tuple[int, ...]
    real: int  # up to how many workers the cluster is really run
    cores: int  # of this machine
    threads: int  # of each worker
    host: Host  # what the simulated machines are, one for each task
    latency: float  # seconds of a message and its answer
    words: int = 0  # of the simulated corpus: more text of the same kind; 0 for the corpus itself
    shared_text: bool = False  # whether simulated workers read the text, or are sent it


@dataclass(frozen=True)
class Simulated:
    """An epoch of so many workers."""

    workers: int
    ps: int
    words_per_second: float
    staleness: float  # units of others between a job's fetching and its pushing
    busy: dict[str, float]  # share of the time of each kind of resource, of the busiest of a kind
    bound: str  # by what it is limited
    bytes_per_token: float


def ps_tasks(workers: int) -> int:
    """How many ps tasks there are for so many workers."""
    return max(1, workers // WORKERS_A_PS)


def run_cluster(question: Question, workers: int, corpus: Path) -> tuple[Measured, dict[str, Any]]:
    """Run a local cluster of so many workers."""
    options = question.options | {"workers": question.threads}
    return run_training(str(corpus), options, workers, ps_tasks(workers))


def calibrate(question: Question) -> tuple[Costs, Corpus, float, Measured]:
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
    alone : Measured
        One worker on the corpus.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = [run_cluster(question, 1, question.corpus)]
        for part in PARTS:
            path = Path(folder, f"part-{part}.txt")
            _copy_part(question.corpus, path, part)
            found.append(run_cluster(question, question.real, path))
    runs = [measured for measured, _ in found]
    corpora = [Corpus(**text, options=question.options) for _, text in found]
    factors = []
    for measured, corpus in zip(runs, corpora, strict=True):
        predicted = corpus.work(measured.workers, question.threads)
        factors.append(measured.rows / (predicted.rows * predicted.jobs))
    whole, rows_factor = corpora[0], fmean(factors)
    threads = run_training(str(question.corpus), question.options | {"workers": question.cores})[0]
    costs = fit(threads.coordinator_cores / runs[0].tokens, runs, 1.0)
    work = whole.work(1, question.threads, rows_factor)
    return _with_threads(question, costs, work, runs[0]), whole, rows_factor, runs[0]


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
