"""Speed on integers: ``python -m benchmarks.integers CORPUS --out FOLDER``.

The words of a text become integers, in sentences of 40: the ranks of their frequencies, or random
numbers of 62 bits. The corpus of TFWord2Vec is an array, a list of arrays (rows), lists of ints, or
a Parquet column of lists. gensim accepts no arrays, so its corpus is lists of ints. The measured
time is that of the constructor, which counts words and trains. Each round trains from every form
once, and ratios are to gensim's time in the same round.
"""

import argparse
import pkgutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import seeds, shared_parser
from benchmarks.one_run import cpu_seconds
from benchmarks.process import call
from benchmarks.report import (
    begin,
    facts,
    page,
    paired_ratios,
    ratio_range,
    section,
    spread,
    table,
    unique,
    write,
)
from gensim_tfw2v.processes.threads import usable_cores

GENSIM = "gensim, lists"

#: Rows of the tables: the class to train, and the form of its corpus.
FORMS = {
    GENSIM: ("gensim.models:Word2Vec", "lists"),
    "array": ("gensim_tfw2v:TFWord2Vec", "array"),
    "rows": ("gensim_tfw2v:TFWord2Vec", "rows"),
    "lists": ("gensim_tfw2v:TFWord2Vec", "lists"),
    "column": ("gensim_tfw2v:TFWord2Vec", "column"),
}

#: Number of words per sentence.
LENGTH = 40


class Run(NamedTuple):
    """Results of a training run from one form of the corpus."""

    form: str
    round: int
    seconds: float
    cpu_seconds: float


def write_integers(corpus: Path, folder: Path) -> dict[str, Path]:
    """Write the words of a text as integers, in arrays [sentences, LENGTH]; return their files."""
    words = corpus.read_text(encoding="utf-8").split()
    ranks_by_word = {word: rank for rank, (word, _) in enumerate(Counter(words).most_common())}
    ranks = np.fromiter(map(ranks_by_word.__getitem__, words), np.int32, len(words))
    ranks = ranks[: len(ranks) // LENGTH * LENGTH].reshape(-1, LENGTH)
    hashes = np.random.default_rng(1).integers(2**62, size=len(ranks_by_word))
    files = {"ranks": folder / "ranks.npy", "hashes": folder / "hashes.npy"}
    np.save(files["ranks"], ranks)
    np.save(files["hashes"], hashes[ranks])
    return files


def form_of(array: NDArray[Any], form: str, folder: str) -> Any:
    """Return a corpus of this form with the words of an array of integers."""
    if form == "column":
        import pyarrow as pa
        from pyarrow import parquet

        from gensim_tfw2v import TableSentences

        path = Path(folder, "integers.parquet")
        lists = pa.ListArray.from_arrays(np.arange(len(array) + 1) * LENGTH, array.ravel())
        parquet.write_table(pa.table({"words": lists}), path)
        return TableSentences(path, "words")
    return {"array": lambda: array, "rows": lambda: list(array), "lists": array.tolist}[form]()


def measure(target: str, form: str, path: str, options: dict[str, Any]) -> tuple[float, float]:
    """Train in this process; return the wall-clock seconds and the CPU seconds."""
    engine = pkgutil.resolve_name(target)
    with tempfile.TemporaryDirectory() as folder:
        corpus = form_of(np.load(path), form, folder)
        start, cpu_start = time.perf_counter(), cpu_seconds()
        engine(corpus, **options)
        return time.perf_counter() - start, cpu_seconds() - cpu_start


def ratio_table(runs: Sequence[Run], n_words: int) -> str:
    """Return a table of times per word, and of speeds as ratios to gensim's."""
    reference = [run for run in runs if run.form == GENSIM]
    measures = attrgetter("seconds"), attrgetter("cpu_seconds")
    rows = []
    for form in dict.fromkeys(run.form for run in runs):
        form_runs = [run for run in runs if run.form == form]
        times = [
            spread([seconds(run) / n_words * 1e9 for run in form_runs]) for seconds in measures
        ]
        ratios = [paired_ratios(form_runs, reference, seconds) for seconds in measures]
        rows.append([form, *times, *(spread([1 / x for x in ratio]) for ratio in ratios)])
    return table(
        ["corpus", "ns per word", "CPU ns per word", "× gensim", "× gensim, CPU time"], rows
    )


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    tables, ratios = [], {}
    for name, found in document["runs"].items():
        runs = [Run(*run) for run in found]
        tables.append(section(name, ratio_table(runs, document["corpus"]["words"])))
        reference = [run for run in runs if run.form == GENSIM]
        for form in unique(run.form for run in runs if run.form != GENSIM):
            own = [run for run in runs if run.form == form]
            if speeds := paired_ratios(own, reference, lambda run: 1 / run.seconds):
                ratios[f"{form}, {name}"] = median(speeds)
    return page(
        "Integers as words",
        "How much faster than gensim does `TFWord2Vec` train on integers, by the form of the "
        "corpus?",
        "The words of a text became integers, in sentences of "
        f"{LENGTH}: the ranks of their frequencies, or random hashes. Medians of the rounds, and "
        "ranges. Speeds are ratios to gensim's in the same round.",
        [f"TFWord2Vec trained {ratio_range(ratios)} times as fast as gensim."] if ratios else ["–"],
        *tables,
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser(
        "benchmarks.integers",
        __doc__,
        *("corpus", "--out", "--seeds", "--first-seed", "--epochs", "--threads", "--sg"),
    )
    argument_parser.add_argument(
        "--forms", default=",".join([*FORMS][1:]), help="forms (%(default)s)"
    )
    argument_parser.set_defaults(epochs=1, sg=0)
    return argument_parser


def main() -> None:
    """Measure, and write the results after each round."""
    args = parser().parse_args()
    forms = [GENSIM, *args.forms.split(",")]
    document = begin(args.corpus)
    options = {"sg": args.sg, "epochs": args.epochs, "workers": args.threads}
    with tempfile.TemporaryDirectory() as folder:
        files = write_integers(args.corpus, Path(folder))
        document["corpus"]["words"] = int(np.load(files["ranks"], mmap_mode="r").size)
        document |= {"options": options, "runs": {name: [] for name in files}}
        for (name, path), seed in ((item, n) for n in seeds(args) for item in files.items()):
            for form in forms:
                target, kind = FORMS[form]
                seeded = {**options, "seed": seed}
                task = {"target": target, "form": kind, "path": str(path), "options": seeded}
                cores = usable_cores()[: args.threads]
                times, _ = call("benchmarks.integers:measure", task, cores=cores)
                document["runs"][name].append(Run(form, seed, *times))
                print(name, document["runs"][name][-1], flush=True)
            text = markdown(document)
            write(args.out / "integers", document, text)
    print(f"\n{text}")


if __name__ == "__main__":
    main()
