"""gensim and TFWord2Vec side by side: ``python -m benchmarks.compare CORPUS --out FOLDER``.

This process imports neither: on Linux a child's peak memory starts at its parent's size.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import describe
from benchmarks.process import one_run
from benchmarks.records import REFERENCE, Run, Task
from benchmarks.report import markdown
from gensim_tfw2v.processes.machine import usable_cores


def setting_options(name: str) -> dict[str, Any]:
    """Constructor arguments of a named row of settings: ``sg300`` is skip-gram with D = 300."""
    found = re.fullmatch(r"(sg|cbow)(hs)?(\d+)", name)
    if not found:
        raise SystemExit(f"unknown setting {name!r}: write sg, cbow, sghs or cbowhs, and the size")
    hierarchical = {"hs": 1, "negative": 0} if found[2] else {}
    return {"sg": int(found[1] == "sg"), "vector_size": int(found[3]), **hierarchical}


def literal(value: str) -> Any:
    """A Python literal, or the text itself where it is none."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def measure(task: Task) -> Run:
    """Run one task in a fresh process."""
    record = one_run([], json.dumps(asdict(replace(task, started=time.time()))))
    return Run(**{name: record[name] for name in Run.__dataclass_fields__})


class Engine(NamedTuple):
    """What trains: a class, whether it is given the corpus as a file, and its own options."""

    target: str
    from_file: bool
    options: dict[str, Any]
    kernel: str | None = None


def engines(arguments: argparse.Namespace) -> dict[str, Engine]:
    """Engines by name, in the first round's order."""
    candidate = arguments.candidate.partition(":")[2]
    known = {
        REFERENCE: Engine(arguments.reference, True, {}),
        "gensim iterable": Engine(arguments.reference, False, {}),
        f"{candidate} corpus_file": Engine(arguments.candidate, True, {}),
        f"{candidate} iterable": Engine(arguments.candidate, False, {}),
    }
    if not arguments.iterable:
        del known[f"{candidate} iterable"]
    for kernel in arguments.kernel:
        known[f"{candidate} {kernel}"] = Engine(arguments.candidate, True, {}, kernel)
    for cluster in arguments.cluster:
        known[f"{candidate} {cluster}"] = Engine(arguments.candidate, True, {"cluster": cluster})
    return known


def tasks(arguments: argparse.Namespace, settings: dict[str, dict[str, Any]]) -> Iterator[Task]:
    """All runs in their order: each round holds an engine once at most, each begins later."""
    known = list(engines(arguments).items())
    for setting, options in settings.items():
        for number in range(arguments.seeds):
            start = number % len(known)
            for engine, (target, from_file, own, kernel) in known[start:] + known[:start]:
                if not from_file and number >= arguments.iterable_rounds:
                    continue
                yield Task(
                    engine=engine,
                    target=target,
                    from_file=from_file,
                    setting=setting,
                    round=number,
                    corpus=str(arguments.corpus.resolve()),
                    options={**options, **own, "seed": arguments.first_seed + number},
                    pairs={path.stem: str(path.resolve()) for path in arguments.eval},
                    quality=arguments.quality,
                    kernel=kernel,
                    cores=arguments.threads if arguments.pin else None,
                )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    add = made.add_argument
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--out", type=Path, required=True, help="folder for NAME.json and NAME.md")
    add("--name", help="name of the results (default: the corpus file's)")
    add("--seeds", type=int, default=3, help="rounds, each with a seed of its own (3)")
    add("--first-seed", type=int, default=1, help="seed of the first round (1)")
    add("--epochs", type=int, default=5, help="passes over the corpus (5)")
    add("--threads", type=int, default=2, help="workers of both engines (2)")
    add("--sg", type=int, choices=(0, 1), default=1, help="1 skip-gram, 0 CBOW (1)")
    add("--vector-size", type=int, default=100, help="size of the vectors (100)")
    add("--settings", help="in place of the last two, several: sg100,cbow300,sghs100")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="passed to both")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    flag = argparse.BooleanOptionalAction
    add("--quality", action=flag, default=True, help="evaluate the vectors")
    add("--iterable", action=flag, default=False, help="also TFWord2Vec on an iterable")
    add(
        "--cluster", action="append", default=[], metavar="local:ps=P,worker=N",
        help="also TFWord2Vec on this cluster; may be given again",
    )  # fmt: skip
    add(
        "--kernel", action="append", default=[], metavar="avx2",
        help="also TFWord2Vec by this kernel, which need not be the processor's best",
    )  # fmt: skip
    add("--iterable-rounds", type=int, default=1, help="rounds with iterables, the slowest (1)")
    add("--pin", action=flag, default=True, help="bind each run to as many cores as threads")
    add("--reference", default="gensim.models:Word2Vec", help="module:Class to compare with")
    add("--candidate", default="gensim_tfw2v:TFWord2Vec", help="module:Class to compare")
    return made


def checked(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments, after looking at what would otherwise fail an hour later."""
    for path in [arguments.corpus, *arguments.eval]:
        if not path.is_file():
            raise SystemExit(f"no such file: {path}")
    if arguments.seeds < 1 or arguments.threads < 1:
        raise SystemExit("--seeds and --threads must be at least 1")
    if arguments.threads > len(usable_cores()):
        raise SystemExit(f"--threads {arguments.threads}: this machine has {len(usable_cores())}")
    if wrong := [option for option in arguments.option if "=" not in option]:
        raise SystemExit(f"--option {wrong[0]}: write NAME=VALUE")
    return arguments


def main(argv: list[str] | None = None) -> None:
    """Measure, and write after each run what there is so far."""
    arguments = checked(parser().parse_args(argv))
    names = arguments.settings or f"{'sg' if arguments.sg else 'cbow'}{arguments.vector_size}"
    common: dict[str, Any] = {"window": 5, "negative": 5, "sample": 1e-3, "min_count": 5}
    common |= {name: literal(value) for name, value in (o.split("=", 1) for o in arguments.option)}
    common |= {"epochs": arguments.epochs, "workers": arguments.threads}
    settings = {name: {**common, **setting_options(name)} for name in names.split(",")}

    document: dict[str, Any] = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "corpus": {"name": arguments.corpus.name, "bytes": arguments.corpus.stat().st_size},
        "machine": describe(),
        "pinned": arguments.pin,
        "settings": settings,
        "import_bytes": {name: one_run([name])["peak_bytes"] for name in ("tensorflow", "gensim")},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    base = arguments.out / (arguments.name or arguments.corpus.stem)
    runs: list[Run] = []
    for task in tasks(arguments, settings):
        run = measure(task)
        runs.append(run)
        print(
            f"{run.setting} round {run.round + 1}/{arguments.seeds} {run.engine}: "
            f"{run.words_per_second / 1e6:.3f} M raw words/s, "
            f"{run.text_seconds:.1f} s from text to vectors",
            flush=True,
        )
        document["corpus"]["words"] = run.raw_words
        document["runs"] = [each.to_json() for each in runs]
        base.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        base.with_suffix(".md").write_text(markdown(document, runs))
    print(f"\n{markdown(document, runs)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
