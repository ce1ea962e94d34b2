"""Comparison of word2vec tools: ``python -m benchmarks.peers CORPUS --out FOLDER``.

Each tool is a command, defined in `peers.toml`; `--peers` adds further ones. This process imports
none of them, because on Linux a child's peak memory starts at its parent's size.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.command import existing_file, shared_parser
from benchmarks.peers.bench import Bench
from benchmarks.peers.configured import SHIPPED, ConfigurationError, Peer, read
from benchmarks.peers.page import markdown
from benchmarks.peers.records import Job, PeerRun, Settings
from benchmarks.records import REFERENCE
from benchmarks.report import begin, write


def jobs(
    peers: Sequence[str], rounds: int, first_seed: int, epochs: int, fewer_rounds: int
) -> Iterator[Job]:
    """Yield all trainings in order; each round starts with the next tool.

    Trainings with fewer epochs come last in a round, so those that are compared most follow each
    other closely.
    """
    for number in range(rounds):
        start = number % max(len(peers), 1)
        ordered = [*peers[start:], *peers[:start]]
        least = 1 if number < fewer_rounds else epochs
        for passes in range(epochs, least - 1, -1):
            for peer in ordered:
                yield Job(peer, number, first_seed + number, passes)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = ("corpus", "--out", "--name", "--seeds", "--first-seed", "--epochs", "--threads")
    made = shared_parser(
        "benchmarks.peers", __doc__, *shared, "--sg", "--vector-size", "--eval", "--pin"
    )
    made.set_defaults(name="peers")
    add, default = made.add_argument, Settings()
    add("--peers", type=existing_file, nargs="+", action="extend", default=[],
        help="TOML files with further tools")  # fmt: skip
    add("--only", nargs="+", metavar="TOOL", help="tools to compare (all; gensim corpus_file is "
        "the reference)")  # fmt: skip
    add("--time-to-quality", type=int, nargs="?", const=-1, default=0, metavar="ROUNDS",
        help="also train with fewer epochs, in ROUNDS rounds (by default in all)")  # fmt: skip
    add("--limit", type=float, default=120, help="time limit of a training, in minutes (120)")
    for name in ("window", "negative", "min_count", "sample", "alpha"):
        value = getattr(default, name)
        add(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"({value})")
    return made


def chosen(given: argparse.Namespace) -> dict[str, Peer]:
    """Return the tools by name; a later file's replace an earlier file's of the same name."""
    try:
        known = {peer.name: peer for path in [SHIPPED, *given.peers] for peer in read(path)}
    except ConfigurationError as error:
        raise SystemExit(str(error)) from error
    if unknown := [name for name in given.only or () if name not in known]:
        raise SystemExit(f"--only {unknown[0]}: no such tool (known: {', '.join(known)})")
    return {name: peer for name, peer in known.items() if not given.only or name in given.only}


def line(done: PeerRun) -> str:
    """Describe a run on one line."""
    where = f"round {done.round + 1}, {done.epochs} epochs, {done.peer}"
    if done.error is not None:
        return f"{where}: failed"
    return (
        f"{where}: {done.wall_seconds:.1f} s, {done.cpu_seconds:.1f} s of CPU, "
        f"{done.words_per_second / 1e6:.3f} M words/s"
    )


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the results so far after each run."""
    given = parser().parse_args(argv)
    settings = Settings(**{name: getattr(given, name) for name in asdict(Settings())})
    peers = chosen(given)
    left_out = {name: why for name, peer in peers.items() if (why := peer.missing(settings))}
    for name, why in left_out.items():
        print(f"{name} is left out: {why}", flush=True)
    peers = {name: peer for name, peer in peers.items() if name not in left_out}
    if not peers:
        raise SystemExit("no tool is left to compare")
    if REFERENCE not in peers:
        print(f"no ratios are computed without {REFERENCE}", flush=True)
    fewer = given.seeds if given.time_to_quality < 0 else given.time_to_quality
    packages = [package for peer in peers.values() for package in peer.versions]
    document = begin(given.corpus, packages) | {
        "pinned": given.pin,
        "settings": asdict(settings),
        "time_to_quality": fewer,
        "peers": {name: {"command": p.command, "note": p.note} for name, p in peers.items()},
        "left_out": left_out,
    }
    base = given.out / given.name
    runs: list[PeerRun] = []
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        bench = Bench(given, settings, Path(folder))
        document["corpus"]["words"] = bench.raw_words
        for job in jobs(list(peers), given.seeds, given.first_seed, given.epochs, fewer):
            runs.append(bench.carry_out(peers[job.peer], job))
            print(line(runs[-1]), flush=True)
            document["runs"] = [each.to_json() for each in runs]
            write(base, document, markdown(document, runs))
    print(f"\n{markdown(document, runs)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
