"""Regimes and layouts side by side: ``python -m benchmarks.regimes CORPUS``.

Each run is one training in a process of its own. What a run differs in is said by options of
TFWord2Vec: ``"cluster=local:ps=2,worker=4 regime=downpour:n_fetch=8,n_push=8"``. One line of JSON
for each run, alternating, and a table of means at the end.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.compare import literal
from benchmarks.one_run import evaluate
from benchmarks.process import pool_of_measurements

CLUSTER = "cluster=local:ps=2,worker=4"
RUNS = [
    "",
    CLUSTER,
    f"{CLUSTER} regime=synchronous",
    f"{CLUSTER} regime=downpour",
    f"{CLUSTER} regime=downpour:n_fetch=8,n_push=8",
]


def options_of(run: str) -> dict[str, Any]:
    """Constructor arguments, out of a run's text."""
    named = dict(part.split("=", 1) for part in run.split())
    return {name: literal(value) for name, value in named.items()}


def measure(corpus: str, options: dict[str, Any], pairs: dict[str, str]) -> dict[str, Any]:
    """Train once, in this process."""
    from gensim_tfw2v import TFWord2Vec

    model = TFWord2Vec(corpus_file=corpus, **options)
    found: dict[str, Any] = {"words/s": model.corpus_total_words * model.epochs}
    found["words/s"] /= model.total_train_time
    if (traffic := model.traffic) is not None:
        found["fetched"] = traffic.fetched_bytes / traffic.tokens
        found["pushed"] = traffic.pushed_bytes / traffic.tokens
        found["repeated"] = traffic.repeated
    return found | evaluate(model.wv, pairs)


def main(argv: list[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regimes", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--runs", nargs="+", default=RUNS, help="options of each (local, and the regimes on 2 x 4)")
    add("--option", nargs="*", default=[], metavar="NAME=VALUE", help="of all runs")
    add("--seeds", type=int, default=3, help="rounds, each with a seed of its own (3)")
    add("--first-seed", type=int, default=4, help="(4)")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    given = parser.parse_args(argv)
    pairs = {path.stem: str(path) for path in given.eval}
    common = {"sg": 1, "workers": 2, **options_of(" ".join(given.option))}
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        for run in given.runs:
            options = {**common, **options_of(run), "seed": seed}
            with pool_of_measurements(1) as pool:
                one = pool.submit(measure, str(given.corpus), options, pairs).result()
            found.setdefault(run, []).append(one)
            print(json.dumps({"run": run, "seed": seed, **one}), flush=True)
    print(table(found))


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Means over the seeds, as Markdown."""
    names = list(dict.fromkeys(name for runs in found.values() for one in runs for name in one))
    lines = [f"| run | {' | '.join(names)} |", "|" + " --- |" * (len(names) + 1)]
    for run, runs in found.items():
        cells = []
        for name in names:
            values = [one[name] for one in runs if one.get(name) is not None]
            cells.append(f"{mean(values):.3f}" if values else "")
        lines.append(f"| {run or 'one process'} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
