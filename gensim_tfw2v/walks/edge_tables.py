"""Tables of edges: of pandas, polars or pyarrow, and in files such as Parquet and CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.corpus.tables.csv_dialect import Dialect, guess_sep
from gensim_tfw2v.corpus.tables.table_columns import (
    is_text,
    naming,
    open_table,
    require_pyarrow,
)
from gensim_tfw2v.corpus.tables.table_folders import FolderAdvice, list_tables
from gensim_tfw2v.corpus.tables.table_formats import find_format
from gensim_tfw2v.corpus.tables.table_options import TableOptions
from gensim_tfw2v.corpus.tables.table_streams import open_utf8
from gensim_tfw2v.edge_columns import (
    SAMPLE_ROWS,
    EdgeColumns,
    find_columns,
    find_unnamed_columns,
    is_header,
)
from gensim_tfw2v.messages import quoted

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow

#: Separators of the formats of tables that are text without types, by the format's name.
SEPARATORS = {"CSV": ",", "TSV": "\t"}

#: Advice for folders of edges, which are read without options.
ADVICE = FolderAdvice(
    no_table=(
        "is not a table, but a folder of edges must consist of tables, such as .parquet or .csv: "
        "join lists of edges to one file, and pass its path"
    ),
    subfolders="pass one of them, or move the tables to one folder",
)


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

    def __init__(self, table: Any, weight: str | None, relation: str | None) -> None:
        require_pyarrow()
        self.label = "the table"
        try:
            if hasattr(table, "iloc"):  # pandas, whose index is not a column
                self._table = pa.Table.from_pandas(table, preserve_index=False)
            else:
                self._table = pa.table(table)
        except (pa.ArrowException, TypeError) as error:
            raise ValueError(
                f"the table can't be converted to pyarrow's: {error}; keep the columns of both "
                "ends, of the weight and of the relation, each of one type"
            ) from None
        self.columns = _find(self.label, self._table.column_names, weight, relation)

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages."""
        return str(self._table.column_names[column])

    def chunks(self, column: int) -> Iterator[Any]:
        """Yield a column in parts, as pyarrow's arrays."""
        yield from self._table.column(column).chunks


class FileTable:
    """Table of edges in a file, or in a folder of files with the same columns."""

    def __init__(self, path: str, weight: str | None, relation: str | None) -> None:
        require_pyarrow()
        self.label = path
        self._files = list_tables(Path(path), recursive=False, advice=ADVICE)
        table_format = find_format(self._files[0])
        assert table_format is not None  # list_tables lists only tables
        if table_format.name.startswith("JSON"):
            raise ValueError(
                f"{path} is a JSON file, and edges are not read from JSON: pass a table, as in: "
                f"pandas.read_json({path!r}, lines={table_format.name == 'JSON Lines'})"
            )
        self._options = TableOptions()
        sep = SEPARATORS.get(table_format.name)
        self._is_text = sep is not None
        with naming(self._files[0]):
            if sep is not None:
                with self._naming_cure():
                    sep, rows = _read_rows(self._files[0], sep)
                self._options, self.columns = _find_layout(rows, sep, weight, relation)
            with self._naming_cure():
                self._names = open_table(self._files[0], self._options).names
            if sep is None:
                self.columns = find_columns(self._names, weight, relation)

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages."""
        return str(self._names[column])

    def chunks(self, column: int) -> Iterator[Any]:
        """Yield a column in parts, as pyarrow's arrays.

        Raises
        ------
        ValueError
            If a file lacks the column, or has several of this name, or if one file has names that
            are strings and another one integers.
        """
        name = self._names[column]
        first_kind = None
        for path in self._files:
            with naming(path):
                with self._naming_cure():
                    table = open_table(path, self._options)
                    n_columns = table.names.count(name)
                if n_columns > 1:
                    raise ValueError(
                        f"has {n_columns} columns {quoted(name)}, but a column that is read must "
                        f"have its own name: rename them; its columns are: {quoted(table.names)}"
                    )
                if not n_columns:
                    raise ValueError(
                        f"has no column {quoted(name)}, unlike {self._files[0]}; its columns are: "
                        f"{quoted(table.names)}"
                    )
                kind = table.column_type(name)
                if first_kind is None:
                    first_kind = kind
                if self._has_names(column) and is_text(kind) != is_text(first_kind):
                    raise ValueError(
                        f"column {quoted(name)} is of type {kind}, but of type {first_kind} in "
                        f"{self._files[0]}, so no name would be in both files: convert one of them"
                    )
                with self._naming_cure():
                    yield from table.batches(name, kind)

    def _has_names(self, column: int) -> bool:
        """Return whether a column consists of names of nodes or of relations."""
        columns = self.columns
        return column in (columns.source, columns.target, columns.relation)

    @contextmanager
    def _naming_cure(self) -> Iterator[None]:
        """Add to errors of rows of text that edges are read without the options they mention."""
        try:
            yield
        except ValueError as error:
            if not self._is_text:
                raise
            raise ValueError(
                f"{error}. Edges are read without options: read the file with pandas.read_csv, and "
                "pass the table"
            ) from None


def _read_rows(path: str, sep: str) -> tuple[str, list[list[str]]]:
    """Return the separator of a table of text, and the cells of its first rows."""
    with open_utf8(path, None) as source:
        head = source.read(HEAD_BYTES).decode("utf-8", "replace")
    rows = _split_rows(head, sep)
    if rows and len(rows[0]) == 1:
        dialect = Dialect(sep, '"', None, False)
        sep = guess_sep(head, dialect) or sep
        rows = _split_rows(head, sep)
    return sep, rows


def _find_layout(
    rows: list[list[str]], sep: str, weight: str | None, relation: str | None
) -> tuple[TableOptions, EdgeColumns]:
    """Return the options with which a table of text is read, and its columns."""
    if not rows:
        raise ValueError("has no edges: each row must have two names")
    if is_header(rows, weight, relation):
        return TableOptions(sep=sep, header=0), find_columns(rows[0], weight, relation)
    return TableOptions(sep=sep, header=None), find_unnamed_columns(rows[0])


def _split_rows(text: str, sep: str) -> list[list[str]]:
    """Return the cells of the first rows of a text, without blank lines."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    return list(islice((row for row in rows if row), SAMPLE_ROWS))


def _find(
    label: str, names: Sequence[str], weight: str | None, relation: str | None
) -> EdgeColumns:
    """Return the columns of a table; errors name it."""
    try:
        return find_columns(names, weight, relation)
    except ValueError as error:
        raise ValueError(f"{label} {error}") from None
