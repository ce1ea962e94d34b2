"""Reader of tables of edges: pandas, polars, pyarrow, and files such as Parquet and CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.corpus.tables.csv_dialect import Dialect, guess_sep
from gensim_tfw2v.corpus.tables.table_columns import (
    is_integer,
    is_text,
    naming,
    open_table,
    require_pyarrow,
)
from gensim_tfw2v.corpus.tables.table_folders import list_tables
from gensim_tfw2v.corpus.tables.table_formats import find_format
from gensim_tfw2v.corpus.tables.table_options import TableOptions
from gensim_tfw2v.corpus.tables.table_streams import open_utf8
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import (
    CsrGraph,
    find_invalid_weight,
    weight_message,
)
from gensim_tfw2v.walks.edge_columns import (
    EdgeColumns,
    find_columns,
    find_unnamed_columns,
    is_header,
)
from gensim_tfw2v.walks.node_names import TextNames, number_integers

try:
    import pyarrow as pa
    from pyarrow import compute
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow

#: Separators of the formats of tables that are text without types, by the format's name.
SEPARATORS = {"CSV": ",", "TSV": "\t"}


class EdgeTable(Protocol):
    """Table of edges that can be read repeatedly.

    Attributes
    ----------
    label : str
        Subject of messages.
    columns : EdgeColumns
        Indices of the columns that are read.
    """

    label: str
    columns: EdgeColumns

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages."""

    def chunks(self, column: int) -> Iterator[Any]:
        """Yield a column in parts, as pyarrow's arrays."""


class MemoryTable:
    """Table of edges in memory, which has the method ``__arrow_c_stream__``."""

    def __init__(self, table: Any, weight: str | None) -> None:
        require_pyarrow()
        self.label = "the table"
        try:
            self._table = pa.table(table)
        except pa.ArrowException as error:
            raise ValueError(
                f"the table can't be converted to pyarrow's: {error}; keep the columns of both "
                "ends and of the weight, each of one type"
            ) from None
        self.columns = _find(self.label, self._table.column_names, weight)

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages."""
        return str(self._table.column_names[column])

    def chunks(self, column: int) -> Iterator[Any]:
        """Yield a column in parts, as pyarrow's arrays."""
        yield from self._table.column(column).chunks


class FileTable:
    """Table of edges in a file, or in a folder of files with the same columns."""

    def __init__(self, path: str, weight: str | None) -> None:
        require_pyarrow()
        self.label = path
        self._files = list_tables(Path(path), recursive=False)
        table_format = find_format(self._files[0])
        assert table_format is not None  # list_tables lists only tables
        if table_format.name.startswith("JSON"):
            raise ValueError(
                f"{path} is a JSON file, and edges are not read from JSON: pass a table, as in: "
                f"pandas.read_json({path!r}, lines={table_format.name == 'JSON Lines'})"
            )
        self._options = TableOptions()
        with naming(self._files[0]):
            if sep := SEPARATORS.get(table_format.name):
                self._options, self.columns = _read_layout(self._files[0], sep, weight)
                self._names = open_table(self._files[0], self._options).names
            else:
                self._names = open_table(self._files[0], self._options).names
                self.columns = find_columns(self._names, weight)

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages."""
        return str(self._names[column])

    def chunks(self, column: int) -> Iterator[Any]:
        """Yield a column in parts, as pyarrow's arrays."""
        name = self._names[column]
        for path in self._files:
            with naming(path):
                table = open_table(path, self._options)
                if (kind := table.column_type(name)) is None:
                    raise ValueError(
                        f"has no column {quoted(name)}, unlike {self._files[0]}; its columns are: "
                        f"{quoted(table.names)}"
                    )
                yield from table.batches(name, kind)


def _read_layout(path: str, sep: str, weight: str | None) -> tuple[TableOptions, EdgeColumns]:
    """Return the options with which a table of text is read, and its columns."""
    with open_utf8(path, None) as source:
        head = source.read(HEAD_BYTES).decode("utf-8", "replace")
    rows = _split_rows(head, sep)
    if rows and len(rows[0]) == 1:
        dialect = Dialect(sep, '"', None, False)
        sep = guess_sep(head, dialect) or sep
        rows = _split_rows(head, sep)
    if not rows:
        raise ValueError("has no edges: each row must have two names")
    first_row, second_row = rows[0], rows[1] if len(rows) > 1 else []
    if is_header(first_row, second_row, weight):
        return TableOptions(sep=sep, header=0), find_columns(first_row, weight)
    return TableOptions(sep=sep, header=None), find_unnamed_columns(first_row)


def _split_rows(text: str, sep: str) -> list[list[str]]:
    """Return the cells of the first two rows of a text that are not blank."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    return list(islice((row for row in rows if row), 2))


def read_edge_table(table: EdgeTable, directed: bool) -> CsrGraph:
    """Read a table of edges; see `graph_readers.read_graph`.

    Raises
    ------
    ValueError
        If a cell of both ends is empty, if their types are not those of names, or if a weight is
        not a number.
    """
    columns = table.columns
    text_names = TextNames()
    sources = _read_ends(table, columns.source, text_names)
    targets = _read_ends(table, columns.target, text_names)
    if len(sources) != len(targets):
        raise ValueError(
            f"{table.label} was changed while it was read: it has {len(sources):,} and then "
            f"{len(targets):,} rows; read it again"
        )
    weights = None if columns.weight is None else _read_weights(table, columns.weight)
    if not len(sources):
        raise ValueError(f"{table.label} has no edges: each row must have two names")
    if sources.dtype != targets.dtype:
        raise ValueError(
            f"{table.label} has integers in one of the columns "
            f"{quoted(table.column_name(columns.source))} and "
            f"{quoted(table.column_name(columns.target))}, and strings in the other, so no name "
            "would be in both: convert one of them"
        )
    names: Sequence[Any]
    if sources.dtype == np.int64:
        names, nodes = number_integers(np.concatenate([sources, targets]))
        sources, targets = np.split(nodes, 2)
    else:
        names = text_names.all_names()
    return CsrGraph.from_edges(names, sources, targets, weights, directed=directed)


def _read_ends(table: EdgeTable, column: int, text_names: TextNames) -> NDArray[Any]:
    """Return the nodes at one end of all edges.

    Integers are returned as int64. Strings are numbered by `text_names`, and their numbers are
    returned as int32.
    """
    ends = [np.zeros(0, np.int32)]
    n_rows = 0
    for chunk in table.chunks(column):
        location = f"{table.label}, column {quoted(table.column_name(column))}"
        if is_text(chunk.type):
            chunk = chunk.cast(pa.large_string())
        elif not is_integer(chunk.type):
            raise ValueError(
                f"{location}, is of type {chunk.type}, but names of nodes are strings or integers: "
                "convert it"
            )
        is_missing = compute.is_null(chunk)
        if is_text(chunk.type):
            is_missing = compute.or_(is_missing, compute.fill_null(compute.equal(chunk, ""), True))
        if compute.any(is_missing).as_py():
            row = n_rows + compute.index(is_missing, True).as_py() + 1
            raise ValueError(
                f"{location}, row {row:,}, lacks the name of a node: leave out the row, or add it"
            )
        if is_text(chunk.type):
            ends.append(text_names.encode(_join_names(chunk), len(chunk)))
        else:
            ends.append(chunk.cast(pa.int64()).to_numpy(zero_copy_only=False))
        n_rows += len(chunk)
    return np.concatenate(ends if n_rows == 0 else ends[1:])


def _join_names(names: Any) -> bytes:
    """Return an array of strings in UTF-8, each followed by a zero byte."""
    text = pa.large_string()
    end = pa.scalar("\0", text)
    joined = compute.binary_join_element_wise(names, end, pa.scalar("", text))
    _, offsets, text_buffer = joined.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    start, stop = bounds[joined.offset], bounds[joined.offset + len(joined)]
    return memoryview(text_buffer or b"").cast("B")[start:stop].tobytes()


def _read_weights(table: EdgeTable, column: int) -> NDArray[np.float32]:
    """Return the weights of all edges."""
    weights = [np.zeros(0, np.float32)]
    n_rows = 0
    location = f"{table.label}, column {quoted(table.column_name(column))}, row"
    for chunk in table.chunks(column):
        try:
            if is_text(chunk.type):
                chunk = chunk.cast(pa.large_string())
            values = chunk.cast(pa.float64())
        except pa.ArrowException:
            _raise_weight_error(chunk, location, n_rows)
            raise
        if values.null_count:
            row = n_rows + compute.index(compute.is_null(values), True).as_py() + 1
            raise ValueError(f"{location} {row:,}, lacks a weight: leave out the row, or add it")
        numbers = values.to_numpy(zero_copy_only=False)
        if (row := find_invalid_weight(numbers)) is not None:
            raise ValueError(weight_message(f"{location} {n_rows + row + 1:,},", numbers[row]))
        weights.append(numbers.astype(np.float32))
        n_rows += len(chunk)
    return np.concatenate(weights)


def _raise_weight_error(chunk: Any, location: str, n_rows: int) -> None:
    """Raise a ValueError that names the first weight of a chunk that is not a number.

    `n_rows` is the number of the rows before the chunk.
    """
    for row, value in enumerate(chunk.to_pylist(), n_rows + 1):
        try:
            float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{location} {row:,}, has the weight {quoted(value)}, which is not a number: leave "
                "out the row, or change its weight"
            ) from None


def _find(label: str, names: Sequence[str], weight: str | None) -> EdgeColumns:
    """Return the columns of a table; errors name it."""
    try:
        return find_columns(names, weight)
    except ValueError as error:
        raise ValueError(f"{label} {error}") from None
