"""Third-party programs with both classes: ``python -m benchmarks.clients [NAME ...]``.

Each program is run unchanged with gensim's Word2Vec and with TFWord2Vec, with several seeds. The
programs pin older versions than they need, so install them into a separate environment (see the
target ``results`` of the Makefile).

A program that is not installed is skipped. With --out, clients.json and clients.md are written.
Earlier results of programs that are not run now are kept if their seeds are the same.
"""

import argparse
import json
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.clients import nodes, with_scattertext, with_wefe
from benchmarks.clients.client import Client, Measured, with_agreement
from benchmarks.clients.page import OURS, REFERENCE, markdown
from benchmarks.command import seeds, shared_parser
from benchmarks.machine import version
from benchmarks.report import begin, write

CLIENTS = (*nodes.CLIENTS, *with_scattertext.CLIENTS, *with_wefe.CLIENTS)

#: Name of the score for programs whose vectors have no score of their own.
AGREEMENT = "neighbours shared with gensim's other seeds"


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.clients", __doc__, "--seeds", "--first-seed")
    argument_parser.set_defaults(seeds=5)
    names = ", ".join(client.name for client in CLIENTS)
    argument_parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"programs to run (all: {names})"
    )
    argument_parser.add_argument("--out", type=Path, help="folder for clients.json and clients.md")
    return argument_parser


def choose_clients(names: Sequence[str]) -> list[Client]:
    """Return the clients with these names, or all."""
    known_names = [client.name for client in CLIENTS]
    if unknown := [name for name in names if name not in known_names]:
        raise SystemExit(f"no such client: {unknown[0]} (known: {', '.join(known_names)})")
    return [client for client in CLIENTS if not names or client.name in names]


def measure(
    client: Client, engines: dict[str, type], seed_range: Iterable[int]
) -> dict[str, dict[int, dict[str, float]]]:
    """Return the scores by class and seed. The classes are trained alternately."""
    runs: dict[str, dict[int, Measured]] = {name: {} for name in engines}
    for seed in seed_range:
        for name, engine in engines.items():
            runs[name][seed] = client.measure(engine, seed)
            print(f"{client.name}, {name}, seed {seed}: {runs[name][seed].scores}", flush=True)
    return {
        name: with_agreement(AGREEMENT, engine_runs, runs[REFERENCE])
        for name, engine_runs in runs.items()
    }


def keep(document: dict[str, Any], path: Path) -> None:
    """Copy the clients' results from an earlier document at `path` if its seeds are the same."""
    if not path.is_file():
        return
    earlier = json.loads(path.read_text())
    if earlier["seeds"] == document["seeds"]:
        document["clients"] = earlier["clients"]
        versions = document["machine"]["versions"]
        document["machine"]["versions"] = earlier["machine"]["versions"] | versions


def main(argv: list[str] | None = None) -> None:
    """Run the clients one by one; after each, write the results so far."""
    args = parser().parse_args(argv)
    clients = choose_clients(args.names)
    from gensim.models import Word2Vec

    from gensim_tfw2v import TFWord2Vec

    warnings.simplefilter("ignore")  # third-party programs emit many warnings
    packages = [package for client in clients for package in client.packages]
    document = begin(packages=packages) | {"seeds": [*seeds(args)], "clients": {}}
    document |= {"skipped": {}, "failed": {}}
    if args.out is not None:
        keep(document, args.out / "clients.json")
    for client in clients:
        if absent := [package for package in client.packages if version(package) is None]:
            document["skipped"][client.name] = f"not installed: {', '.join(absent)}; see --help"
            print(f"{client.name} is skipped: not installed: {', '.join(absent)}", flush=True)
        else:
            try:
                scores = measure(client, {REFERENCE: Word2Vec, OURS: TFWord2Vec}, seeds(args))
                document["clients"][client.name] = {"about": client.about, "scores": scores}
            except Exception as error:  # third-party programs may raise anything
                traceback.print_exc()
                document["failed"][client.name] = f"{type(error).__name__}: {error}"
        if args.out is not None:
            write(args.out / "clients", document, markdown(document))
    print(f"\n{markdown(document)}")
    if document["failed"]:
        raise SystemExit(f"failed: {', '.join(document['failed'])}")


if __name__ == "__main__":
    main()
