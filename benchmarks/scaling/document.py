"""A whole study, step by step, as a document that is written after each step."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import describe
from benchmarks.scaling.costs import Costs
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.roofline import roofline
from benchmarks.scaling.run import Trained
from benchmarks.scaling.simulation import Layout
from benchmarks.scaling.study import (
    Question,
    calibrate,
    predict,
    ps_tasks,
    quality,
    run_cluster,
)
from benchmarks.scaling.usage import read_usage
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.graph.sizes import choose_product_dtype
from gensim_tfw2v.planning import distinct_rows

#: Up to how many workers is simulated, beyond those asked for: where does what limit?
FARTHEST = 256


def study(question: Question, rounds: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Answer the question, and give the document as it grows.

    Parameters
    ----------
    rounds : int
        How often clusters are really run.
    say : callable
        Is told what has been done.
    """
    document: dict[str, Any] = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": describe(),
        "corpus": {"name": question.corpus.name, "bytes": question.corpus.stat().st_size},
        "options": question.options,
        "threads": question.threads,
        "simulated_words": question.words,
        "shared_text": question.shared_text,
        "hosts": {**question.host._asdict(), "latency": question.latency},
        "calibrations": [],
        "real": [],
        "quality": [],
    }
    with TemporaryFolder("scaling") as folder:
        for number in range(rounds):
            corpus = _round(question, number, folder / str(number), document, say)
            yield document
    document["calibration"] = {
        name: median(one[name] for one in document["calibrations"])
        for name in document["calibrations"][0]
    }
    document["simulated"] = list(_simulated(question, corpus, document))
    if document["calibration"]["token"]:
        document["roofline"] = _roofline(question, corpus, document)
    yield document
    for seed in question.seeds:
        for workers in (0, *question.workers):
            trained = quality(question, workers, seed)
            document["quality"].append(_quality_row(trained, workers, seed))
            say(f"quality of {workers or 'no'} workers, seed {seed}: {trained.quality}")
            yield document


def _round(
    question: Question,
    number: int,
    folder: Path,
    document: dict[str, Any],
    say: Callable[[str], None],
) -> Corpus:
    """Calibrate, run the clusters, and compare them with what is predicted for them."""
    folder.mkdir()
    costs, corpus, rows_factor, runs = calibrate(question, folder)
    say(f"round {number + 1}: {costs}, {rows_factor:.2f} of the rows that were predicted")
    raw_words = runs[0].words_per_second * runs[0].seconds
    document["corpus"]["words"] = round(raw_words)
    document["calibrations"].append({**asdict(costs), "rows_factor": rows_factor})
    for workers in (one for one in question.workers if one <= question.real):
        if workers == 1:
            measured, logs = runs[0], folder / "whole"
        else:
            logs = folder / f"workers-{workers}"
            measured = run_cluster(question, workers, logs)[1]
        layout = Layout.one_host(Host(question.cores, 1e12), ps_tasks(workers), workers)
        work = corpus.work(workers, question.threads, rows_factor)
        predicted = predict(costs, work, layout, round(raw_words))
        document["real"].append(
            {"round": number, "measured": asdict(measured), "predicted": asdict(predicted)}
        )
        usages = read_usage(logs)
        document.setdefault("usage", {})[str(workers)] = {
            name: {field: list(values) for field, values in usage._asdict().items()}
            for name, usage in usages.items()
        }
        say(
            f"{workers} workers: {measured.words_per_second / 1e6:.3f} M words/s, "
            f"predicted {predicted.words_per_second / 1e6:.3f} M"
        )
    return corpus


def _simulated(
    question: Question, corpus: Corpus, document: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Clusters with a machine for each task: of those asked for, and of more workers."""
    calibration = dict(document["calibration"])
    rows_factor = calibration.pop("rows_factor")
    costs = Costs(**calibration)
    raw_words = document["corpus"]["words"]
    if question.words:
        corpus, raw_words = corpus.grown(question.words * corpus.tokens / raw_words), question.words
    farther, last = [], max(question.workers)
    while (last := 2 * last) <= FARTHEST:
        farther.append(last)
    for workers in (*question.workers, *farther):
        layout = Layout.own_hosts(question.host, ps_tasks(workers), workers, question.latency)
        work = corpus.work(workers, question.threads, rows_factor)
        if question.shared_text:
            work = replace(work, text_bytes=0.0)
        yield asdict(predict(costs, work, layout, raw_words))


def _roofline(question: Question, corpus: Corpus, document: dict[str, Any]) -> dict[str, float]:
    """The kernel of one worker's thread."""
    load = corpus.workload()
    found = roofline(
        load.shape,
        load.vector_size,
        load.skipgram,
        choose_product_dtype(),
        1 / document["calibration"]["token"],
        sum(distinct_rows(load, load.shape.tokens)) / load.shape.tokens,
    )
    return {**found._asdict(), "fraction": found.fraction}


def _quality_row(trained: Trained, workers: int, seed: int) -> dict[str, Any]:
    return {
        "workers": workers,
        "seed": seed,
        "words_per_second": trained.words_per_second,
        "staleness": trained.staleness,
        "loss": trained.losses[-1] if trained.losses else None,
        "quality": trained.quality,
    }
