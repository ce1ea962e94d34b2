"""Parts of a study: runs of clusters, calibration of costs, and simulation."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scaling.costs import Costs, fit
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.run import Measured, run_training
from benchmarks.scaling.simulation import Layout, Outcome, Work, simulate

#: Number of workers per ps task.
WORKERS_PER_PS = 2

#: Calibration trains on parts of the corpus: on every n-th line, for these n. The jobs of a smaller
#: part are shorter, and have more rows per token.
PARTS = (2, 8)

#: Minimum utilization of a resource that counts as the bottleneck.
MIN_UTILIZATION = 0.8


class Machines(NamedTuple):
    """Machines of a simulated cluster, one per task."""

    host: Host
    latency: float  # round-trip time between them, in seconds
    shared_text: bool = False  # workers read the text from a shared file system

    @property
    def threads(self) -> int:
        """Threads of each worker."""
        return round(self.host.cores)


@dataclass(frozen=True)
class Question:
    """Parameters of a study."""

    corpus: Path
    options: dict[str, Any]  # arguments of `TFWord2Vec`
    workers: tuple[int, ...]  # numbers of workers to study
    real: int  # maximum number of workers of a real cluster
    cores: int  # cores of this machine
    threads: int  # threads per worker of a real cluster
    machines: tuple[Machines, ...]  # of each simulated cluster
    words: int = 0  # raw words of the simulated corpus; 0 for those of `corpus`


@dataclass(frozen=True)
class Simulated:
    """Results of a simulated epoch."""

    workers: int
    ps: int
    words_per_second: float
    staleness: float  # mean number of other jobs' units pushed between a job's fetch and push
    busy: dict[str, float]  # utilization of the busiest resource of each kind
    bound: str  # name of the bottleneck in `busy`, or "waiting" if no resource is busy enough
    bytes_per_token: float


class Calibration(NamedTuple):
    """Costs of this machine, and training runs on the whole corpus by which they were measured."""

    costs: Costs
    corpus: Corpus
    rows_factor: float  # number of transferred rows, divided by what the traffic model predicts
    threads: Measured  # without a cluster, with a thread on each core
    one_worker: Measured  # on a cluster of one worker


def ps_tasks(workers: int) -> int:
    """Return the number of ps tasks for a number of workers."""
    return max(1, workers // WORKERS_PER_PS)


def run_cluster(question: Question, workers: int, corpus: Path) -> tuple[Measured, dict[str, Any]]:
    """Run a local cluster with this number of workers."""
    options = question.options | {"workers": question.threads}
    return run_training(str(corpus), options, workers, ps_tasks(workers))


def calibrate(question: Question) -> Calibration:
    """Measure the costs of this machine, by training.

    The cost per token is measured with threads on all cores, without a cluster. Costs per row and
    job are fitted to the additional CPU time of `real` workers on parts of the corpus. The speed-up
    of a worker with spare cores is fitted to a run of one worker on the whole corpus.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = [run_cluster(question, 1, question.corpus)]
        for part in PARTS:
            path = Path(folder, f"part-{part}.txt")
            _copy_part(question.corpus, path, part)
            results.append(run_cluster(question, question.real, path))
    runs = [measured for measured, _ in results]
    corpora = [Corpus(**text, options=question.options) for _, text in results]
    factors = []
    for measured, corpus in zip(runs, corpora, strict=True):
        predicted = corpus.work(measured.workers, question.threads)
        factors.append(measured.rows / (predicted.rows * predicted.jobs))
    whole, rows_factor = corpora[0], fmean(factors)
    threads = run_training(str(question.corpus), question.options | {"workers": question.cores})[0]
    costs = fit(threads.coordinator_cores / runs[0].tokens, runs, 1.0)
    work = whole.work(1, question.threads, rows_factor)
    costs = _with_threads(question, costs, work, runs[0])
    return Calibration(costs, whole, rows_factor, threads, runs[0])


def _with_threads(question: Question, costs: Costs, work: Work, measured: Measured) -> Costs:
    """Return costs whose `threads` makes a simulated worker as fast as the measured one.

    The value is found by bisection.
    """
    layout = Layout.one_host(Host(question.cores, np.inf), 1, 1)

    def too_slow(threads: float) -> bool:
        candidate = replace(costs, threads=threads)
        return simulate(candidate, work, layout).seconds > measured.seconds

    low, high = 0.0, float(question.cores)
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if too_slow(middle) else (low, middle)
    return replace(costs, threads=high)


def _copy_part(source: Path, target: Path, part: int) -> None:
    """Copy every `part`-th line of a text, beginning with the first."""
    with open(source, "rb") as lines, open(target, "wb") as copy:
        copy.writelines(line for index, line in enumerate(lines) if index % part == 0)


def predict(costs: Costs, work: Work, layout: Layout, raw_words: int) -> Simulated:
    """Simulate an epoch, and determine its bottleneck."""
    outcome = simulate(costs, work, layout)
    busy = _busy(outcome, layout, costs, work)
    busiest = max(busy, key=lambda name: busy[name])
    tokens = work.jobs * work.tokens
    transferred_bytes = work.jobs * work.rows * (work.fetched_bytes + work.pushed_bytes)
    return Simulated(
        workers=len(layout.workers),
        ps=len(layout.ps),
        words_per_second=raw_words / outcome.seconds,
        staleness=outcome.staleness,
        busy=busy,
        bound=busiest if busy[busiest] >= MIN_UTILIZATION else "waiting",
        bytes_per_token=transferred_bytes / tokens,
    )


def _busy(outcome: Outcome, layout: Layout, costs: Costs, work: Work) -> dict[str, float]:
    """Return the utilization of the busiest resource of each kind.

    For workers, 1 means that all the cores that a worker can keep busy were in use.
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
