"""word2vec tools side by side: ``python -m benchmarks.peers CORPUS --out FOLDER``.

Each tool is a command; `peers.toml` says which, and `--peers` adds others. This process imports
none of them: on Linux a child's peak memory starts at its parent's size.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, version
from benchmarks.peers.bench import Bench
from benchmarks.peers.configured import SHIPPED, ConfigurationError, Peer, read
from benchmarks.peers.page import markdown
from benchmarks.peers.records import Job, PeerRun, Settings
from benchmarks.records import REFERENCE
from gensim_tfw2v.processes.machine import usable_cores


def jobs(
    peers: Sequence[str], rounds: int, first_seed: int, epochs: int, fewer_rounds: int
) -> Iterator[Job]:
    """All trainings in their order: in each round another tool is the first.

    Those with fewer epochs come last in a round: what is compared most stands together.
    """
    for number in range(rounds):
        start = number % max(len(peers), 1)
        ordered = [*peers[start:], *peers[:start]]
        least = 1 if number < fewer_rounds else epochs
        for passes in range(epochs, least - 1, -1):
            for peer in ordered:
                yield Job(peer, number, first_seed + number, passes)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    add = made.add_argument
    default = Settings()
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--out", type=Path, required=True, help="folder for NAME.json and NAME.md")
    add("--name", help="name of the results (default: peers- and the corpus file's)")
    add("--peers", type=Path, nargs="+", action="extend", default=[], help="TOML files of tools")
    add("--only", nargs="+", metavar="TOOL", help="only these (all; gensim corpus_file is the "
        "one that others are compared with)")  # fmt: skip
    add("--seeds", type=int, default=3, help="rounds, each with a seed of its own (3)")
    add("--first-seed", type=int, default=1, help="seed of the first round (1)")
    add("--time-to-quality", type=int, nargs="?", const=-1, default=0, metavar="ROUNDS",
        help="with fewer epochs too, in so many rounds (all unless a number is given)")  # fmt: skip
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    add("--limit", type=float, default=120, help="minutes that a training may take (120)")
    add("--pin", action=argparse.BooleanOptionalAction, default=True,
        help="bind each run to as many cores as threads")  # fmt: skip
    add("--sg", type=int, choices=(0, 1), default=1, help="1 skip-gram, 0 CBOW (1)")
    for name in ("vector_size", "window", "negative", "min_count", "epochs", "threads"):
        value = getattr(default, name)
        add(f"--{name.replace('_', '-')}", type=int, default=value, help=f"({value})")
    for name in ("sample", "alpha"):
        value = getattr(default, name)
        add(f"--{name}", type=float, default=value, help=f"({value})")
    return made


def checked(given: argparse.Namespace) -> argparse.Namespace:
    """The arguments, after looking at what would otherwise fail an hour later."""
    for path in [given.corpus, *given.eval, *given.peers]:
        if not path.is_file():
            raise SystemExit(f"no such file: {path}")
    if given.seeds < 1 or given.epochs < 1:
        raise SystemExit("--seeds and --epochs must be at least 1")
    if not 1 <= given.threads <= len(usable_cores()):
        raise SystemExit(f"--threads {given.threads}: this machine has {len(usable_cores())}")
    return given


def chosen(given: argparse.Namespace) -> dict[str, Peer]:
    """The tools by name; a later file's take the place of an earlier's of the same name."""
    try:
        known = {peer.name: peer for path in [SHIPPED, *given.peers] for peer in read(path)}
    except ConfigurationError as error:
        raise SystemExit(str(error)) from error
    if unknown := [name for name in given.only or () if name not in known]:
        raise SystemExit(f"--only {unknown[0]}: no such tool (known: {', '.join(known)})")
    return {name: peer for name, peer in known.items() if not given.only or name in given.only}


def described(peers: Mapping[str, Peer]) -> dict[str, Any]:
    """The machine, with the versions of the tools' packages."""
    machine = describe()
    packages = [package for peer in peers.values() for package in peer.versions]
    machine["versions"] |= {package: version(package) for package in packages}
    return machine


def line(done: PeerRun) -> str:
    """A run in a line."""
    where = f"round {done.round + 1}, {done.epochs} epochs, {done.peer}"
    if done.error is not None:
        return f"{where}: failed"
    return (
        f"{where}: {done.wall_seconds:.1f} s, {done.cpu_seconds:.1f} s of CPU, "
        f"{done.words_per_second / 1e6:.3f} M words/s"
    )


def main(argv: list[str] | None = None) -> None:
    """Measure, and write after each run what there is so far."""
    given = checked(parser().parse_args(argv))
    settings = Settings(**{name: getattr(given, name) for name in asdict(Settings())})
    peers = chosen(given)
    left_out = {name: why for name, peer in peers.items() if (why := peer.missing(settings))}
    for name, why in left_out.items():
        print(f"{name} is left out: {why}", flush=True)
    peers = {name: peer for name, peer in peers.items() if name not in left_out}
    if not peers:
        raise SystemExit("no tool is left to compare")
    if REFERENCE not in peers:
        print(f"without {REFERENCE}, there are no ratios", flush=True)
    fewer = given.seeds if given.time_to_quality < 0 else given.time_to_quality
    document: dict[str, Any] = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "corpus": {"name": given.corpus.name, "bytes": given.corpus.stat().st_size},
        "machine": described(peers),
        "pinned": given.pin,
        "settings": asdict(settings),
        "time_to_quality": fewer,
        "peers": {name: {"command": p.command, "note": p.note} for name, p in peers.items()},
        "left_out": left_out,
    }
    given.out.mkdir(parents=True, exist_ok=True)
    base = given.out / (given.name or f"peers-{given.corpus.stem}")
    runs: list[PeerRun] = []
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        bench = Bench(given, settings, Path(folder))
        document["corpus"]["words"] = bench.raw_words
        for job in jobs(list(peers), given.seeds, given.first_seed, given.epochs, fewer):
            runs.append(bench.carry_out(peers[job.peer], job))
            print(line(runs[-1]), flush=True)
            document["runs"] = [each.to_json() for each in runs]
            Path(f"{base}.json").write_text(json.dumps(document, indent=1) + "\n")
            Path(f"{base}.md").write_text(markdown(document, runs))
    print(f"\n{markdown(document, runs)}\nwritten: {base}.md and {base}.json")


if __name__ == "__main__":
    main()
