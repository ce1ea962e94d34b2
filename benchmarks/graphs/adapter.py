"""Shared code of the commands that wrap tools: their options, edges, vectors and last line."""

import argparse
import json
from collections.abc import Iterable, Sequence


def parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser for the options with which `tools.py` calls these commands."""
    argument_parser = argparse.ArgumentParser(description=description)
    add = argument_parser.add_argument
    add("edges", help="undirected edges: two nodes per line, and a weight if --weighted, by tabs")
    add("vectors", help="file to write, in word2vec's text format")
    add("--weighted", type=int, choices=(0, 1), required=True, help="1: edges have weights")
    for name in ("num-walks", "walk-length", "vector-size", "window", "epochs", "threads", "seed"):
        add(f"--{name}", type=int, required=True)
    for name in ("p", "q"):
        add(f"--{name}", type=float, required=True)
    return argument_parser


def read_edges(path: str) -> list[list[str]]:
    """Return the columns of each edge: two nodes, and a weight if the file has weights."""
    with open(path, encoding="utf-8") as lines:
        return [line.split() for line in lines]


def write_text(path: str, nodes: Sequence[str], vectors: Sequence[Iterable[float]]) -> None:
    """Write nodes and their vectors in word2vec's text format."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{len(nodes)} {len(list(vectors[0]))}\n")
        for node, vector in zip(nodes, vectors, strict=True):
            file.write(f"{node} {' '.join(f'{value:.7g}' for value in vector)}\n")


def done(walk_seconds: float) -> None:
    """Print the seconds spent walking as the last line of output, which the study reads."""
    print(json.dumps({"walk_seconds": walk_seconds}), flush=True)
