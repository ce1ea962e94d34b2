"""Comparison of gensim and TFWord2Vec: ``python -m benchmarks.compare CORPUS --out FOLDER``.

This process imports neither, because on Linux a child's peak memory starts at its parent's size.
"""

import argparse
import ast
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks.command import pairs, seeds, shared_parser
from benchmarks.process import call, run
from benchmarks.records import REFERENCE, Run
from benchmarks.report import (
    MEGABYTE,
    begin,
    facts,
    page,
    paired_ratios,
    quality_table,
    section,
    spread,
    table,
    unique,
    write,
)
from gensim_tfw2v.processes.threads import usable_cores


class Engine(NamedTuple):
    """Configuration that is compared: a class, its options, its input and its kernel."""

    name: str
    target: str  # module:Class
    options: dict[str, Any] = {}
    from_file: bool = True  # train from corpus_file=, or else from an iterable
    kernel: str | None = None  # instruction set, such as "avx2"; by default the best


class Task(NamedTuple):
    """One training; trainings of the same round run directly after each other."""

    engine: Engine
    setting: str
    round: int
    options: dict[str, Any]


#: Constructor arguments of each objective; the last two are those of Doc2Vec.
OBJECTIVES = {"sg": {"sg": 1}, "cbow": {"sg": 0}, "dbow": {"dm": 0}, "dm": {"dm": 1}}


def setting_options(name: str) -> dict[str, Any]:
    """Return the constructor arguments for a setting: ``sg300`` is skip-gram with D = 300."""
    found = re.fullmatch(rf"({'|'.join(OBJECTIVES)})(hs)?(\d+)", name)
    if not found:
        raise SystemExit(
            f"unknown setting {name!r}: write {', '.join(OBJECTIVES)}, with hs for hierarchical "
            "softmax, and the size, as in sg100 or cbowhs300"
        )
    hierarchical = {"hs": 1, "negative": 0} if found[2] else {}
    return {**OBJECTIVES[found[1]], "vector_size": int(found[3]), **hierarchical}


def literals(text: str) -> dict[str, Any]:
    """Parse ``NAME=VALUE ...``; values that are not Python literals are strings."""
    found = {}
    for option in shlex.split(text):
        name, is_one, value = option.partition("=")
        if not is_one:
            raise argparse.ArgumentTypeError(f"{option}: write NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def engines(given: argparse.Namespace) -> list[Engine]:
    """Return the engines in the order of the first round."""
    ours, name = given.candidate, given.candidate.partition(":")[2]
    found = [
        Engine(REFERENCE, given.reference),
        Engine("gensim iterable", given.reference, from_file=False),
        Engine(f"{name} corpus_file", ours),
    ]
    found += [Engine(f"{name} {kernel}", ours, kernel=kernel) for kernel in given.kernel]
    for options in given.also:
        shown = " ".join(f"{key}={value}" for key, value in options.items())
        found.append(Engine(f"{name} {shown}", ours, options))
    return found


def tasks(given: argparse.Namespace, settings: dict[str, dict[str, Any]]) -> Iterator[Task]:
    """Yield all runs in order; each round has an engine at most once, and starts with the next."""
    known = engines(given)
    for setting, options in settings.items():
        for number, seed in enumerate(seeds(given)):
            start = number % len(known)
            for engine in known[start:] + known[:start]:
                if engine.from_file or number < given.iterable_rounds:
                    yield Task(engine, setting, number, {**options, **engine.options, "seed": seed})


def measure(task: Task, given: argparse.Namespace) -> Run:
    """Run one task in a new process."""
    engine = task.engine
    arguments = {
        "target": engine.target,
        "from_file": engine.from_file,
        "corpus": str(given.corpus.resolve()),
        "options": task.options,
        "pairs": pairs(given),
        "quality": given.quality,
        "started": time.time(),
    }
    answer, child = call(
        "benchmarks.one_run:measure",
        arguments,
        environment={"TFW2V_ISA": engine.kernel} if engine.kernel else {},
        cores=usable_cores()[: given.threads] if given.pin else None,
    )
    return Run(
        engine=engine.name,
        setting=task.setting,
        round=task.round,
        seed=task.options["seed"],
        family_bytes=child.family_bytes,
        **answer,
    )


NOTES = f"""\
Every training ran in a new process. In each round the engines ran sequentially, in an order
that changed from round to round. Times and memory are medians. A ratio ("× gensim", larger
means that this package is better) compares two runs of the same round, the second one with
{REFERENCE}; the tables show its median and its range over the rounds. Quality is the mean ±
half the range over the seeds, then the difference from {REFERENCE}'s mean: Spearman
correlation for word pairs, and accuracy for analogies among the 30,000 most frequent words,
both by gensim's functions. Of Doc2Vec, quality is the share of 1,000 lines of 60 words or more
whose first half is nearest to the second ("halves"), and whose inferred vector is nearest to the
trained one ("itself"). Peak memory is that of the process and its children. A cluster's
time in train() includes the start of its tasks, some seconds; its CPU time is that of all
tasks."""


def speed_table(groups: Mapping[str, Sequence[Run]]) -> str:
    """Return a table of each engine's speed, times and memory, with ratios to the reference."""
    base = groups.get(REFERENCE, [])
    head = ["engine", "raw words/s in train()", "× gensim", "text to vectors, s", "× gensim"]
    head += ["with start and imports, s", "× gensim", "CPU s in train()", "peak memory, MiB"]
    travels = any(run.bytes_per_token is not None for runs in groups.values() for run in runs)
    rows = []
    for engine, runs in groups.items():
        cells = [
            engine,
            f"{median([run.words_per_second for run in runs]) / 1e6:.3f} M",
            spread(paired_ratios(runs, base, lambda run: run.words_per_second)),
            f"{median([run.text_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.text_seconds)),
            f"{median([run.process_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.process_seconds)),
            f"{median([run.cpu_seconds for run in runs]):.1f}",
            f"{median([run.memory_bytes for run in runs]) / MEGABYTE:.0f}",
        ]
        if travels:
            cells.append(f"{median([run.bytes_per_token or 0 for run in runs]):.0f}")
        rows.append(cells)
    return table([*head, "bytes per token"] if travels else head, rows)


def markdown(document: Mapping[str, Any], runs: Sequence[Run]) -> str:
    """Return the page for a document and its runs, in any order."""
    sizes = document["import_bytes"].items()
    imports = ", ".join(f"{name} {size / MEGABYTE:.0f} MiB" for name, size in sizes)
    parts = [facts(document, {"memory of a process that only imports": imports}), NOTES]
    for setting in unique(one.setting for one in runs):
        chosen = sorted((run for run in runs if run.setting == setting), key=lambda run: run.round)
        names = sorted({run.engine for run in chosen}, key=lambda name: (name != REFERENCE, name))
        groups = {name: [run for run in chosen if run.engine == name] for name in names}
        options = ", ".join(f"{k}={v}" for k, v in document["settings"][setting].items())
        numbers = ", ".join(str(seed) for seed in sorted({run.seed for run in chosen}))
        text = f"{options}; seeds {numbers}"
        parts.append(section(setting, text, speed_table(groups), quality_table(groups)))
    return page(f"Compared with gensim: {document['corpus']['name']}", *parts)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = ("corpus", "--out", "--name", "--seeds", "--first-seed", "--epochs", "--threads")
    made = shared_parser("benchmarks.compare", __doc__, *shared, "--eval", "--pin")
    add, flag = made.add_argument, argparse.BooleanOptionalAction
    add("--settings", default="sg100", help="such as sg100,cbow300,sghs100 (sg100)")
    add("--option", action="append", type=literals, default=[], metavar="NAME=VALUE",
        help="constructor argument for all engines")  # fmt: skip
    add("--quality", action=flag, default=True, help="evaluate the vectors")
    add("--also", action="append", type=literals, default=[], metavar="'NAME=VALUE ...'",
        help="also TFWord2Vec with these options; may be repeated")  # fmt: skip
    add("--kernel", action="append", default=[], metavar="avx2",
        help="also TFWord2Vec with this kernel, instead of the processor's best")  # fmt: skip
    add(
        "--iterable-rounds",
        type=int,
        default=1,
        help="rounds with gensim iterable, the slowest engine (1)",
    )
    add("--reference", default="gensim.models:Word2Vec", help="module:Class to compare with")
    add("--candidate", default="gensim_tfw2v:TFWord2Vec", help="module:Class to compare")
    return made


def main() -> None:
    """Measure, and write the results so far after each run."""
    given = parser().parse_args()
    common: dict[str, Any] = {"window": 5, "negative": 5, "sample": 1e-3, "min_count": 5}
    for options in given.option:
        common |= options
    common |= {"epochs": given.epochs, "workers": given.threads}
    settings = {name: {**common, **setting_options(name)} for name in given.settings.split(",")}
    imports = {
        name: run([sys.executable, "-c", f"import {name}"]).peak_bytes
        for name in ("tensorflow", "gensim")
    }
    document = begin(given.corpus) | {
        "pinned": given.pin,
        "settings": settings,
        "import_bytes": imports,
    }
    base = given.out / (given.name or given.corpus.stem)
    runs: list[Run] = []
    for task in tasks(given, settings):
        one = measure(task, given)
        runs.append(one)
        print(
            f"{one.setting} round {one.round + 1}/{given.seeds} {one.engine}: "
            f"{one.words_per_second / 1e6:.3f} M raw words/s, "
            f"{one.text_seconds:.1f} s from text to vectors",
            flush=True,
        )
        document["corpus"]["words"] = one.raw_words
        document["runs"] = [each.to_json() for each in runs]
        write(base, document, markdown(document, runs))
    print(f"\n{markdown(document, runs)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
