"""Options of commands for random walks on a graph.

They correspond to arguments of `RandomWalks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gensim_tfw2v.cli.common import BadInput, option
from gensim_tfw2v.cli.corpus_argument import STDIN
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim_tfw2v import RandomWalks

_walks = partial(option, rich_help_panel="Walks")

NumWalks = Annotated[int, _walks("Walks from each node, per epoch.", min=1)]
WalkLength = Annotated[int, _walks("Nodes per walk.", min=1)]
P = Annotated[
    float, _walks("node2vec's return parameter: small values keep walks near their start.", min=0)
]
Q = Annotated[
    float,
    _walks("node2vec's in-out parameter: small values lead walks away from their start.", min=0),
]
Weight = Annotated[
    str | None,
    _walks(
        "Column of the weights of edges; by default the column weight, or the third column of a "
        "list without names."
    ),
]
Directed = Annotated[
    bool, _walks("Follow edges only from the first node to the second.", "--directed")
]
Restart = Annotated[
    float, _walks("Probability of a return to the first node, at each step.", min=0, max=1)
]
StartNodes = Annotated[
    Path | None, _walks("File with the nodes at which walks start, one per line; by default all.")
]
Extend = Annotated[
    bool, _walks("Treat light edges like missing ones, as node2vec+ does.", "--extend")
]
Fixed = Annotated[bool, _walks("Use the same walks in all epochs.", "--fixed")]

Relation = Annotated[
    str | None,
    _walks("Column of the relations of edges, which are then words of the walks, as in RDF2Vec."),
]
NodeTypes = Annotated[
    Path | None, _walks("File with the type of each node: a node and its type per line.")
]
Metapath = Annotated[
    str | None,
    _walks(
        "Types of successive nodes, such as author,paper,author, as in metapath2vec; with "
        "--relation, successive relations. It is repeated."
    ),
]

#: Parameters of a command for the options of this module.
WALK_OPTIONS = (
    *("num_walks", "walk_length", "p", "q", "weight", "directed", "restart", "start_nodes"),
    *("extend", "fixed", "node_types", "relation", "metapath"),
)

#: Suffixes of tables that are no tables of edges.
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")

#: Default of ``--min-count`` for walks: a node loses its vector only if no walk visits it.
MIN_VISITS = 1


def read_walks(
    path: Path, options: Mapping[str, Any], seed: int, progress: bool | None = None
) -> RandomWalks:
    """Read a graph, or standard input for ``-``, and return the walks on it.

    `options` contains the values of a command's options; those that are not in `WALK_OPTIONS` are
    ignored.
    """
    arguments = {name: options[name] for name in WALK_OPTIONS if name in options}
    if arguments.get("start_nodes") is not None:
        arguments["start_nodes"] = _read_names(arguments["start_nodes"])
    if arguments.get("metapath") is not None:
        types = arguments["metapath"].split(",")
        arguments["metapath"] = [metapath_type.strip() for metapath_type in types]
    if path.suffix.lower() in JSON_SUFFIXES:
        raise BadInput(f"{path}: edges are not read from JSON; write them as .csv or .parquet")
    with phase("reading the graph", progress):
        from gensim_tfw2v import RandomWalks

        return RandomWalks(STDIN if path == Path("-") else path, **arguments, seed=seed)


def _read_names(path: Path) -> list[str]:
    """Return the names of nodes in a file, which has one per line."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text; write the name of a node per line") from error
    names = [line.removesuffix("\r") for line in lines]
    names = [name for name in names if name]
    if not names:
        raise BadInput(f"{path}: has no names; write the name of a node per line")
    return names
