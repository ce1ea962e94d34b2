"""Columns of tables: their types, and their rows in batches."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.decompression import read_head
from gensim_tfw2v.corpus.tables import list_cells
from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES, TableFormat, find_format
from gensim_tfw2v.corpus.tables.table_options import TableColumn, TableOptions
from gensim_tfw2v.messages import COMPRESSED, damage, quoted, require

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow

#: Number of first rows from which a column of text is recognized as one of lists.
SAMPLE_ROWS = 100


def require_pyarrow() -> None:
    """Raise an ImportError with the command that installs pyarrow, if it is missing."""
    require("reading tables", "pyarrow")


def open_table(path: str, options: TableOptions) -> Any:
    """Open a table by the reader of its format; raise a ValueError for options that it can't use.

    The path must be that of a table, and the content of a binary table must match its suffix.
    """
    require_pyarrow()
    if (table_format := find_format(path)) is None:
        suffixes = ", ".join(SUFFIXES)
        raise ValueError(f"{path}: column needs a table ({suffixes}); read other files as text")
    if not table_format.is_text:
        _check_binary(path, table_format)
    values = options.non_defaults()
    if unusable_options := values.keys() - table_format.options:
        arguments = ", ".join(f"{name}={quoted(values[name])}" for name in sorted(unusable_options))
        kind = f"{table_format.name} files"
        raise ValueError(f"{path}: {arguments} has no effect on {kind}; leave it out")
    return table_format.reader(path, options)


def _check_binary(path: str, table_format: TableFormat) -> None:
    """Raise a ValueError if a binary table is compressed as a whole, or is not in its format."""
    if path.lower().endswith(COMPRESSED):
        raise ValueError(f"{path}: is a compressed {table_format.name} file; decompress it first")
    if not table_format.is_content(head := read_head(path)):
        raise ValueError(
            f"{path}: is not {table_format.name}, unlike its suffix: it begins with "
            f"{quoted(head[:20])}; rename it, or write it again"
        )


def column_names(path: str | Path, options: TableOptions | None = None) -> str:
    """Return the names of a table's columns for a message."""
    require_pyarrow()
    with naming(str(path)):
        names = open_table(str(path), options or TableOptions()).names
    return _shorten(names)


def _shorten(names: list[str]) -> str:
    """Return a list of names for a message."""
    return textwrap.shorten(
        ", ".join(name or quoted(name) for name in names), 400, placeholder=" ..."
    )


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the path to errors that readers or pyarrow raise in the ``with`` block.

    Errors whose message starts with the path, and errors of the operating system, are unchanged.
    """
    try:
        yield
    except Exception as error:
        is_of_table = isinstance(error, pa.ArrowException | ValueError | OSError) or damage(error)
        is_of_system = isinstance(error, OSError) and error.errno is not None
        if is_of_system or not is_of_table or str(error).startswith(path):
            raise
        raise ValueError(f"{path}: {error}") from error


class _MissingColumn(ValueError):
    """Error of a table that lacks a column."""


def find_types(paths: list[str], column: TableColumn) -> dict[str, Any]:
    """Return pyarrow's type as which the column is read from each file, by path.

    A file in which the column has no values, or in which no JSON object has it, is of the type of
    the other files.

    Raises
    ------
    ValueError
        If the column is missing or can't be a corpus.
    """
    stored = dict[str, Any]()
    missing = list[_MissingColumn]()
    for path in paths:
        with naming(path):
            try:
                stored[path] = _find_type(path, column)
            except _MissingColumn as error:
                if not _is_json(path):
                    raise
                stored[path] = pa.null()
                missing.append(error)
    if len(missing) == len(paths):
        raise missing[0]
    types = _fill_types(stored, column)
    texts = [path for path, kind in types.items() if is_text(kind)]
    for path in texts:  # the first file with cells that aren't blank decides for all files
        with naming(path):
            cells = _first_cells(path, column, types[path])
            if column.options.lists is not None and (kind := list_cells.find_list_type(cells)):
                return types | dict.fromkeys(texts, kind)
            if column.options.lists is None and list_cells.look_like_lists(cells):
                example = next(cell for cell in cells if cell.strip())
                raise ValueError(
                    f"the cells of column {quoted(column.name)} look like lists "
                    f"({quoted(example)}), whose brackets and quotes would be parts of words; "
                    "store lists as Parquet or JSON Lines, or pass lists='json' to parse these"
                )
        if any(cell.strip() for cell in cells):
            break
    if column.options.lists is not None:
        types |= dict.fromkeys(texts, pa.list_(pa.string()))
    return types


def _fill_types(stored: dict[str, Any], column: TableColumn) -> dict[str, Any]:
    """Return the types of files; a file without values gets the type of one that has some.

    A file of empty lists only gets a type of lists, by default of strings. If no file has values,
    JSON files are read as strings. A binary table is then refused, because its type is not one of
    a corpus.
    """
    known = [kind for kind in stored.values() if not _lacks_values(kind)]
    types = stored.copy()
    for path, kind in stored.items():
        if not _lacks_values(kind):
            continue
        if not known and not _is_json(path):
            raise ValueError(
                f"{path}: column {quoted(column.name)} is of type {kind}; {_cure(kind)}"
            )
        if items_of(kind) is None:
            types[path] = known[0] if known else pa.string()
        else:
            lists = [kind for kind in known if items_of(kind) is not None]
            types[path] = lists[0] if lists else pa.list_(pa.string())
    return types


def _lacks_values(kind: Any) -> bool:
    """Return whether a type is that of a column of nulls, or of lists of nulls."""
    items = items_of(kind)
    return bool(pa.types.is_null(kind if items is None else items))


def _is_json(path: str) -> bool:
    """Return whether a table is JSON, whose objects may lack a key."""
    table_format = find_format(path)
    return table_format is not None and table_format.name.startswith("JSON")


def find_column_type(path: str, column: TableColumn) -> Any:
    """Return the type of a column as a file stores it.

    Raises
    ------
    ValueError
        If the file lacks the column, or has several of this name.
    """
    table = open_table(path, column.options)
    n_columns = table.names.count(column.name)
    kind = table.column_type(column.name) if n_columns < 2 else None
    if kind is None:
        has = f"has {n_columns or 'no'} column{'s' * (n_columns > 1)} {quoted(column.name)}"
        hint = table.hint() if hasattr(table, "hint") and not n_columns else ""
        raise _MissingColumn(f"{path}: {has}; its columns are: {_shorten(table.names)}{hint}")
    return kind


def _find_type(path: str, column: TableColumn) -> Any:
    """Return the type of a column as a file stores it; raise a ValueError if it can't be a corpus.

    The type is text even if cells of text will be parsed as lists. It may lack values.
    """
    kind = find_column_type(path, column)
    if is_text(kind) or pa.types.is_null(kind):
        return kind
    items = items_of(kind)
    if not is_text(items) and not is_integer(items) and not _lacks_values(kind):
        raise ValueError(f"column {quoted(column.name)} is of type {kind}; {_cure(kind)}")
    if column.options.lists is not None:
        raise ValueError(
            f"lists={column.options.lists!r} has no effect on column {quoted(column.name)} of type "
            f"{kind}; leave it out"
        )
    return kind


def _first_cells(path: str, column: TableColumn, kind: Any) -> list[str]:
    """Return the first `SAMPLE_ROWS` cells of a column of text, with "" for a null."""
    batches = open_table(path, column.options).batches(column.name, kind)
    rows = (cell for batch in batches for cell in batch.cast(pa.large_string()).to_pylist())
    cells = [cell or "" for cell in islice(rows, SAMPLE_ROWS)]
    batches.close()
    return cells


def read_column(path: str, column: TableColumn, kind: Any) -> Iterator[Any]:
    """Yield a column in batches, as pyarrow's arrays.

    `kind` is the type that `find_types` has returned for the path.
    """
    with naming(path):
        table = open_table(path, column.options)
        if column.options.lists is None:
            for batch in table.batches(column.name, kind):
                yield pa.nulls(len(batch), kind) if _lacks_values(batch.type) else batch
            return
        n_rows = 0
        for cells in table.batches(column.name, pa.string()):
            yield list_cells.parse_cells(cells, kind, n_rows + 1)
            n_rows += len(cells)


def flat_items(column: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the items of an array of lists, without nulls, and the length of each list.

    The length of a null is 0.
    """
    from pyarrow import compute

    items = column.flatten()
    lengths = compute.fill_null(compute.list_value_length(column), 0).cast(pa.int64()).to_numpy()
    if items.null_count:
        starts = np.concatenate([[0], np.cumsum(lengths)])
        n_valid = np.concatenate([[0], np.cumsum(items.is_valid().to_numpy(zero_copy_only=False))])
        lengths = np.diff(n_valid[starts])
        items = items.drop_null()
    return items, lengths


def items_of(kind: Any) -> Any:
    """Return the type of the items, if a type is one of lists; None for any other type."""
    types = pa.types
    is_list = (
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )
    return kind.value_type if is_list else None


def is_text(kind: Any) -> bool:
    """Return whether a type is one of strings."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind is not None and (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_integer(kind: Any) -> bool:
    """Return whether a type is one of integers."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind is not None and bool(pa.types.is_integer(kind))


def is_uint64(kind: Any) -> bool:
    """Return whether a type of integers is uint64, which has values that int64 lacks."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_uint64(kind))


def _cure(kind: Any) -> str:
    """Return the advice for a column whose type can't be a corpus."""
    if is_integer(kind):
        return (
            "a row must be a sentence: group the numbers of a sentence to a list first, as in "
            'pandas: frame.groupby("user")["item"].agg(list).reset_index()'
        )
    if pa.types.is_struct(kind) and kind.num_fields and kind.field(0).name == "0":
        return "write the table with pandas: to_json(path, orient='records', lines=True)"
    return "a corpus is a column of strings, or of lists of strings or of integers"
