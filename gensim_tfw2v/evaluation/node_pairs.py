"""Files about nodes, with a node and a label or the two nodes of an edge per line."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray

from gensim_tfw2v.evaluation.sets import EvaluationFileError, Path, read_lines
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.typed_words import find_key

#: Number of nodes that messages name.
N_EXAMPLES = 3


def read_labels(labels: Path | Iterable[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return pairs of a node and a label from a file, or from an iterable of such pairs.

    Raises
    ------
    EvaluationFileError
        If a line of the file does not contain a node and a label; the message names file and line.
    OSError
        If the file cannot be read.
    """
    if not isinstance(labels, str | os.PathLike):
        return [_first_two(pair, "labels must be pairs of a node and a label") for pair in labels]
    pairs: list[tuple[Any, Any]] = []
    for line_number, fields in _read_fields(labels):
        if len(fields) != 2 or not all(fields):
            raise _field_error(labels, line_number, fields, "a node and a label")
        pairs.append((fields[0], fields[1]))
    return pairs


def read_edges(edges: Path | Iterable[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return the two nodes of each edge in a file, or in an iterable.

    Columns after the second, such as weights, are ignored.

    Raises
    ------
    EvaluationFileError
        If a line of the file does not contain two nodes; the message names file and line.
    OSError
        If the file cannot be read.
    """
    if not isinstance(edges, str | os.PathLike):
        return [_first_two(edge, "edges must be pairs of nodes") for edge in edges]
    pairs = []
    for line_number, fields in _read_fields(edges):
        if len(fields) < 2 or not all(fields[:2]):
            raise _field_error(edges, line_number, fields, "two nodes")
        pairs.append((fields[0], fields[1]))
    return pairs


def find_rows(vectors: KeyedVectors, nodes: Sequence[Any], source: object) -> NDArray[np.int64]:
    """Return the row of each node in the vectors, and -1 for nodes without a vector.

    Nodes are strings, as in files, or keys of the vectors. `source` is the path or the object that
    they come from.

    Raises
    ------
    ValueError
        If no node has a vector.
    """
    keys = [find_key(node, vectors) for node in nodes]
    rows = [-1 if key is None else vectors.get_index(key, -1) for key in keys]
    if max(rows, default=-1) < 0:
        raise ValueError(
            f"{name_source(source)}no node has a vector: the nodes are {_examples(nodes)}, those "
            f"of the model {_examples(vectors.index_to_key)}; give nodes of the model's graph"
        )
    return np.array(rows, dtype=np.int64)


def name_source(source: object) -> str:
    """Return the beginning of a message: a path and a colon, or "" for an object."""
    return f"{os.fspath(source)}: " if isinstance(source, str | os.PathLike) else ""


def _examples(nodes: Sequence[Any]) -> str:
    """Return the first nodes for a message."""
    ellipsis = ", ..." if len(nodes) > N_EXAMPLES else ""
    return (", ".join(map(quoted, nodes[:N_EXAMPLES])) or "none") + ellipsis


def _first_two(items: Any, expected: str) -> tuple[Any, Any]:
    """Return the first two items of a tuple, list or array; raise a ValueError for other values."""
    if not isinstance(items, tuple | list | np.ndarray) or len(items) < 2:
        raise ValueError(f"{expected}, got {quoted(items)}")
    return items[0], items[1]


def _read_fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line that is neither blank nor a comment, with its number.

    Fields are separated by tabs if the first line contains one, by commas or semicolons in CSV
    files, and otherwise by blanks. Comments start with # or %.
    """
    lines = [(line_number, line) for line_number, line in read_lines(path) if line[0] != "%"]
    first_line = lines[0][1] if lines else ""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if "\t" not in first_line and ".csv" in suffixes:
        delimiter = ";" if ";" in first_line and "," not in first_line else ","
        for line_number, line in lines:
            (fields,) = csv.reader([line], delimiter=delimiter)
            yield line_number, [field.strip() for field in fields]
        return
    separator = "\t" if "\t" in first_line else None
    for line_number, line in lines:
        yield line_number, [field.strip() for field in line.split(separator)]


def _field_error(
    path: Path, line_number: int, fields: list[str], expected: str
) -> EvaluationFileError:
    """Return the error for a line with wrong fields."""
    return EvaluationFileError(
        f"{path}, line {line_number}: expected {expected}, got {quoted(fields)}; separate names by "
        "tabs, in all lines"
    )
