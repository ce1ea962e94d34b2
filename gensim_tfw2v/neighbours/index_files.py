"""Files of an index of neighbours: USearch's graph, and a description in JSON next to it."""

import errno
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.messages import quoted, strict_json
from gensim_tfw2v.neighbours.neighbour_graph import NeighbourGraph
from gensim_tfw2v.neighbours.vector_checksums import VectorChecksums


def write_index(path: Path, graph: NeighbourGraph, checksums: VectorChecksums) -> None:
    """Write an index to two files: either both are written, or none; see `NeighbourIndex.save`."""
    header: dict[str, Any] = {
        "dtype": graph.dtype,
        "expansion_search": graph.expansion_search,
        "vectors": checksums.total,
        "keys": check_keys(checksums.keys),
    }
    if graph.equal_rows:
        header["equal"] = [[first, *later] for first, later in graph.equal_rows.items()]

    def write(target: Any) -> None:
        if not isinstance(target, str):  # an open file, because the path is a device or a pipe
            raise ValueError(f"{path}: is no file; an index is two files, {path} and .json")
        graph.write(target)
        header["checksum"] = _checksum(np.memmap(target, np.uint8, "r"), header)
        Path(f"{target}.json").write_text(json.dumps(header), "utf-8")

    save_atomically(path, write)


def _find_header(path: Path) -> Path:
    """Return the path of an index's JSON file; raise a FileNotFoundError if it is missing."""
    header_path = Path(f"{path}.json")
    if not header_path.exists():
        message = f"missing, so {path} is no index; build one, with: tfw2v index"
        raise FileNotFoundError(errno.ENOENT, message, str(header_path))
    return header_path


def read_index(path: Path) -> tuple[NeighbourGraph, VectorChecksums]:
    """Read the files of an index, and map the graph into memory; see `NeighbourIndex.load`."""
    try:
        with path.open("rb"):  # if the graph's file is missing, raises an error that names it
            text = _find_header(path).read_bytes()
        data = np.memmap(path, np.uint8, "r")
        header = strict_json(text)
        if header.pop("checksum") != _checksum(data, header):
            raise ValueError("a checksum differs")
        graph = NeighbourGraph.restore(
            data,
            header["dtype"],
            header["expansion_search"],
            {first: later for first, *later in header.get("equal", ())},
            view=True,
        )
        keys = header["keys"]
        if graph.n_rows != len(keys):
            raise ValueError(f"{len(keys):,} keys for {graph.n_rows:,} vectors")
        return graph, VectorChecksums(keys, graph.size, header["vectors"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{path}: is damaged, or not an index with its {path}.json ({error}); build it "
            "again, with: tfw2v index"
        ) from error


def check_keys(keys: list[Any]) -> list[str | int]:
    """Return keys as JSON stores them; raise a TypeError unless all are strings or integers."""
    for key in keys:
        if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
            raise TypeError(
                f"key {quoted(key)} is of type {type(key).__name__}; files of indexes hold only "
                "strings and integers"
            )
    return [str(key) if isinstance(key, str) else int(key) for key in keys]


def _checksum(data: Any, header: dict[str, Any]) -> int:
    """Return the checksum of a graph's file and of the header, which lacks a checksum so far."""
    return zlib.crc32(json.dumps(header, sort_keys=True).encode(), zlib.crc32(data))
