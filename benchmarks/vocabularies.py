"""Large vocabularies: ``python -m benchmarks.vocabularies --out FOLDER``.

Two tables. In the first, a vocabulary is built from a text of V distinct words, by gensim and by
TFWord2Vec, with vectors of 4 dimensions. In the second, a local cluster trains V integers, whose
rows only its ps tasks hold, and the memory of each kind of process is sampled. The memory of a
process includes the pages of files that it has mapped; the anonymous part does not.
"""

import argparse
import contextlib
import pkgutil
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from benchmarks.command import shared_parser
from benchmarks.one_run import peak_bytes
from benchmarks.process import CommandError, call
from benchmarks.report import (
    MEGABYTE,
    begin,
    bullet_list,
    facts,
    page,
    section,
    table,
    unique,
    write,
)

#: Classes that build a vocabulary.
CLASSES = {"gensim": "gensim.models:Word2Vec", "TFWord2Vec": "gensim_tfw2v:TFWord2Vec"}

#: Dimensions of vectors while a vocabulary is built: few, so that the words take the memory.
FEW_DIMENSIONS = 4

#: Number of words per sentence.
SENTENCE_WORDS = 50

#: Additional occurrences in a text, as a fraction of the number of distinct words.
REPEATED = 0.2

#: Seconds between two samples of memory.
SAMPLE_SECONDS = 0.05

#: Kinds of processes of a cluster, by the first part of their names.
ROLES = {"tfw2v-ps": "ps", "tfw2v-worker": "worker", "tfw2v-chief": "coordinator"}


class Counting(NamedTuple):
    """Results of building a vocabulary; None if memory was too small."""

    tool: str
    words: int
    seconds: float | None
    peak: int | None
    base: int | None  # peak before the vocabulary was built


class Training(NamedTuple):
    """Results of a training run on a cluster: peaks of memory in bytes by the kind of process."""

    words: int
    size: int
    n_ps: int
    n_workers: int
    build_seconds: float
    start_seconds: float  # from the call of `train` to the first finished work unit
    train_seconds: float
    peaks: dict[str, int]
    anonymous_peaks: dict[str, int]


def numbers_of_words(n_words: int) -> np.ndarray:
    """Return a text as numbers of words: each word once, and some again, in random order."""
    generator = np.random.default_rng(1)
    repeated = (n_words * generator.random(int(REPEATED * n_words)) ** 4).astype(np.int64)
    numbers = np.concatenate([np.arange(n_words), repeated])
    generator.shuffle(numbers)
    return numbers[: len(numbers) // SENTENCE_WORDS * SENTENCE_WORDS]


def write_text(n_words: int, path: Path) -> None:
    """Write a text of distinct words of about ten bytes."""
    numbers = numbers_of_words(n_words).reshape(-1, SENTENCE_WORDS)
    with path.open("w") as file:
        for block in np.array_split(numbers, 1 + len(numbers) // 10_000):
            # multiplied modulo a prime, so that words with similar numbers do not look alike
            names = (block * 2_654_435_761) % 99_999_999_977
            file.writelines(" ".join(map("w{:x}".format, row)) + "\n" for row in names.tolist())


def build(target: str, path: str) -> tuple[float, int, int]:
    """Build a vocabulary; return the seconds, and the peaks of memory at the end and before."""
    model = pkgutil.resolve_name(target)(vector_size=FEW_DIMENSIONS, min_count=1, workers=2)
    base = peak_bytes()
    start = time.perf_counter()
    model.build_vocab(corpus_file=path)
    return time.perf_counter() - start, peak_bytes(), base


def role_of(process: psutil.Process, program: psutil.Process) -> str:
    """Return the kind of a process; raise a KeyError if it is of no kind."""
    if process == program:
        return "program"
    kind = re.match(r"tfw2v-[a-z]+", process.name())
    return ROLES["" if kind is None else kind[0]]


class RolePeaks(threading.Thread):
    """Thread that samples the memory of this process and its descendants, by kind of process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[str, int] = {}
        self.anonymous_peaks: dict[str, int] = {}

    def run(self) -> None:
        """Sample until this process exits."""
        this = psutil.Process()
        while True:
            for process in [this, *this.children(recursive=True)]:
                try:
                    role = role_of(process, this)
                    status = Path(f"/proc/{process.pid}/status").read_text()
                except (psutil.Error, OSError, KeyError):  # it has exited, or is of no kind
                    continue
                for field, peaks in (
                    ("VmHWM", self.peaks),
                    ("RssAnon", self.anonymous_peaks),
                ):
                    if match := re.search(rf"{field}:\s+(\d+) kB", status):
                        peaks[role] = max(peaks.get(role, 0), 1024 * int(match[1]))
            time.sleep(SAMPLE_SECONDS)


def train(n_words: int, size: int, n_ps: int, n_workers: int, folder: str) -> list[Any]:
    """Train integers on a local cluster; return the fields of a `Training`."""
    from gensim_tfw2v import TFWord2Vec
    from gensim_tfw2v.training import session

    corpus = np.load(Path(folder, "numbers.npy"), "r")
    sampler = RolePeaks()
    sampler.start()
    first_unit: list[float] = []
    count = session.Training.count

    def note_time(*arguments: Any) -> None:
        if not first_unit:
            first_unit.append(time.perf_counter())
        count(*arguments)

    session.Training.count = note_time  # type: ignore[assignment,method-assign]
    model = TFWord2Vec(
        vector_size=size,
        min_count=1,
        sg=1,
        window=2,
        workers=1,
        sample=0,
        cluster=f"local:ps={n_ps},worker={n_workers}",
        tables_dir=Path(folder, "tables"),
        encoded_dir=folder,
    )
    start = time.perf_counter()
    model.build_vocab(corpus)
    built = time.perf_counter()
    model.train(corpus, total_examples=model.corpus_count, epochs=1)
    seconds = built - start, first_unit[0] - built, time.perf_counter() - built
    return [n_words, size, n_ps, n_workers, *seconds, sampler.peaks, sampler.anonymous_peaks]


def megabytes(size: float | None) -> str:
    """Format a size in MiB."""
    return "out of memory" if size is None else f"{size / MEGABYTE:,.0f}"


def ratio(value: float | None, reference: float | None, form: str) -> str:
    """Format the ratio of two values."""
    return "–" if value is None or reference is None else f"{value / reference:{form}}"


def pairs_of(runs: Sequence[Counting]) -> list[list[Counting]]:
    """Return the runs of gensim and TFWord2Vec for each number of words."""
    return [[run for run in runs if run.words == n] for n in unique(run.words for run in runs)]


def counting_table(runs: Sequence[Counting]) -> str:
    """Return the table of vocabularies that were built."""
    rows = []
    for gensim, ours in pairs_of(runs):
        row = [f"{ours.words:,}"]
        row += ["–" if run.seconds is None else f"{run.seconds:.1f}" for run in (gensim, ours)]
        row += [ratio(gensim.seconds, ours.seconds, ".2f"), megabytes(gensim.peak)]
        rows.append([*row, megabytes(ours.peak), ratio(ours.peak, gensim.peak, ".0%")])
    head = ["words", "gensim, s", "TFWord2Vec, s", "× gensim, speed", "gensim, MiB"]
    return table([*head, "TFWord2Vec, MiB", "share of gensim's memory"], rows)


def training_table(runs: Sequence[Training]) -> str:
    """Return the table of training runs on clusters."""
    rows = []
    for run in runs:
        shard = 8 * run.words * run.size / run.n_ps
        rows.append(
            [
                f"{run.words:,} × {run.size}",
                f"{run.n_ps}",
                f"{run.n_workers}",
                f"{run.build_seconds:.0f}",
                f"{run.start_seconds:.0f}",
                megabytes(shard),
                *(
                    f"{megabytes(run.peaks[role])} ({megabytes(run.anonymous_peaks[role])})"
                    for role in ("ps", "worker", "coordinator", "program")
                ),
            ]
        )
    head = ["rows", "ps", "workers", "vocabulary, s", "first unit, s", "rows per ps, MiB"]
    head += ["largest ps, MiB", "largest worker, MiB", "coordinator, MiB", "program, MiB"]
    return table(head, rows)


QUESTION = """\
How much time and memory does a large vocabulary take, compared with gensim? And how much memory
does each task of a cluster need if only the ps tasks hold the vectors?"""

METHOD = f"""\
gensim and `TFWord2Vec` each built the vocabulary of a text of distinct words, some repeated, in
which every word was kept, with vectors of {FEW_DIMENSIONS} dimensions, so that the words take the
memory. Then a local cluster trained integers as words, whose vectors only its ps tasks held
(`tables_dir=`), while the memory of each kind of process was sampled."""

BUILT = {
    "× gensim, speed": "gensim's seconds divided by `TFWord2Vec`'s: above 1, it is faster",
    "MiB": "peak memory of the whole process; “out of memory” if the machine's was too small",
}

TRAINED = {
    "rows": "number of words × dimensions. The first row shows what processes need without a model",
    "vocabulary, s": "time to build the vocabulary",
    "first unit, s": "time from the call of `train()` to the first trained work unit",
    "rows per ps, MiB": "memory of the two tables of vectors, divided by the number of ps tasks",
    "MiB": "peaks of the processes and, in parentheses, without the pages of mapped files, which "
    "the system can drop",
}


def answer(countings: Sequence[Counting], trainings: Sequence[Training]) -> list[str]:
    """Return sentences on the largest vocabulary of each kind."""
    sentences = []
    built = [pair for pair in pairs_of(countings) if pair[-1].seconds is not None]
    if built:
        gensim, ours = built[-1]
        text = f"TFWord2Vec built a vocabulary of {ours.words:,} words in {ours.seconds:.1f} s"
        text += f" and {megabytes(ours.peak)} MiB"
        if gensim.seconds is None:
            text += "; gensim ran out of memory or time"
        else:
            text += f"; gensim needed {gensim.seconds:.1f} s and {megabytes(gensim.peak)} MiB"
        sentences.append(f"{text}.")
    if trainings:
        run = max(trainings, key=lambda run: run.words)
        peaks = ", ".join(f"{kind} {megabytes(run.peaks[kind])}" for kind in run.peaks)
        sentences.append(
            f"With {run.words:,} × {run.size} vectors on {run.n_ps} ps tasks, the peaks of memory "
            f"in MiB were: {peaks}."
        )
    return sentences or ["Nothing has been measured yet."]


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    countings = [Counting(*run) for run in document["countings"]]
    trainings = [Training(*run) for run in document["trainings"]]
    return page(
        "Large vocabularies",
        QUESTION,
        METHOD,
        answer(countings, trainings),
        section("Building a vocabulary", counting_table(countings), bullet_list(BUILT)),
        section(
            "Vectors that only the ps tasks hold", training_table(trainings), bullet_list(TRAINED)
        ),
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.vocabularies", __doc__, "--out")
    for option, default in ("--counted", "1,5,10,20"), ("--trained", "0.001,1,10,20"):
        argument_parser.add_argument(
            option, default=default, help="millions of words, separated by commas (%(default)s)"
        )
    argument_parser.add_argument("--folder", help="folder for texts and files of rows")
    argument_parser.add_argument(
        "--limit", type=float, default=1200, help="seconds after which a run ends (%(default)s)"
    )
    return argument_parser


def main() -> None:
    """Measure, and write the results after each run."""
    args = parser().parse_args()
    document = begin(packages=["gensim", "tensorflow", "numpy"])
    document |= {"countings": [], "trainings": []}

    def add(kind: str, *runs: Any) -> None:
        document[kind] += runs
        print(*runs, sep="\n", flush=True)
        write(args.out / "vocabularies", document, markdown(document))

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for n_words in (int(1e6 * float(text)) for text in args.counted.split(",")):
            path = Path(folder, "text.txt")
            write_text(n_words, path)
            runs = {}
            for tool, target in CLASSES.items():
                result: Sequence[Any] = (None, None, None)
                with contextlib.suppress(CommandError):  # such as too little memory
                    arguments = {"target": target, "path": str(path)}
                    result, _ = call("benchmarks.vocabularies:build", arguments, limit=args.limit)
                runs[tool] = Counting(tool, n_words, *result)
            add("countings", *runs.values())
            path.unlink()
        for n_words in (int(1e6 * float(text)) for text in args.trained.split(",")):
            numbers = numbers_of_words(n_words).astype(np.int32)
            np.save(Path(folder, "numbers.npy"), numbers.reshape(-1, SENTENCE_WORDS))
            task = {"n_words": n_words, "size": 32, "n_ps": 4, "n_workers": 2, "folder": folder}
            result, _ = call("benchmarks.vocabularies:train", task, limit=args.limit)
            add("trainings", Training(*result))
    print(f"\n{markdown(document)}")


if __name__ == "__main__":
    main()
