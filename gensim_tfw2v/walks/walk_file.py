"""File of a graph and of the options of walks on it, from which compiled code draws the walks.

The file is mapped into memory, so the processes of a machine share it. Its layout is that of
``kernel/native/src/walks/graph.h``: a header, then arrays.
"""

import os
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.corpus.scanner import call
from gensim_tfw2v.corpus.shard_files import write_error
from gensim_tfw2v.walks.csr_graph import CsrGraph

MAGIC = b"T2WALK01"

#: Fields of the header with the types of module `struct`. Each has 8 bytes.
HEADER = {
    "magic": "8s",
    "n_bytes": "q",
    "n_nodes": "q",
    "n_names": "q",
    "n_arcs": "q",
    "n_starts": "q",
    "walk_length": "q",
    "seed": "Q",
    "is_fixed": "q",
    "is_symmetric": "q",
    "p": "d",
    "q": "d",
    "restart": "d",
    "n_types": "q",
    "n_metapath": "q",
    "offsets_at": "q",
    "neighbours_at": "q",
    "alias_at": "q",
    "weights_at": "q",
    "thresholds_at": "q",
    "starts_at": "q",
    "metapath_at": "q",
    "relations_at": "q",
}

#: Alignment in bytes of the arrays: that of a cache line.
ALIGNMENT = 64


@dataclass(frozen=True)
class WalkOptions:
    """Options that determine the walks on a graph; see `RandomWalks`.

    Attributes
    ----------
    starts : ndarray of int32, optional
        Nodes at which walks start; by default all nodes.
    metapath : ndarray of int32, optional
        Types of successive arcs, which are repeated, if the graph is that of a `MetapathGraph`.
    """

    walk_length: int
    p: float = 1.0
    q: float = 1.0
    restart: float = 0.0
    extend: bool = False
    is_fixed: bool = False
    seed: int = 1
    starts: NDArray[np.int32] | None = None
    metapath: NDArray[np.int32] | None = None


def write_walk_file(path: Path, graph: CsrGraph, options: WalkOptions) -> None:
    """Write a graph and the options of its walks to a file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    arrays: dict[str, NDArray[Any]] = {
        "offsets": np.ascontiguousarray(graph.offsets, "<i8"),
        "neighbours": np.ascontiguousarray(graph.neighbours, "<i4"),
    }
    if graph.weights is not None:
        arrays["alias"] = alias_table(graph)
        if options.extend:
            arrays["weights"] = np.ascontiguousarray(graph.weights, "<f4")
            arrays["thresholds"] = _mean_weights(graph)
    if options.starts is not None:
        arrays["starts"] = np.ascontiguousarray(options.starts, "<i4")
    n_names = graph.n_nodes
    n_metapath = 0
    if options.metapath is not None:
        arrays["metapath"] = np.ascontiguousarray(options.metapath, "<i4")
        n_metapath = len(options.metapath)
    if graph.relations is not None:
        arrays["relations"] = (graph.n_nodes + graph.relations.numbers).astype("<i4")
        n_names += len(graph.relations.names)
    fields: dict[str, Any] = {
        "magic": MAGIC,
        "n_nodes": graph.n_nodes,
        "n_names": n_names,
        "n_arcs": graph.n_arcs,
        "n_starts": graph.n_nodes if options.starts is None else len(options.starts),
        "walk_length": options.walk_length,
        "seed": options.seed % 2**64,
        "is_fixed": options.is_fixed,
        "is_symmetric": options.metapath is None and is_symmetric(graph),
        "p": options.p,
        "q": options.q,
        "restart": options.restart,
        "n_types": graph.n_rows // graph.n_nodes,
        "n_metapath": n_metapath,
    }
    n_bytes = _aligned(8 * len(HEADER))
    for name, array in arrays.items():
        fields[f"{name}_at"] = n_bytes
        n_bytes = _aligned(n_bytes + array.nbytes)
    fields["n_bytes"] = n_bytes
    try:
        with path.open("wb") as file:
            file.write(_header(fields))
            for name, array in arrays.items():
                file.seek(fields[f"{name}_at"])
                file.write(array.data)
            file.truncate(n_bytes)
    except OSError as error:
        raise write_error(error.errno, path.parent) from error


def _header(fields: Mapping[str, Any]) -> bytes:
    values = [fields.get(name, 0) for name in HEADER]
    return struct.pack("<" + "".join(HEADER.values()), *values)


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def alias_table(graph: CsrGraph) -> NDArray[np.uint32]:
    """Return the alias tables of the weights of each row's arcs: [arcs]; see ``walks.h``."""
    assert graph.weights is not None
    alias = np.empty(graph.n_arcs, "<u4")
    call(
        compiled_library.load().tfw2v_alias_table,
        graph.offsets.ctypes.data,
        graph.n_rows,
        graph.weights.ctypes.data,
        alias.ctypes.data,
    )
    return alias


def _mean_weights(graph: CsrGraph) -> NDArray[np.float32]:
    """Return the mean weight of each node's arcs: [nodes]; 0 for nodes without arcs."""
    assert graph.weights is not None
    sums = np.append(0.0, np.cumsum(graph.weights, dtype=np.float64))
    n_arcs = np.diff(graph.offsets)
    return (np.diff(sums[graph.offsets]) / np.maximum(1, n_arcs)).astype("<f4")


def is_symmetric(graph: CsrGraph) -> bool:
    """Return whether each arc has one in the opposite direction, and none is parallel to it."""
    from scipy import sparse  # it takes some time to import, and not all commands need it

    neighbours = graph.neighbours
    is_repeated = neighbours[1:] == neighbours[:-1]
    row_starts = graph.offsets[1:-1]
    row_starts = row_starts[(row_starts > 0) & (row_starts < len(neighbours))]
    is_repeated[row_starts - 1] = False  # these two arcs have different sources
    if is_repeated.any():
        return False
    arcs = sparse.csr_array(
        (np.ones(len(neighbours), np.int8), neighbours, graph.offsets),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    reverse = arcs.tocsc()
    return bool(
        np.array_equal(reverse.indptr, graph.offsets)
        and np.array_equal(reverse.indices, neighbours)
    )


def copy_walk_file(path: Path, new_path: Path) -> None:
    """Make a file of walks available under a new path: as a link if possible, or as a copy.

    Raises an OSError if the disk is full.
    """
    try:
        os.link(path, new_path)
    except OSError:  # different file systems, or one without links
        try:
            shutil.copyfile(path, new_path)
        except OSError as error:
            raise write_error(error.errno, new_path.parent) from error
