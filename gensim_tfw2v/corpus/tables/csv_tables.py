"""Reader of CSV and similar tables of text.

pyarrow parses a table block by block as long as `complete_rows` accepts the blocks. From the first
block that is not accepted, `StrictRows` reads the rest of the table, or raises an error.
"""

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property, partial
from itertools import islice
from typing import Any

from gensim_tfw2v.corpus.decompression import HEAD_BYTES
from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.corpus.tables.csv_dialect import Dialect, StrictRows, complete_rows, guess_sep
from gensim_tfw2v.corpus.tables.table_blocks import parse_blocks, read_blocks
from gensim_tfw2v.corpus.tables.table_options import TableOptions
from gensim_tfw2v.corpus.tables.table_streams import open_utf8, undecodable_message


class CsvTable:
    """Table of text, such as CSV. A character separates the cells of a row.

    The character is the option ``sep`` in `options`, if it is set, or the argument `sep`.
    """

    def __init__(self, path: str, options: TableOptions, sep: str = ",") -> None:
        self.path = path
        self.options = options
        sep = options.sep or sep
        options.check_characters(sep)
        self.dialect = Dialect(sep, options.quotechar, options.escapechar, options.newlines)

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns."""
        with self._open_rows() as rows:
            first_row = next(iter(rows), None)
            for cell in first_row or ():
                self._check_decoded(cell, rows.location)
        names = self.options.names
        if first_row is None:
            raise ValueError("Empty CSV file")
        if names is not None:
            if len(names) != len(first_row):
                raise ValueError(f"has {len(first_row)} columns, but names has {len(names)}")
            return list(names)
        if self.options.has_header:
            return first_row
        if len(first_row) == 1 and self.options.sep is None and (hint := self.hint()):
            raise ValueError(f"has one column{hint}")
        return [str(index) for index in range(len(first_row))]

    def hint(self) -> str:
        """Return the advice for a table whose cells are separated differently, or ""."""
        with open_utf8(self.path, self.options.encoding) as source:
            head = source.read(HEAD_BYTES)
        if sep := guess_sep(head.decode("utf-8", "replace"), self.dialect):
            return f"; cells look separated by {sep!r}: pass sep={sep!r}"
        return ""

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of strings, as which all cells are read.

        Returns None if the column is missing.
        """
        import pyarrow as pa

        return pa.string() if column in self.names else None

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        index = self.names.index(column)
        n_rows = 0
        if self.dialect.is_plain:
            try:
                for batch in self._plain_batches(index):
                    yield batch
                    n_rows += len(batch)
                return
            except ValueError:  # also pyarrow's: `StrictRows` reads the rest, or raises an error
                pass
        yield from self._strict_batches(index, n_rows)

    def _plain_batches(self, index: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        names = [str(index) for index in range(len(self.names))]
        name = names[index]
        parse_options = csv.ParseOptions(
            delimiter=self.dialect.sep,
            quote_char=self.dialect.quotechar or False,
            newlines_in_values=self.dialect.newlines,
        )
        convert_options = csv.ConvertOptions(
            include_columns=[name], column_types={name: pa.string()}
        )

        def parse(block: bytes, is_first: bool) -> Any:
            if is_first:
                block = block.lstrip(b"\r\n")  # pyarrow counts blank lines as rows to skip
            read_options = csv.ReadOptions(
                use_threads=False,
                block_size=len(block) + 1,
                column_names=names,
                skip_rows_after_names=int(is_first and self.options.has_header),
            )
            table = csv.read_csv(
                pa.BufferReader(block), read_options, parse_options, convert_options
            )
            return table.column(name)

        with open_utf8(self.path, self.options.encoding) as source:
            blocks = read_blocks(source, partial(complete_rows, self.dialect))
            with closing(parse_blocks(blocks, parse)) as columns:
                for column in columns:
                    yield from column.iterchunks()

    def _strict_batches(self, index: int, n_skipped: int) -> Iterator[Any]:
        import pyarrow as pa

        with self._open_rows() as rows:
            cells: list[str] = []
            size = 0
            for row in islice(rows, n_skipped + self.options.has_header, None):
                if not (cell := row[index]).isascii():
                    self._check_decoded(cell, rows.location)
                cells.append(cell)
                size += len(cell)
                if len(cells) >= table_streams.BATCH_ROWS or size >= table_streams.BLOCK_BYTES:
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

    def _check_decoded(self, cell: str, location: str) -> None:
        """Raise a ValueError if a cell contains bytes that are not UTF-8."""
        try:
            cell.encode()
        except UnicodeEncodeError:
            text = cell.encode("utf-8", "surrogateescape")
            raise ValueError(f"{location}: {undecodable_message(text)}") from None
