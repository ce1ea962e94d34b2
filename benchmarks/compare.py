"""Comparison of gensim and TFWord2Vec: ``python -m benchmarks.compare CORPUS --out FOLDER``.

This process imports neither of the two packages that it compares. On Linux, a child's peak memory
starts at its parent's size, so each run in a child would count the parent's imports, too.
"""

import argparse
import ast
import re
import shlex
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.command import pairs, seeds, shared_parser
from benchmarks.comparison import markdown
from benchmarks.process import call, run
from benchmarks.records import REFERENCE, Run
from benchmarks.report import begin, write
from gensim_tfw2v.processes.threads import usable_cores


class Engine(NamedTuple):
    """Row of the tables: a class to train, with its options, its input and its kernel."""

    name: str
    target: str  # module:Class
    options: dict[str, Any] = {}
    from_file: bool = True  # train from corpus_file=; if False, from an iterable
    kernel: str | None = None  # instruction set, such as "avx2"; by default the processor's best


class Task(NamedTuple):
    """Planned training run. The runs of a round follow each other directly."""

    engine: Engine
    setting: str
    round: int
    options: dict[str, Any]


#: Constructor arguments of each objective; the last two are those of Doc2Vec.
OBJECTIVES = {"sg": {"sg": 1}, "cbow": {"sg": 0}, "dbow": {"dm": 0}, "dm": {"dm": 1}}


def setting_options(name: str) -> dict[str, Any]:
    """Return the constructor arguments for a setting: ``sg300`` is skip-gram with D = 300."""
    match = re.fullmatch(rf"({'|'.join(OBJECTIVES)})(hs)?(\d+)", name)
    if not match:
        raise SystemExit(
            f"unknown setting {name!r}: write {', '.join(OBJECTIVES)}, with hs for hierarchical "
            "softmax, and the size, as in sg100 or cbowhs300"
        )
    hierarchical = {"hs": 1, "negative": 0} if match[2] else {}
    return {**OBJECTIVES[match[1]], "vector_size": int(match[3]), **hierarchical}


def literals(text: str) -> dict[str, Any]:
    """Parse ``NAME=VALUE ...``; values that are not Python literals are strings."""
    options = {}
    for option in shlex.split(text):
        name, is_one, value = option.partition("=")
        if not is_one:
            raise argparse.ArgumentTypeError(f"{option}: write NAME=VALUE")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = value
    return options


def engines(args: argparse.Namespace) -> list[Engine]:
    """Return the engines that the command line selects, in the order of the first round."""
    candidate, name = args.candidate, args.candidate.partition(":")[2]
    engine_list = [
        Engine(REFERENCE, args.reference),
        Engine("gensim iterable", args.reference, from_file=False),
        Engine(f"{name} corpus_file", candidate),
    ]
    engine_list += [Engine(f"{name} {kernel}", candidate, kernel=kernel) for kernel in args.kernel]
    for options in args.also:
        description = " ".join(f"{key}={value}" for key, value in options.items())
        engine_list.append(Engine(f"{name} {description}", candidate, options))
    return engine_list


def tasks(args: argparse.Namespace, settings: dict[str, dict[str, Any]]) -> Iterator[Task]:
    """Yield the training runs of all settings and rounds, in order.

    A round has each engine at most once. Each round starts with the engine after the one with which
    the previous round started, so that no engine always runs first.
    """
    all_engines = engines(args)
    for setting, options in settings.items():
        for round_number, seed in enumerate(seeds(args)):
            start = round_number % len(all_engines)
            for engine in all_engines[start:] + all_engines[:start]:
                if engine.from_file or round_number < args.iterable_rounds:
                    yield Task(
                        engine, setting, round_number, {**options, **engine.options, "seed": seed}
                    )


def measure(task: Task, args: argparse.Namespace) -> Run:
    """Run one task in a new process."""
    engine = task.engine
    arguments = {
        "target": engine.target,
        "from_file": engine.from_file,
        "corpus": str(args.corpus.resolve()),
        "options": task.options,
        "pairs": pairs(args),
        "quality": args.quality,
        "start_time": time.time(),
    }
    answer, child = call(
        "benchmarks.one_run:measure",
        arguments,
        environment={"TFW2V_ISA": engine.kernel} if engine.kernel else {},
        cores=usable_cores()[: args.threads] if args.pin else None,
    )
    return Run(
        engine=engine.name,
        setting=task.setting,
        round=task.round,
        seed=task.options["seed"],
        family_bytes=child.family_bytes,
        **answer,
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = ("corpus", "--out", "--name", "--seeds", "--first-seed", "--epochs", "--threads")
    argument_parser = shared_parser("benchmarks.compare", __doc__, *shared, "--eval", "--pin")
    add, flag = argument_parser.add_argument, argparse.BooleanOptionalAction
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
    return argument_parser


def main() -> None:
    """Make all training runs; after each, write the results so far."""
    args = parser().parse_args()
    common: dict[str, Any] = {"window": 5, "negative": 5, "sample": 1e-3, "min_count": 5}
    for options in args.option:
        common |= options
    common |= {"epochs": args.epochs, "workers": args.threads}
    settings = {name: {**common, **setting_options(name)} for name in args.settings.split(",")}
    imports = {
        name: run([sys.executable, "-c", f"import {name}"]).peak_bytes
        for name in ("tensorflow", "gensim")
    }
    base = args.out / (args.name or args.corpus.stem)
    document = begin(args.corpus) | {
        "name": base.name,
        "pinned": args.pin,
        "settings": settings,
        "import_bytes": imports,
    }
    runs: list[Run] = []
    for task in tasks(args, settings):
        record = measure(task, args)
        runs.append(record)
        print(
            f"{record.setting} round {record.round + 1}/{args.seeds} {record.engine}: "
            f"{record.words_per_second / 1e6:.3f} M raw words/s, "
            f"{record.text_seconds:.1f} s from text to vectors",
            flush=True,
        )
        document["corpus"]["words"] = record.raw_words
        document["runs"] = [run.to_json() for run in runs]
        write(base, document, markdown(document))
    print(f"\n{markdown(document)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
