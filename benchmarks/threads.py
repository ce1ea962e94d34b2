"""Speed by number of threads: ``python -m benchmarks.threads CORPUS --out FOLDER``.

Each setting is trained with 1, 2, 4, ... threads, up to the number of cores, by gensim and by this
package. For more threads than cores, the speed is computed from the measurements, and the page
marks it as computed.
"""

import argparse
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks import compare
from benchmarks.command import at_least, shared_parser
from benchmarks.report import (
    begin,
    facts,
    page,
    ratio_range,
    section,
    setting_names,
    table,
    write,
)
from gensim_tfw2v.planning.workload import Workload, distinct_rows
from gensim_tfw2v.processes.threads import usable_cores

#: Classes to train, by the name in the tables.
ENGINES = {"gensim": "gensim.models:Word2Vec", "TFWord2Vec": "gensim_tfw2v:TFWord2Vec"}

#: Numbers of threads in the tables; those above the number of cores are computed.
THREADS = (1, 2, 4, 8, 16, 32)

#: Sizes of vocabularies for which traffic to memory is computed.
VOCABULARIES = (70_000, 300_000, 1_000_000, 5_000_000)

QUESTION = """\
How does the speed grow with the number of threads, and does memory become the bottleneck? Speeds
with more threads than the machine has cores are computed from the measured ones, to show what to
expect from larger machines."""

METHOD = """\
gensim and `TFWord2Vec` trained alternately for one epoch, with 1, 2, 4, … threads up to the number
of cores, and bound to as many cores as threads. Tables show the raw words of the text per second
in `train()`, medians of the rounds. Speeds in italics are **computed, not measured**."""

COMPUTATION = """\
Computed speeds assume that threads lose time only to shared rows. A thread finds a row in its own
cache if it was the last to change it, and otherwise gets it from another core, which happens with
probability (T - 1) / T. So a word takes a thread the time t + s (T - 1) / T, where t is the time
with one thread, and s follows from the largest number of threads measured. This is optimistic
where cores are far apart, on several sockets or with several last-level caches, and it leaves out
what a single thread does for all, such as counting words."""

MEMORY = """\
Rows of vectors that don't fit into the last-level cache are read from memory and written back. A
cell is the number of bytes per raw word between memory and a cache of {cache:.0f} MB and, in
parentheses, the GB/s at the computed speed of {threads} threads. Compare it with a server's memory
bandwidth, 100 to 600 GB/s. Columns are sizes of the vocabulary. All figures are computed for
Zipf-distributed words: a row misses the cache unless it was used within the most recent tokens
whose distinct rows fill the cache (Denning 1968, "The working set model for program behavior")."""


def computed_speed(speeds: Mapping[int, float], threads: int) -> float:
    """Return the speed of more threads than were measured, in the unit of `speeds`.

    Parameters
    ----------
    speeds : dict of int to float
        Measured speeds by number of threads; 1 and a larger number are among them.
    threads : int
        Number of threads T.
    """
    max_threads = max(speeds)
    seconds_alone = 1 / speeds[1]
    shared_seconds = max(0.0, max_threads / speeds[max_threads] - seconds_alone)
    shared_seconds /= 1 - 1 / max_threads
    return threads / (seconds_alone + shared_seconds * (1 - 1 / threads))


def memory_bytes(work: Workload, cache: float) -> float:
    """Return the bytes per raw word between memory and a cache of `cache` bytes."""
    row = 4 * 16 * -(-work.vector_size // 16)  # bytes of a row, padded to whole cache lines

    def used_bytes(tokens: float) -> float:
        return row * sum(distinct_rows(work, tokens))

    if 2 * row * len(work.frequencies.words) <= cache:
        return 0.0
    low, high = 1.0, 1e12
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if used_bytes(middle) < cache else (low, middle)
    bytes_per_token = (used_bytes(1.01 * low) - used_bytes(low)) / (0.01 * low)
    return 2 * bytes_per_token * work.frequencies.kept


def measure(
    engine: str, setting: str, round_number: int, threads: int, args: argparse.Namespace
) -> dict[str, Any]:
    """Train in a new process with as many cores as threads."""
    training_options = {"workers": threads, "epochs": args.epochs, "seed": round_number + 1}
    task = compare.Task(
        compare.Engine(engine, ENGINES[engine]),
        setting,
        round_number,
        compare.setting_options(setting) | training_options,
    )
    settings_of_run = {
        "corpus": args.corpus,
        "eval": [],
        "quality": False,
        "pin": True,
        "threads": threads,
    }
    run = compare.measure(task, argparse.Namespace(**settings_of_run))
    speed = run.words_per_second
    return {"engine": engine, "threads": threads, "speed": speed, "words": run.raw_words}


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, float]]:
    """Return the median speed by engine and number of threads."""
    speeds: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        speeds.setdefault(run["engine"], {}).setdefault(run["threads"], []).append(run["speed"])
    return {
        engine: {threads: median(values) for threads, values in by_threads.items()}
        for engine, by_threads in speeds.items()
    }


def speed_table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of speeds by number of threads.

    For this package, speeds of more threads than were measured are computed.
    """
    rows = []
    for engine, speeds in medians(runs).items():
        cells = []
        for threads in THREADS:
            if threads in speeds:
                cells.append(f"{speeds[threads] / 1e6:.2f} M")
            elif engine == "gensim" or len(speeds) < 2:
                cells.append("–")
            else:
                cells.append(f"*{computed_speed(speeds, threads) / 1e6:.1f} M*")
        rows.append([engine, *cells])
    return table(["threads", *map(str, THREADS)], rows)


def memory_traffic(
    document: Mapping[str, Any], threads: int
) -> dict[str, list[tuple[float, float]]]:
    """Return bytes per raw word and bytes/s for each of `VOCABULARIES`, by name of the setting."""
    traffic = {}
    for setting, name in setting_names(document["settings"]).items():
        options = document["settings"][setting]
        speeds = medians(document["runs"][setting])["TFWord2Vec"]
        speed = computed_speed(speeds, threads) if len(speeds) > 1 else threads * speeds[1]
        size, skipgram = options["vector_size"], bool(options["sg"])
        works = (Workload.for_text(n, 1e9, size, skipgram=skipgram) for n in VOCABULARIES)
        word_bytes = [memory_bytes(work, document["cache"]) for work in works]
        traffic[name] = [(n_bytes, n_bytes * speed) for n_bytes in word_bytes]
    return traffic


def memory_table(traffic: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a table of the traffic to memory, by setting and size of the vocabulary."""
    rows = [
        [name, *(f"{n_bytes:.0f} ({rate / 1e9:.1f})" for n_bytes, rate in cells)]
        for name, cells in traffic.items()
    ]
    return table(["words in the vocabulary", *(f"{n_words:,}" for n_words in VOCABULARIES)], rows)


def answer(document: Mapping[str, Any], max_rate: float) -> list[str]:
    """Return sentences on the largest measured and computed numbers of threads."""
    names = setting_names(document["settings"])
    speeds = {names[setting]: medians(runs) for setting, runs in document["runs"].items()}
    max_threads = max(next(iter(speeds.values()))["TFWord2Vec"])
    if max_threads == 1:
        return ["Only one thread was measured."]
    ours, gensim = (
        {name: each[engine][max_threads] / each[engine][1] for name, each in speeds.items()}
        for engine in ("TFWord2Vec", "gensim")
    )
    computed = {
        name: computed_speed(each["TFWord2Vec"], max(THREADS)) / each["TFWord2Vec"][1]
        for name, each in speeds.items()
    }
    return [
        f"With {max_threads} threads, TFWord2Vec was {ratio_range(ours)} times as fast as with "
        f"one, and gensim {ratio_range(gensim)} times.",
        f"With {max(THREADS)} threads on as many cores, TFWord2Vec is computed to be "
        f"{ratio_range(computed)} times as fast as with one, if the memory transfers up to "
        f"{max_rate / 1e9:.0f} GB/s (with {max(VOCABULARIES):,} words).",
    ]


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    names = setting_names(document["settings"])
    traffic = memory_traffic(document, max(THREADS))
    max_rate = max(rate for cells in traffic.values() for _, rate in cells)
    memory = MEMORY.format(cache=document["cache"] / 1e6, threads=max(THREADS))
    return page(
        "Speed by number of threads",
        QUESTION,
        METHOD,
        answer(document, max_rate),
        *(section(names[setting], speed_table(runs)) for setting, runs in document["runs"].items()),
        section("How speeds are computed", COMPUTATION),
        section("Traffic to memory", memory, memory_table(traffic)),
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.threads", __doc__, "corpus", "--out", "--epochs")
    add = argument_parser.add_argument
    add("--settings", default="sg100,sg300,cbow100,cbow300", help="as of benchmarks.compare")
    add("--rounds", type=at_least(1), default=3, help="number of rounds (3)")
    add("--cache", type=float, default=32, help="last-level cache in MB (32)")
    argument_parser.set_defaults(epochs=1)
    return argument_parser


def main() -> None:
    """Measure, and write the results after each round."""
    args = parser().parse_args()
    settings = {name: compare.setting_options(name) for name in args.settings.split(",")}
    document = begin(args.corpus) | {
        "settings": settings,
        "cache": args.cache * 1e6,
        "runs": {name: [] for name in settings},
    }
    for round_number in range(args.rounds):
        for name in settings:
            for threads in (n for n in THREADS if n <= len(usable_cores())):
                for engine in ENGINES:
                    run = measure(engine, name, round_number, threads, args)
                    document["corpus"]["words"] = run.pop("words")
                    document["runs"][name].append(run)
                    print(name, run, flush=True)
        text = markdown(document)
        write(args.out / "threads", document, text)
    print(f"\n{text}")


if __name__ == "__main__":
    main()
