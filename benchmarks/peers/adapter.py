"""Shared code of the commands that wrap tools in Python: their options and their output."""

import argparse
import json
from collections.abc import Iterable, Sequence


def parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser for the options with which `peers.toml` calls these commands."""
    argument_parser = argparse.ArgumentParser(description=description)
    add = argument_parser.add_argument
    add("corpus", help="text, one sentence per line, words separated by spaces")
    add("vectors", help="file to write, in word2vec's text format")
    add("--sg", type=int, choices=(0, 1), required=True, help="1 skip-gram, 0 CBOW")
    for name in ("vector-size", "window", "negative", "min-count", "epochs", "threads", "seed"):
        add(f"--{name}", type=int, required=True)
    for name in ("sample", "alpha"):
        add(f"--{name}", type=float, required=True)
    return argument_parser


def write_text(path: str, size: int, rows: Sequence[tuple[str, Iterable[float]]]) -> None:
    """Write words and their vectors in word2vec's text format."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{len(rows)} {size}\n")
        for word, vector in rows:
            file.write(f"{word} {' '.join(f'{value:.7g}' for value in vector)}\n")


def done(train_seconds: float) -> None:
    """Print the seconds of training as the last line of output, which `benchmarks.peers` reads."""
    print(json.dumps({"train_seconds": train_seconds}), flush=True)
