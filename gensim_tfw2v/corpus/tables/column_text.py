"""A column of strings as a text with a line per row."""

import io
import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from gensim_tfw2v.corpus.scanner import FileRange
from gensim_tfw2v.corpus.tables.table_columns import read_column, require_pyarrow
from gensim_tfw2v.corpus.tables.table_options import TableColumn
from gensim_tfw2v.corpus.tables.table_weights import RowWeights

try:
    import pyarrow as pa
    from pyarrow import compute
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow


@dataclass(frozen=True, order=True)
class ColumnRange(FileRange):
    """Whole column of a table, which is read as lines of text."""

    column: TableColumn = field(kw_only=True)
    weight: TableColumn | None = field(kw_only=True, default=None)  # column of weights

    @classmethod
    def whole(
        cls, path: str, column: TableColumn, weight: TableColumn | None = None
    ) -> "ColumnRange":
        """Return the range of a column of the table with this path."""
        return cls(path, 0, os.path.getsize(path), is_stream=True, column=column, weight=weight)

    def open(self) -> BinaryIO:
        """Open the column for reading as lines of text."""
        weights = None if self.weight is None else RowWeights(self.path, self.weight)
        return io.BufferedReader(ColumnText(self.path, self.column, weights))


class ColumnText(io.RawIOBase):
    """Column of strings as a stream of UTF-8 text: a line per row.

    The line is empty for a null, and for a row of weight 0.
    """

    def __init__(self, path: str, column: TableColumn, weights: RowWeights | None = None) -> None:
        require_pyarrow()
        self._weights = weights
        self._batches = read_column(path, column, pa.string())
        self._unread = memoryview(b"")

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Write the next bytes to a buffer; return their number, 0 at the end of the column."""
        text = pa.large_string()
        while not self._unread and (column := next(self._batches, None)) is not None:
            if not len(column):
                continue
            column = compute.fill_null(column.cast(text), "")
            if self._weights is not None:
                has_weight = pa.array(self._weights.take(len(column)) > 0)
                column = compute.if_else(has_weight, column, pa.scalar("", text))
            column = compute.replace_substring(column, "\n", " ")
            newline = pa.scalar("\n", text)
            lines = compute.binary_join_element_wise(column, newline, pa.scalar("", text))
            _, offsets, text_buffer = lines.buffers()
            stop = np.frombuffer(offsets, np.int64)[len(lines)]  # end of the text in the buffer
            self._unread = memoryview(text_buffer or b"").cast("B")[:stop]
        size = min(len(buffer), len(self._unread))
        buffer[:size] = self._unread[:size]
        self._unread = self._unread[size:]
        return size
