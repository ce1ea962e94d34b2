"""Command ``tfw2v walks``, which writes random walks on a graph to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO, Annotated

import typer

from gensim_tfw2v.cli import common, model_files, walk_options, walk_writers
from gensim_tfw2v.cli.common import Verbose, option
from gensim_tfw2v.files import atomic
from gensim_tfw2v.monitor.progress import progress_bar

STDOUT = Path("/dev/stdout")


# The defaults below are those of `RandomWalks`; a test compares them.
def walks(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="List of edges, two names per line, plain or compressed, or table of edges "
            "(Parquet, Arrow, ORC, CSV); - reads a list from standard input.",
            allow_dash=True,
        ),
    ],
    output: Annotated[
        Path,
        option(
            "File to write: .parquet, .arrow or .feather with a column `walk` of lists, or .txt or "
            ".txt.gz with a walk per line; - writes text to standard output.",
            "--output",
            "-o",
            allow_dash=True,
        ),
    ],
    num_walks: walk_options.NumWalks = 10,
    walk_length: walk_options.WalkLength = 80,
    p: walk_options.P = 1,
    q: walk_options.Q = 1,
    weight: walk_options.Weight = None,
    directed: walk_options.Directed = False,
    restart: walk_options.Restart = 0,
    start_nodes: walk_options.StartNodes = None,
    extend: walk_options.Extend = False,
    node_types: walk_options.NodeTypes = None,
    relation: walk_options.Relation = None,
    metapath: walk_options.Metapath = None,
    seed: Annotated[int, option("Seed of the walks.", min=0, max=2**32 - 1)] = 1,
    verbose: Verbose = False,
) -> None:
    """Write random walks on GRAPH to a file, as other programs need them.

    They are the walks on which `tfw2v train --walks` trains in its first epoch. It draws them
    itself and needs no file.
    """
    is_stdout = output == Path("-")
    path = STDOUT if is_stdout else output
    inputs = {graph: "is the graph"}
    if start_nodes is not None:
        inputs[start_nodes] = "has the names of --start-nodes"
    if node_types is not None:
        inputs[node_types] = "has the types of --node-types"
    model_files.check_outputs(path, None, False, inputs)
    write = walk_writers.write_text if is_stdout else walk_writers.find_writer(path)
    start = time.perf_counter()
    options = {
        "num_walks": num_walks,
        "walk_length": walk_length,
        "p": p,
        "q": q,
        "weight": weight,
        "directed": directed,
        "restart": restart,
        "start_nodes": start_nodes,
        "extend": extend,
        "node_types": node_types,
        "relation": relation,
        "metapath": metapath,
    }
    random_walks = walk_options.read_walks(graph, options, seed)
    if write in (walk_writers.write_text, walk_writers.write_gzip):
        walk_writers.check_names(random_walks.names, graph)
    with progress_bar("drawing walks", None, unit="walks", total=len(random_walks)) as bar:

        def write_walks(target: str | IO[bytes]) -> None:
            write(random_walks, target, bar.update)

        saved = atomic.save_atomically(path, write_walks)
    if is_stdout:
        return
    rows = [
        ("graph", f"{random_walks.n_nodes:,} nodes"),
        ("walks", f"{len(random_walks):,} of up to {walk_length:,} nodes"),
        ("time", f"{time.perf_counter() - start:.1f} s"),
    ]
    common.print_rows(rows, saved)
