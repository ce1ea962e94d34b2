"""``tfw2v plan``: estimates for a training run, and advice on whether and how to use a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from gensim_tfw2v.cli.common import (
    BadInput,
    PsTasks,
    Verbose,
    WorkerTasks,
    find_user_options,
    option,
    print_rows,
)
from gensim_tfw2v.messages import quoted

if TYPE_CHECKING:
    from gensim_tfw2v.planning import Choice, Machines
    from gensim_tfw2v.planning.measured_links import ClusterLinks

#: Type of the options that are those of ``tfw2v train``.
TrainOption = Annotated[int, option("As for tfw2v train.", min=1, max=2**31 - 1)]

#: Maximum of ``--vocab``: the frequency of each word is computed, which takes time and memory.
MAX_VOCABULARY = 100_000_000

#: Factors of the prefixes of units, as in 10Gbit or 64GB.
PREFIX_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

#: Parameters that a file of links replaces, with their options.
LINKS_OPTIONS = {
    "net": "--net",
    "latency": "--latency",
    "worker_tasks": "--worker-tasks",
    "ps_tasks": "--ps-tasks",
}


def plan(
    context: typer.Context,
    vocab: Annotated[str, option("Words in the vocabulary: 200000, 1e6, 5M.")],
    tokens: Annotated[str, option("Words of the corpus: 17e6, 100e9, 2.5G.")],
    vector_size: TrainOption = 100,
    worker_tasks: WorkerTasks = 4,
    ps_tasks: PsTasks = 2,
    workers: Annotated[
        int, option("Threads per worker task, and on one machine.", min=1, max=65_536)
    ] = 8,
    net: Annotated[str, option("Network bandwidth per task: 10Gbit, 1Gbit.")] = "10Gbit",
    latency: Annotated[float, option("Round-trip time on the network, in ms.", min=0)] = 0.2,
    links: Annotated[
        Path | None,
        option(
            "File of tfw2v cluster check --output, instead of --net, --latency, --worker-tasks and "
            "--ps-tasks."
        ),
    ] = None,
    memory: Annotated[str, option("Memory per task: 64GB.")] = "64GB",
    coordinator_memory: Annotated[
        str | None, option("Memory of the coordinator, if it is not that of the other tasks.")
    ] = None,
    epochs: Annotated[int, option("Passes over the corpus.", min=1, max=2**31 - 1)] = 5,
    window: TrainOption = 5,
    negative: TrainOption = 5,
    sample: Annotated[float, option("As for tfw2v train.", min=0)] = 1e-3,
    sg: Annotated[bool, option("Skip-gram, or CBOW.", "--sg/--cbow")] = False,
    verbose: Verbose = False,
) -> None:
    """Estimate memory, traffic and time on one machine and on a cluster, and recommend one way.

    Word frequencies are assumed to follow Zipf's law, and training to use negative sampling.
    """
    from gensim_tfw2v import planning
    from gensim_tfw2v.planning import memory as memory_requests
    from gensim_tfw2v.planning.workload import PROCESSOR

    n_words = quantity(tokens, "", "--tokens")
    vocabulary_size = round(quantity(vocab, "", "--vocab"))
    if not 1 <= vocabulary_size <= MAX_VOCABULARY:
        raise BadInput(f"--vocab is {quoted(vocab)}: give a number from 1 to {MAX_VOCABULARY:,}")
    if n_words < vocabulary_size:
        raise BadInput(
            f"--tokens is {quoted(tokens)}, but a corpus has at least as many words as its "
            f"vocabulary, and --vocab is {quoted(vocab)}: exchange the two, or correct one"
        )
    measured_links = None
    if links is not None:
        user_options = find_user_options(context)
        for name, option_name in LINKS_OPTIONS.items():
            if name in user_options:
                raise BadInput(
                    f"--links and {option_name} exclude each other; give only one of them"
                )
        measured_links = _read_cluster_links(links)
        worker_tasks = len(measured_links.worker_links)
        ps_tasks = measured_links.n_ps
    work = planning.Workload.for_text(
        vocabulary_size, n_words, vector_size, window, negative, sg, sample
    )
    machines = planning.Machines(
        workers=worker_tasks,
        shards=ps_tasks,
        threads=workers,
        net=quantity(net, "bit", "--net") / 8,
        latency=latency / 1e3,
        memory=quantity(memory, "B", "--memory"),
        coordinator_memory=quantity(coordinator_memory or memory, "B", "--coordinator-memory"),
        links=measured_links,
    )
    choices = planning.compare(work, n_words, machines, epochs)
    tasks = f"workers: {worker_tasks}, threads per worker: {workers}, ps: {ps_tasks}"
    task_ns = work.core_ns * planning.WORKER_FACTOR
    files = None
    if memory_requests.keeps_files(work, machines.program_memory):
        disk_space = _gigabytes(memory_requests.disk_request(work))
        files = f"the coordinator keeps the model in files, with {disk_space} of disk space"
    coordinator_request = memory_requests.coordinator_request(work, machines.program_memory)
    print_rows(
        [
            (
                "model",
                f"{work.tables / 1e9:,.1f} GB: 2 tables of {vocabulary_size:,} x {vector_size}",
            ),
            ("corpus", f"{n_words:,.0f} words, {work.frequencies.kept:.0%} of them trained on"),
            ("cluster", f"{tasks}; memory of the coordinator: {_gigabytes(coordinator_request)}"),
            ("files", files),
            ("links", measured_links and _describe_links(measured_links)),
            ("a core", f"{work.core_ns:.0f} ns per word, {task_ns:.0f} as worker, {PROCESSOR}"),
        ]
    )
    Console(highlight=False, width=120).print(_make_table(choices, n_words * epochs))
    print_rows(_advise(machines, choices))


def _read_cluster_links(path: Path) -> ClusterLinks:
    """Return the rates of the cluster's tasks, from a file of their links."""
    from gensim_tfw2v.cluster.links import read_links
    from gensim_tfw2v.planning.measured_links import ClusterLinks

    measurements = read_links(path)
    try:
        return ClusterLinks.from_measurements(measurements)
    except ValueError as error:
        raise BadInput(f"{path}: {error}; repeat tfw2v cluster check") from error


def _describe_links(links: ClusterLinks) -> str:
    rates = [link.net for link in links.worker_links]
    round_trips = [1e3 * link.latency for link in links.worker_links]
    return (
        f"workers {_megabits(min(rates))} to {_megabits(max(rates))} Mbit/s, round trips "
        f"{min(round_trips):.2g} to {max(round_trips):.2g} ms; slowest ps "
        f"{_megabits(links.ps_net)} Mbit/s; coordinator {_megabits(links.coordinator_net)} Mbit/s"
    )


def _megabits(rate: float) -> str:
    return f"{8e-6 * rate:,.0f}"


def _make_table(choices: list[Choice], n_words: float) -> Table:
    """Return the table of estimates for training on `n_words` words, all epochs counted."""
    names = (
        "bytes per word",
        "ps needs",
        "worker needs",
        "ps net",
        "worker net",
        "words/s",
        "time",
    )
    columns = (Column(name, justify="right") for name in names)
    table = Table("", *columns, "bound by", box=None, pad_edge=False)
    for choice in choices:
        table.add_row(
            choice.name,
            f"{choice.bytes_per_token:,.0f}",
            _gigabytes(choice.ps_request),
            _gigabytes(choice.worker_request),
            _gigabits(choice.ps_net),
            _gigabits(choice.worker_net),
            f"{choice.words_per_second / 1e6:,.1f} M",
            _duration(n_words / choice.words_per_second),
            choice.bound,
        )
    return table


def _duration(seconds: float) -> str:
    try:
        return str(timedelta(seconds=round(seconds)))
    except OverflowError:  # above 2.7 million years
        return f"{seconds / 31_556_952:.1e} years"


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"


def _gigabits(bandwidth: float) -> str:
    return f"{bandwidth * 8 / 1e9:,.2f} Gbit/s"


def _describe_shortages(choice: Choice, machines: Machines) -> str:
    """Return a list of the tasks for which memory is too small: "a ps needs 9.0 GB, ..."."""
    articles = {"ps": "a ps", "worker": "a worker", "coordinator": "the coordinator"}
    if not choice.coordinator_request:
        articles["worker"] = "it"
    shortages = choice.shortages(machines).items()
    return ", ".join(f"{articles[task]} needs {_gigabytes(size)}" for task, size in shortages)


def _advise(machines: Machines, choices: list[Choice]) -> Iterator[tuple[str, str]]:
    """Yield lines of output: the best choice and the reason for it, then one against each other."""
    best = choices[0]
    if best.bound == "memory":
        yield (
            "advice",
            "none fits; give tasks as much memory, use more ps tasks, or smaller vectors",
        )
        for choice in choices:
            yield "", f"{choice.name}: {_describe_shortages(choice, machines)}"
        return
    reasons = {
        "cores": "limited by its cores",
        "network": "limited by its network, but still the fastest",
        "latency": "limited by latency, but still the fastest",
    }
    yield "advice", f"{best.name}: {best.option or 'no cluster'}; {reasons[best.bound]}"
    for choice in choices[1:]:
        speed = choice.words_per_second / best.words_per_second
        reason = f"is only {speed:.1f} times as fast"
        if choice.bound == "memory":
            reason = f"does not fit: {_describe_shortages(choice, machines)}"
        elif choice.bound == "corpus":
            reason = "would reduce quality: the corpus is too small for this many"
        elif speed < 0.9:
            reason = f"has {speed:.0%} of its speed, bound by {choice.bound}"
        yield "", f"{choice.name} {reason}"


def quantity(text: str, unit: str, option: str) -> float:
    """Read a number above 0, such as ``"10Gbit"``, ``"64GB"``, or ``"1e9"`` if `unit` is empty.

    Raises
    ------
    BadInput
        If the text is not such a number, or lacks the unit.
    """
    lookahead = "(?=[a-z])" if unit else ""
    pattern = rf"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*{lookahead}([KMGT]?)(?:{unit})?\s*"
    match = re.fullmatch(pattern, text, re.IGNORECASE | re.ASCII)
    value = float(match[1]) * PREFIX_FACTORS[match[2].upper()] if match else 0.0
    if not 0 < value < math.inf:
        example = f"with its unit, such as 10G{unit}" if unit else "such as 1e9 or 10G"
        raise BadInput(f"{option} is {quoted(text)}: give a number above 0, {example}")
    return value
