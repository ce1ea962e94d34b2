"""Forms of the corpus and options, by time: ``python -m benchmarks.slowdowns CORPUS --out FOLDER``.

Trains skip-gram and CBOW from a text file with gensim's defaults, and then with one thing changed:
the form of the corpus, its size, or options. The measured time is that of the constructor, which
counts words and trains. Lists and arrays are made before that. Each round trains every variant
once, and ratios are to the reference's time per word in the same round.
"""

import argparse
import gzip
import itertools
import math
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.command import seeds, shared_parser
from benchmarks.one_run import cpu_seconds
from benchmarks.process import call
from benchmarks.report import (
    begin,
    facts,
    page,
    paired_ratios,
    ratio_text,
    section,
    spread,
    table,
    unique,
    write,
)
from gensim_tfw2v.processes.threads import usable_cores


class Variant(NamedTuple):
    """Training in which one thing differs from the reference."""

    form: str = "text"  # form of the corpus: a name in `FORMS`
    share: float = 1.0  # fraction of the corpus's lines
    options: dict[str, Any] = {}
    needs_folder: str = ""  # option that gets an empty folder


REFERENCE = "text file"

#: Rows of the tables.
VARIANTS = {
    REFERENCE: Variant(),
    "text.gz": Variant("text.gz"),
    "Parquet, column of texts": Variant("texts in Parquet"),
    "Parquet, column of lists of words": Variant("lists in Parquet"),
    "array of integers": Variant("array"),
    "lists of integers": Variant("integers"),
    "lists of words": Variant("words"),
    "LineSentence": Variant("LineSentence"),
    "an eighth of the text": Variant(share=1 / 8),
    "log_dir": Variant(needs_folder="log_dir"),
    "compute_loss=True": Variant(options={"compute_loss": True}),
    "max_vocab_size=10**6": Variant(options={"max_vocab_size": 10**6}),
    "hs=1, negative=0": Variant(options={"hs": 1, "negative": 0}),
    "negative=10": Variant(options={"negative": 10}),
    "window=10": Variant(options={"window": 10}),
    "alpha=0.05": Variant(options={"alpha": 0.05}),
    "sample=0": Variant(options={"sample": 0}),
    "vector_size=96": Variant(options={"vector_size": 96}),
    "vector_size=112": Variant(options={"vector_size": 112}),
    "vector_size=300": Variant(options={"vector_size": 300}),
}

#: Words per sentence of the array of integers.
LENGTH = 40


class Run(NamedTuple):
    """Results of a training run of one variant; times in seconds per word."""

    variant: str
    sg: int
    round: int
    seconds: float
    cpu_seconds: float


def corpus_of(path: Path, form: str, folder: Path) -> dict[str, Any]:
    """Return the argument of the constructor: the text in this form."""
    if form == "text":
        return {"corpus_file": str(path)}
    if form == "text.gz":
        with gzip.open(folder / "text.gz", "wb", compresslevel=6) as file:
            file.write(path.read_bytes())
        return {"corpus_file": str(folder / "text.gz")}
    if form == "LineSentence":
        from gensim.models.word2vec import LineSentence

        return {"sentences": LineSentence(str(path))}
    lines = path.read_text(encoding="utf-8").splitlines()
    if "Parquet" in form:
        import pyarrow as pa
        from pyarrow import parquet

        from gensim_tfw2v import TableSentences

        column = [line.split() for line in lines] if form == "lists in Parquet" else lines
        parquet.write_table(pa.table({"words": column}), folder / "text.parquet")
        return {"sentences": TableSentences(folder / "text.parquet", "words")}
    sentences = [line.split() for line in lines]
    if form == "words":
        return {"sentences": sentences}
    words = list(itertools.chain.from_iterable(sentences))
    ranks = {word: rank for rank, (word, _) in enumerate(Counter(words).most_common())}
    numbers = np.fromiter(map(ranks.__getitem__, words), np.int32, len(words))
    array = numbers[: len(numbers) // LENGTH * LENGTH].reshape(-1, LENGTH)
    return {"sentences": array if form == "array" else array.tolist()}


def measure(
    path: str, form: str, share: float, options: dict[str, Any], needs_folder: str
) -> dict[str, float]:
    """Train in this process; return the words of the corpus and the seconds."""
    from gensim_tfw2v import TFWord2Vec

    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), Path(path)
        if share != 1:
            lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
            text = folder / "part.txt"
            text.write_text("".join(lines[: math.ceil(share * len(lines))]), encoding="utf-8")
        corpus = corpus_of(text, form, folder)
        if needs_folder:
            options = options | {needs_folder: str(folder / needs_folder)}
        start, cpu_start = time.perf_counter(), cpu_seconds()
        model = TFWord2Vec(**corpus, **options)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
        return {"words": model.corpus_total_words, "seconds": seconds, "cpu_seconds": cpu}


def ratios_of(runs: Sequence[Run], variant: str, sg: int) -> list[float]:
    """Return a variant's CPU times per word as ratios to the reference's."""
    reference = [run for run in runs if (run.variant, run.sg) == (REFERENCE, sg)]
    own = [run for run in runs if (run.variant, run.sg) == (variant, sg)]
    return paired_ratios(own, reference, attrgetter("cpu_seconds"))


def answer(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each model with its slowest variant."""
    sentences = []
    for sg, model in ((1, "Skip-gram"), (0, "CBOW")):
        medians = {
            variant: median(ratios_of(runs, variant, sg))
            for variant in unique(run.variant for run in runs)
        }
        slowest = max(medians, key=medians.__getitem__)
        n_slow = sum(ratio > 1.5 for ratio in medians.values())
        sentences.append(
            f"{model} needs at most {ratio_text(medians[slowest])} times the CPU time ({slowest}), "
            f"and more than 1.5 times in {n_slow} of {len(medians) - 1} variants."
        )
    return sentences


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    runs = [Run(*run) for run in document["runs"]]
    rows = [
        [variant, *(spread(ratios_of(runs, variant, sg)) for sg in (1, 0))]
        for variant in unique(run.variant for run in runs)
    ]
    return page(
        "Forms of the corpus and options",
        "How much longer does training take if the corpus is not a text file, or if an option is "
        "not gensim's default?",
        f"Skip-gram and CBOW were trained for one epoch with gensim's defaults and "
        f"{document['threads']} threads, and then with one thing changed. The time is that of the "
        "constructor, which counts words and trains. CPU time was compared, because other "
        "programs on the machine change it less than time.",
        answer(runs),
        section(
            "Ratios of CPU time",
            f"CPU time per word, divided by that of the row {REFERENCE!r} in the same round: "
            "median and, in parentheses, range of the rounds. Above 1, a variant is slower.",
            table(["variant", "skip-gram", "CBOW"], rows),
        ),
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser(
        "benchmarks.slowdowns",
        __doc__,
        *("corpus", "--out", "--seeds", "--first-seed", "--threads"),
    )
    argument_parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, metavar="NAME", help="rows to measure (all)"
    )
    return argument_parser


def main() -> None:
    """Measure, and write the results after each round."""
    args = parser().parse_args()
    names = dict.fromkeys([REFERENCE, *(args.variants or VARIANTS)])
    document = begin(args.corpus) | {"threads": args.threads, "runs": []}
    cores = usable_cores()[: args.threads]
    for seed in seeds(args):
        for name, sg in itertools.product(names, (1, 0)):
            variant = VARIANTS[name]
            options = {"sg": sg, "epochs": 1, "workers": args.threads, "seed": seed}
            task: dict[str, Any] = {
                "path": str(args.corpus.resolve()),
                "form": variant.form,
                "share": variant.share,
                "options": options | variant.options,
                "needs_folder": variant.needs_folder,
            }
            found, _ = call("benchmarks.slowdowns:measure", task, cores=cores)
            if name == REFERENCE:
                document["corpus"]["words"] = found["words"]
            times = (found[key] / found["words"] for key in ("seconds", "cpu_seconds"))
            document["runs"].append(Run(name, sg, seed, *times))
            print(document["runs"][-1], flush=True)
        write(args.out / "slowdowns", document, markdown(document))
    print(f"\n{markdown(document)}")


if __name__ == "__main__":
    main()
