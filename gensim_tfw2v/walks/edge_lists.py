"""Reader of lists of edges as text: an edge per line, two names and perhaps a weight."""

import contextlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.edge_columns import (
    SAMPLE_ROWS,
    EdgeColumns,
    find_columns,
    find_unnamed_columns,
    is_header,
)
from gensim_tfw2v.line_fields import LineFields, has_tabs, join_fields, split_lines
from gensim_tfw2v.messages import number, quoted
from gensim_tfw2v.walks.csr_graph import (
    CsrGraph,
    Nodes,
    Relations,
    find_invalid_weight,
    weight_message,
)
from gensim_tfw2v.walks.node_names import TextNames
from gensim_tfw2v.walks.text_blocks import read_blocks


def read_edge_list(path: str, weight: str | None, relation: str | None, directed: bool) -> CsrGraph:
    """Read a list of edges as text; see `graph_readers.read_graph`.

    Raises
    ------
    ValueError
        If the file is not a list of edges.
    """
    reader = _EdgeListReader(path, weight, relation)
    for block in read_blocks(path):
        reader.read_block(block)
    return reader.graph(directed)


class _EdgeListReader:
    """Reader of a list of edges, block by block."""

    def __init__(self, path: str, weight: str | None, relation: str | None) -> None:
        self._path = path
        self._weight = weight
        self._relation = relation
        self._names = TextNames()
        self._relation_names = TextNames()
        self._by_tabs = False
        self._columns: EdgeColumns | None = None  # not known before the first edge
        self._n_columns = 0
        self._n_lines = 0  # number of the lines in the blocks so far
        self._sources: list[Nodes] = []
        self._targets: list[Nodes] = []
        self._weights: list[NDArray[np.float32]] = []
        self._relations: list[NDArray[np.int32]] = []

    def read_block(self, block: bytes) -> None:
        """Read the edges of a block of lines, which ends with a newline."""
        if self._columns is None:
            self._by_tabs = has_tabs(block)
        fields = split_lines(block, self._by_tabs)
        n_names = 0
        if self._columns is None and len(fields.lines):
            n_names = self._find_columns(fields)
        if self._columns is not None:
            self._read_edges(fields, n_names, self._columns)
        self._n_lines += block.count(b"\n")

    def graph(self, directed: bool) -> CsrGraph:
        """Return the graph of all edges."""
        if not self._sources:
            raise ValueError(f"{self._path} has no edges: each line must have two names")
        sources = np.concatenate(self._sources)
        targets = np.concatenate(self._targets)
        weights = np.concatenate(self._weights) if self._weights else None
        relations = None
        if self._relations:
            numbers = np.concatenate(self._relations)
            relations = Relations(numbers, self._relation_names.all_names())
        self._sources = []
        self._targets = []
        self._weights = []
        self._relations = []
        names = self._names.all_names()
        self._names = TextNames()
        return CsrGraph.from_edges(names, sources, targets, weights, relations, directed=directed)

    def _find_columns(self, fields: LineFields) -> int:
        """Find the columns from the first lines; return the number of lines that are no edges."""
        n_rows = min(SAMPLE_ROWS, len(fields.lines))
        rows = [[field.decode() for field in fields.line(index)] for index in range(n_rows)]
        first_row = rows[0]
        has_names = is_header(rows, self._weight, self._relation)
        try:
            if has_names:
                self._columns = find_columns(first_row, self._weight, self._relation)
            else:
                self._columns = find_unnamed_columns(first_row)
        except ValueError as error:
            raise ValueError(f"{self._path} {error}{self._column_hint()}") from None
        self._n_columns = len(first_row)
        return int(has_names)

    def _column_hint(self) -> str:
        if self._relation is not None:
            return (
                ". The first line must name the columns, as in: source, relation, target. Without "
                f"this line, pass pandas.read_csv({self._path!r}, sep=..., names=[...])"
            )
        if self._weight is None:
            return ""
        return ". Without a header, the third column is the weight, and needs no name"

    def _read_edges(self, fields: LineFields, n_names: int, columns: EdgeColumns) -> None:
        """Read the edges of a block whose first `n_names` lines are names of columns."""
        self._check_lengths(fields)
        shape = (len(fields.lines), self._n_columns)
        starts = fields.starts.reshape(shape)[n_names:]
        stops = fields.stops.reshape(shape)[n_names:]
        lines = fields.lines[n_names:]
        if not len(lines):
            return
        ends = sorted([columns.source, columns.target])
        self._check_names((starts[:, ends] == stops[:, ends]).any(1), lines, "node")
        text = join_fields(fields.data, starts[:, ends].ravel(), stops[:, ends].ravel(), b"\0")
        nodes = self._names.encode(text, 2 * len(lines)).reshape(-1, 2)
        # the names were encoded in the order in which they are in a line
        is_swapped = columns.source > columns.target
        self._sources.append(nodes[:, int(is_swapped)])
        self._targets.append(nodes[:, int(not is_swapped)])
        if (column := columns.weight) is not None:
            weights = self._read_weights(fields.data, starts[:, column], stops[:, column], lines)
            self._weights.append(weights)
        if (column := columns.relation) is not None:
            self._check_names(starts[:, column] == stops[:, column], lines, "relation")
            text = join_fields(fields.data, starts[:, column], stops[:, column], b"\0")
            self._relations.append(self._relation_names.encode(text, len(lines)))

    def _check_names(self, is_empty: NDArray[np.bool_], lines: Any, kind: str) -> None:
        """Raise a ValueError for the first line in which the name of a node or relation is empty.

        `kind` is "node" or "relation".
        """
        if is_empty.any():
            location = self._location(lines[np.argmax(is_empty)])
            raise ValueError(
                f"{location} lacks the name of a {kind}: leave out the line, or add it"
            )

    def _read_weights(
        self, data: NDArray[np.uint8], starts: Any, stops: Any, lines: Any
    ) -> NDArray[np.float32]:
        """Return the weights in fields of a block."""
        text = join_fields(data, starts, stops, b" ")
        weights = np.zeros(0)
        if (starts < stops).all() and text.count(b" ") == len(lines):
            with warnings.catch_warnings(), contextlib.suppress(ValueError, DeprecationWarning):
                warnings.simplefilter("error", DeprecationWarning)  # NumPy 1.26 only warns
                weights = np.fromstring(text.decode(), np.float64, sep=" ")
        if len(weights) != len(lines):  # some text is not a number
            weights = self._parse_weights(data, starts, stops, lines)
        if (row := find_invalid_weight(weights)) is not None:
            raise ValueError(weight_message(self._location(lines[row]), weights[row]))
        return weights.astype(np.float32)

    def _parse_weights(
        self, data: NDArray[np.uint8], starts: Any, stops: Any, lines: Any
    ) -> NDArray[np.float64]:
        """Return weights that Python parses strictly; a ValueError names one that is no number."""
        weights = np.ones(len(lines))
        for row, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            text = data[start:stop].tobytes().decode().strip()
            try:
                weights[row] = number(text)
            except ValueError:
                raise ValueError(
                    f"{self._location(lines[row])} has the weight {quoted(text)}, which is not a "
                    "finite number: leave out the edge, or change its weight"
                ) from None
        return weights

    def _check_lengths(self, fields: LineFields) -> None:
        """Raise a ValueError if a line has more or fewer fields than the first one."""
        is_ragged = fields.n_fields != self._n_columns
        if not is_ragged.any():
            return
        row = int(np.argmax(is_ragged))
        line = [field.decode() for field in fields.line(row)]
        separator = "tabs" if self._by_tabs else "blanks"
        raise ValueError(
            f"{self._location(fields.lines[row])} has {len(line)} column{'s' * (len(line) != 1)}, "
            f"{quoted(line)}, but the first line has {self._n_columns}, separated by {separator}: "
            "all lines must have the same columns. Names that contain blanks must be separated by "
            "tabs"
        )

    def _location(self, line: int) -> str:
        return f"{self._path}, line {self._n_lines + int(line) + 1:,},"
