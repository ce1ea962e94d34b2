"""Reader of the graph in a table of edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.tables.table_columns import is_integer, is_text
from gensim_tfw2v.corpus.tables.table_weights import to_floats
from gensim_tfw2v.edge_columns import is_number
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import (
    CsrGraph,
    Relations,
    find_invalid_weight,
    weight_message,
)
from gensim_tfw2v.walks.edge_tables import EdgeTable
from gensim_tfw2v.walks.node_names import TextNames, number_integers

try:
    import pyarrow as pa
    from pyarrow import compute
except ModuleNotFoundError:
    pass  # an `EdgeTable` raises when it is opened; `import *` must work without pyarrow


def read_edge_table(table: EdgeTable, directed: bool) -> CsrGraph:
    """Read a table of edges; see `graph_readers.read_graph`.

    Raises
    ------
    ValueError
        If a cell of both ends or of the relation is empty, if their types are not those of names,
        or if a weight is not a number.
    """
    columns = table.columns
    text_names = TextNames()
    sources = _read_names(table, columns.source, text_names, "node")
    targets = _read_names(table, columns.target, text_names, "node")
    if len(sources) != len(targets):
        raise ValueError(
            f"{table.label} was changed while it was read: it has {len(sources):,} and then "
            f"{len(targets):,} rows; read it again"
        )
    weights = None if columns.weight is None else _read_weights(table, columns.weight)
    relations = None if columns.relation is None else _read_relations(table, columns.relation)
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
    return CsrGraph.from_edges(names, sources, targets, weights, relations, directed=directed)


def _read_relations(table: EdgeTable, column: int) -> Relations:
    """Return the relations of all edges."""
    text_names = TextNames()
    values = _read_names(table, column, text_names, "relation")
    if values.dtype != np.int64:
        return Relations(values, text_names.all_names())
    names, numbers = number_integers(values)
    return Relations(numbers, names)


def _read_names(table: EdgeTable, column: int, text_names: TextNames, kind: str) -> NDArray[Any]:
    """Return the names in a column, whose `kind` is "node" or "relation".

    Integers are returned as int64. Strings are numbered by `text_names`, and their numbers are
    returned as int32.
    """
    names: list[NDArray[Any]] = []
    n_rows = 0
    for chunk in table.chunks(column):
        location = f"{table.label}, column {quoted(table.column_name(column))}"
        chunk = _decode(chunk)
        if not is_text(chunk.type) and not is_integer(chunk.type):
            raise ValueError(
                f"{location}, is of type {chunk.type}, but names of {kind}s are strings or "
                "integers: convert it"
            )
        is_missing = compute.is_null(chunk)
        if is_text(chunk.type):
            is_missing = compute.or_(is_missing, compute.fill_null(compute.equal(chunk, ""), True))
        if compute.any(is_missing).as_py():
            row = n_rows + compute.index(is_missing, True).as_py() + 1
            raise ValueError(
                f"{location}, row {row:,}, lacks the name of a {kind}: leave out the row, or add it"
            )
        if is_text(chunk.type):
            names.append(text_names.encode(_join_names(chunk), len(chunk)))
        else:
            names.append(_to_int64(chunk, location))
        n_rows += len(chunk)
    return np.concatenate(names) if names else np.zeros(0, np.int32)


def _decode(column: Any) -> Any:
    """Return an array of pyarrow, without a dictionary, and with strings as large strings."""
    if pa.types.is_dictionary(column.type):
        values = _decode(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column.cast(pa.large_string()) if is_text(column.type) else column


def _to_int64(chunk: Any, location: str) -> NDArray[np.int64]:
    """Return an array of pyarrow's integers."""
    try:
        integers: NDArray[np.int64] = chunk.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        raise ValueError(
            f"{location}, has integers that int64 lacks: convert them to strings"
        ) from None
    return integers


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
    location = f"{table.label}, column {quoted(table.column_name(column))}"
    for chunk in table.chunks(column):
        values = _decode(chunk)
        try:
            numbers = to_floats(values)
        except pa.ArrowException:
            raise ValueError(
                f"{location}, is of type {chunk.type}, but weights are numbers: convert it"
            ) from None
        if values.null_count:
            row = n_rows + compute.index(compute.is_null(values), True).as_py() + 1
            raise ValueError(
                f"{location}, row {row:,}, lacks a weight: leave out the row, or add it"
            )
        if (row := find_invalid_weight(numbers)) is not None:
            weight = values[row].as_py() if is_text(values.type) else numbers[row]
            raise ValueError(_weight_message(f"{location}, row {n_rows + row + 1:,},", weight))
        weights.append(numbers.astype(np.float32))
        n_rows += len(chunk)
    return np.concatenate(weights)


def _weight_message(location: str, weight: Any) -> str:
    """Return the message for a row whose weight, a number or a text, is not valid."""
    if isinstance(weight, str) and not is_number(weight):
        return (
            f"{location} has the weight {quoted(weight)}, which is not a number: leave out the "
            "row, or change its weight"
        )
    return weight_message(location, weight)
