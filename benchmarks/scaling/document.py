"""The steps of a study, which fill a document that can be written after each step."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from statistics import median
from typing import Any

from benchmarks.report import begin
from benchmarks.scaling.costs import Costs
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.roofline import roofline
from benchmarks.scaling.simulation import Layout
from benchmarks.scaling.study import (
    Machines,
    Question,
    calibrate,
    predict,
    ps_tasks,
    run_cluster,
)
from gensim_tfw2v.graph.step_shape import choose_product_dtype
from gensim_tfw2v.planning.workload import distinct_rows

#: Maximum number of simulated workers. More workers than requested are simulated, too, to show
#: where the bottlenecks are.
MAX_WORKERS = 256


def study(question: Question, rounds: int) -> Iterator[dict[str, Any]]:
    """Run the study; yield the document after each round of real clusters, and at the end."""
    document = begin(question.corpus) | {
        "options": question.options,
        "threads": question.threads,
        "simulated_words": question.words,
        "calibrations": [],
        "real": [],
    }
    for round_number in range(rounds):
        corpus = _run_round(question, round_number, document)
        yield document
    document["calibration"] = {
        name: median(calibration[name] for calibration in document["calibrations"])
        for name in document["calibrations"][0]
    }
    document["simulated"] = [
        {
            **machines.host._asdict(),
            "latency": machines.latency,
            "shared_text": machines.shared_text,
            "rows": list(_simulate_clusters(question, machines, corpus, document)),
        }
        for machines in question.machines
    ]
    if document["calibration"]["token"]:
        document["roofline"] = _roofline(corpus, document)
    yield document


def _run_round(question: Question, round_number: int, document: dict[str, Any]) -> Corpus:
    """Run one round: calibrate, run the clusters, and compare their speed with the prediction."""
    costs, corpus, rows_factor, threads, alone = calibrate(question)
    print(f"round {round_number + 1}: {costs}, {rows_factor:.2f} times the predicted rows")
    document["corpus"]["words"] = alone.raw_words
    document["calibrations"].append({**asdict(costs), "rows_factor": rows_factor})
    print(f"threads: {threads.words_per_second:,.0f} words/s")
    for workers in (n for n in question.workers if n <= question.real):
        measured = alone
        if workers != 1:
            measured, _ = run_cluster(question, workers, question.corpus)
        layout = Layout.one_host(Host(question.cores, 1e12), ps_tasks(workers), workers)
        work = corpus.work(workers, question.threads, rows_factor)
        predicted = predict(costs, work, layout, alone.raw_words)
        speeds = measured.words_per_second, predicted.words_per_second
        document["real"].append(
            {
                "round": round_number,
                "measured": {**asdict(measured), "words_per_second": speeds[0]},
                "threads_words_per_second": threads.words_per_second,
                "predicted": asdict(predicted),
            }
        )
        print(f"{workers} workers: {speeds[0]:,.0f} words/s, predicted {speeds[1]:,.0f}")
    return corpus


def _simulate_clusters(
    question: Question, machines: Machines, corpus: Corpus, document: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the results of simulations for the requested and for larger numbers of workers."""
    calibration = dict(document["calibration"])
    rows_factor = calibration.pop("rows_factor")
    costs = Costs(**calibration)
    # A worker with more threads than the measured one is assumed to be faster in proportion.
    thread_ratio = machines.threads / min(question.threads, question.cores)
    costs = replace(costs, threads=costs.threads * max(1.0, thread_ratio))
    raw_words = document["corpus"]["words"]
    if question.words:
        corpus, raw_words = corpus.grown(question.words * corpus.tokens / raw_words), question.words
    larger_numbers = []
    workers = 2 * max(question.workers)
    while workers <= MAX_WORKERS:
        larger_numbers.append(workers)
        workers *= 2
    for workers in (*question.workers, *larger_numbers):
        layout = Layout.own_hosts(machines.host, ps_tasks(workers), workers, machines.latency)
        work = corpus.work(workers, machines.threads, rows_factor)
        if machines.shared_text:
            work = replace(work, text_bytes=0.0)
        yield asdict(predict(costs, work, layout, raw_words))


def _roofline(corpus: Corpus, document: dict[str, Any]) -> dict[str, float]:
    """Return the results of `roofline` for the kernel in one thread of a worker."""
    load = corpus.workload()
    rows = sum(distinct_rows(load, load.shape.tokens)) / load.shape.tokens
    return roofline(load, choose_product_dtype(), 1 / document["calibration"]["token"], rows)
