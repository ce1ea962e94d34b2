"""Reader of CSV and similar tables of text.

pyarrow parses a table block by block as long as its blocks are in the plainest form, which
`complete_rows` checks. From the first other block on, `StrictRows` reads the table or refuses it.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

from gensim_tfw2v.corpus import table_streams
from gensim_tfw2v.corpus.csv_dialect import Dialect, StrictRows, complete_rows, guess_sep
from gensim_tfw2v.corpus.table_options import TableOptions
from gensim_tfw2v.corpus.table_streams import open_utf8, undecodable_message


class CsvTable:
    """Table of text in which a character, by default `sep`, separates the cells of a row."""

    def __init__(self, path: str, options: TableOptions, sep: str = ",") -> None:
        self.path = path
        self.options = options
        self.dialect = Dialect(
            options.sep or sep, options.quotechar, options.escapechar, options.newlines
        )

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns."""
        with self._open_rows() as rows:
            first = next(iter(rows), None)
        names = self.options.names
        if first is None:
            raise ValueError("Empty CSV file")
        if names is not None:
            if len(names) != len(first):
                raise ValueError(f"has {len(first)} columns, but names has {len(names)}")
            return list(names)
        if self.options.has_header:
            return first
        if len(first) == 1 and self.options.sep is None and (hint := self.hint()):
            raise ValueError(f"has one column{hint}")
        return [str(number) for number in range(len(first))]

    def hint(self) -> str:
        """Return the advice for a table whose cells are separated differently, or ""."""
        with open_utf8(self.path, self.options.encoding) as source:
            head = source.read(table_streams.HEAD)
        if sep := guess_sep(head.decode("utf-8", "replace"), self.dialect):
            return f"; cells look separated by {sep!r}: pass sep={sep!r}"
        return ""

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of text, whatever a column looks like; None if it is missing."""
        import pyarrow as pa

        return pa.string() if column in self.names else None

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        index = self.names.index(column)
        n_rows = 0
        if self.dialect.is_plain:
            import pyarrow as pa

            try:
                for batch in self._plain_batches(index):
                    yield batch
                    n_rows += len(batch)
                return
            except (_NotPlain, pa.ArrowInvalid):
                pass
        yield from self._strict_batches(index, n_rows)

    def _plain_batches(self, index: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        name = f"f{index}"
        with open_utf8(self.path, self.options.encoding) as source:
            with csv.open_csv(
                _PlainText(source, self.dialect),
                csv.ReadOptions(
                    block_size=table_streams.BLOCK,
                    autogenerate_column_names=True,
                    skip_rows_after_names=int(self.options.has_header),
                ),
                csv.ParseOptions(
                    delimiter=self.dialect.sep,
                    quote_char=self.dialect.quotechar or False,
                    newlines_in_values=self.dialect.newlines,
                ),
                csv.ConvertOptions(include_columns=[name], column_types={name: pa.string()}),
            ) as reader:
                for batch in reader:
                    yield batch.column(name)

    def _strict_batches(self, index: int, n_skipped: int) -> Iterator[Any]:
        import pyarrow as pa

        with self._open_rows() as rows:
            cells: list[str] = []
            size = 0
            for row in islice(rows, n_skipped + self.options.has_header, None):
                if not (cell := row[index]).isascii():
                    self._check_decoded(cell, rows.place)
                cells.append(cell)
                size += len(cell)
                if len(cells) >= table_streams.ROWS or size >= table_streams.BLOCK:
                    yield pa.array(cells, pa.string())
                    cells = []
                    size = 0
            if cells:
                yield pa.array(cells, pa.string())

    @contextmanager
    def _open_rows(self) -> Iterator[StrictRows]:
        with open_utf8(self.path, self.options.encoding) as source:
            text = io.TextIOWrapper(source, "utf-8", "surrogateescape", newline="")
            try:
                yield StrictRows(text, self.dialect, self.options.has_header)
            except ValueError as error:
                hint = self.hint() if "the first row has" in str(error) else ""
                raise ValueError(f"{error}{hint}") from None

    def _check_decoded(self, cell: str, place: str) -> None:
        """Raise a ValueError if a cell contains bytes that are not UTF-8."""
        try:
            cell.encode()
        except UnicodeEncodeError:
            before = cell.encode("utf-8", "surrogateescape")
            raise ValueError(f"{place}: {undecodable_message(before)}") from None


class _NotPlain(Exception):
    """Block that pyarrow might read differently than `StrictRows`."""


class _PlainText:
    """Source of pyarrow's parser: blocks of complete rows in the plainest form."""

    closed = False

    def __init__(self, source: Any, dialect: Dialect) -> None:
        self._source = source
        self._dialect = dialect
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: the source is closed by its owner."""

    def read(self, size: int) -> bytes:
        """Return a block of complete rows, at most `size` bytes; raise `_NotPlain` if it isn't."""
        block = self._rest
        while len(block) < size:
            piece = self._source.read(size - len(block))
            block += piece
            stop = complete_rows(block, self._dialect, is_last=not piece)
            if stop is None:
                raise _NotPlain
            if stop or not piece:
                self._rest = block[stop:]
                return block[:stop]
        raise _NotPlain  # a row longer than a block
