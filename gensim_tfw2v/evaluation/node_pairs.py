"""Files about nodes, with a node and a label or the two nodes of an edge per line."""

import contextlib
import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray

from gensim_tfw2v.edge_columns import (
    SAMPLE_ROWS,
    EdgeColumns,
    find_columns,
    find_unnamed_columns,
    is_header,
)
from gensim_tfw2v.evaluation.sets import EvaluationFileError, Path, read_text
from gensim_tfw2v.line_fields import has_tabs, join_fields, split_lines
from gensim_tfw2v.messages import COMPRESSED, quoted
from gensim_tfw2v.typed_words import find_key

#: Usual separators of cells in CSV files, from the most to the least likely.
SEPARATORS = (",", "\t", ";", "|")

_COMMENT = re.compile("^[#%].*", re.MULTILINE)

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
    for line_number, row in _read_rows(labels, csv_has_comments=True):
        label = row[-1].strip()
        if len(row) != 2 or not (row[0] and label):
            raise _row_error(labels, line_number, row, "a node and a label")
        pairs.append((row[0], label))
    return pairs


def read_edges(edges: Path | Iterable[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return the two nodes of each edge in a file, or in an iterable.

    The columns of a file are found as `RandomWalks` finds them. Weights are ignored.

    Raises
    ------
    EvaluationFileError
        If a line of the file lacks a node or has other columns than the first; the message names
        file and line.
    OSError
        If the file cannot be read.
    """
    if not isinstance(edges, str | os.PathLike):
        return [_first_two(edge, "edges must be pairs of nodes") for edge in edges]
    rows = _read_rows(edges)
    n_columns = len(rows[0][1])
    columns, n_names = _find_columns(edges, [row for _, row in rows[:SAMPLE_ROWS]])
    pairs: list[tuple[Any, Any]] = []
    for line_number, row in rows[n_names:]:
        if len(row) != n_columns or not (row[columns.source] and row[columns.target]):
            others = f" in {n_columns} columns, as in the first line" if n_columns > 2 else ""
            raise _row_error(edges, line_number, row, f"two nodes{others}")
        pairs.append((row[columns.source], row[columns.target]))
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


def _read_rows(path: Path, csv_has_comments: bool = False) -> list[tuple[int, list[str]]]:
    """Return the fields of each row with the number of its line; blank lines are left out.

    Rows are those that `RandomWalks` reads from the same file. In CSV files, fields are separated
    by commas, or by another usual separator if the first row has no comma. In other files, they are
    separated by tabs if the first line contains one, and otherwise by ASCII's white space. There,
    lines that start with # or % are comments. In CSV files, they are rows to `RandomWalks`, but
    comments with `csv_has_comments`.
    """
    text = read_text(path)
    if csv_has_comments:
        text = _COMMENT.sub("", text)
    rows = _split_csv(path, text) if _is_csv(path) else _split_list(text)
    if not rows:
        raise EvaluationFileError(f"{path}: contains no line to evaluate")
    return rows


def _is_csv(path: Path) -> bool:
    """Return whether a file is a table with commas, by its suffix before that of a compression."""
    name = PurePath(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower() == ".csv"


def _split_csv(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=_find_separator(text), strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise EvaluationFileError(
            f"{path}, line {reader.line_num}: {error}; put quotes around whole cells only"
        ) from error


def _find_separator(text: str) -> str:
    """Return the first of the usual separators that splits the first row of a CSV file."""
    first_line = next((line for line in io.StringIO(text, newline="") if line.strip("\r\n")), "")
    for separator in SEPARATORS:
        with contextlib.suppress(csv.Error):
            if len(next(csv.reader([first_line], delimiter=separator))) > 1:
                return separator
    return SEPARATORS[0]


def _split_list(text: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a text with a row per line."""
    block = f"{text}\n".encode()
    fields = split_lines(block, has_tabs(block))
    joined_fields = join_fields(fields.data, fields.starts, fields.stops, b"\n").decode()
    cells = iter(joined_fields.split("\n"))
    return [
        (line + 1, list(islice(cells, n_fields)))
        for line, n_fields in zip(fields.lines.tolist(), fields.n_fields.tolist(), strict=True)
    ]


def _find_columns(path: Path, rows: Sequence[Sequence[str]]) -> tuple[EdgeColumns, int]:
    """Return the columns of both ends of edges, and the number of first rows that name columns."""
    try:
        if is_header(rows, weight=None, relation=None):
            return find_columns(rows[0], weight=None, relation=None), 1
        return find_unnamed_columns(rows[0]), 0
    except ValueError as error:
        raise EvaluationFileError(f"{path} {error}") from None


def _row_error(path: Path, line_number: int, row: list[str], expected: str) -> EvaluationFileError:
    """Return the error for a row with wrong fields."""
    return EvaluationFileError(
        f"{path}, line {line_number}: expected {expected}, got {quoted(row)}; separate names by "
        "tabs, in all lines"
    )
