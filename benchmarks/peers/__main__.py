"""Comparison of word2vec tools: ``python -m benchmarks.peers CORPUS --out FOLDER``.

Each tool is a command, defined in `peers.toml`; `--peers` adds further tools. This process imports
none of the tools. On Linux, a child's peak memory starts at its parent's size, so a tool's figure
would include the parent's imports.
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
    """Yield all training runs in order; each round starts with the next tool.

    In a round, runs with fewer epochs follow those with all epochs. So the latter, which most
    tables compare, run directly after each other.
    """
    for round_number in range(rounds):
        start = round_number % max(len(peers), 1)
        ordered_peers = [*peers[start:], *peers[:start]]
        min_epochs = 1 if round_number < fewer_rounds else epochs
        for passes in range(epochs, min_epochs - 1, -1):
            for peer in ordered_peers:
                yield Job(peer, round_number, first_seed + round_number, passes)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = ("corpus", "--out", "--name", "--seeds", "--first-seed", "--epochs", "--threads")
    argument_parser = shared_parser(
        "benchmarks.peers", __doc__, *shared, "--sg", "--vector-size", "--eval", "--pin"
    )
    argument_parser.set_defaults(name="peers")
    add, default = argument_parser.add_argument, Settings()
    add("--peers", type=existing_file, nargs="+", action="extend", default=[],
        help="TOML files with further tools")  # fmt: skip
    add("--only", nargs="+", metavar="TOOL", help="tools to compare (all; gensim corpus_file is "
        "the reference)")  # fmt: skip
    add("--time-to-quality", type=int, nargs="?", const=-1, default=0, metavar="ROUNDS",
        help="also train with fewer epochs, in ROUNDS rounds (by default in all)")  # fmt: skip
    add("--limit", type=float, default=120, help="time limit of a training run, in minutes (120)")
    for name in ("window", "negative", "min_count", "sample", "alpha"):
        value = getattr(default, name)
        add(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"({value})")
    return argument_parser


def choose_peers(args: argparse.Namespace) -> dict[str, Peer]:
    """Return the selected tools by name.

    If several files define tools of the same name, the last file counts.
    """
    try:
        peers = {peer.name: peer for path in [SHIPPED, *args.peers] for peer in read(path)}
    except ConfigurationError as error:
        raise SystemExit(str(error)) from error
    if unknown := [name for name in args.only or () if name not in peers]:
        raise SystemExit(f"--only {unknown[0]}: no such tool (known: {', '.join(peers)})")
    return {name: peer for name, peer in peers.items() if not args.only or name in args.only}


def line(run: PeerRun) -> str:
    """Describe a run on one line."""
    where = f"round {run.round + 1}, {run.epochs} epochs, {run.peer}"
    if run.error is not None:
        return f"{where}: failed"
    return (
        f"{where}: {run.wall_seconds:.1f} s, {run.cpu_seconds:.1f} s of CPU, "
        f"{run.words_per_second / 1e6:.3f} M words/s"
    )


def main(argv: list[str] | None = None) -> None:
    """Make all training runs; after each, write the results so far."""
    args = parser().parse_args(argv)
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    peers = choose_peers(args)
    left_out = {
        name: reason for name, peer in peers.items() if (reason := peer.describe_mismatch(settings))
    }
    for name, reason in left_out.items():
        print(f"{name} is left out: {reason}", flush=True)
    peers = {name: peer for name, peer in peers.items() if name not in left_out}
    if not peers:
        raise SystemExit("no tool is left to compare")
    if REFERENCE not in peers:
        print(f"no ratios are computed without {REFERENCE}", flush=True)
    fewer = args.seeds if args.time_to_quality < 0 else args.time_to_quality
    packages = [package for peer in peers.values() for package in peer.versions]
    document = begin(args.corpus, packages) | {
        "pinned": args.pin,
        "settings": asdict(settings),
        "time_to_quality": fewer,
        "peers": {name: {"command": p.command, "note": p.note} for name, p in peers.items()},
        "left_out": left_out,
    }
    base = args.out / args.name
    runs: list[PeerRun] = []
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        bench = Bench(args, settings, Path(folder))
        document["corpus"]["words"] = bench.raw_words
        for job in jobs(list(peers), args.seeds, args.first_seed, args.epochs, fewer):
            runs.append(bench.carry_out(peers[job.peer], job))
            print(line(runs[-1]), flush=True)
            document["runs"] = [run.to_json() for run in runs]
            write(base, document, markdown(document))
    print(f"\n{markdown(document)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
