"""Dialects of CSV: rows read strictly by Python's csv module, and checks of whole blocks.

`StrictRows` defines how a table is read: as pandas reads it, but it raises an error where pandas
would guess. The errors are text after a closing quote, rows of different lengths, and a newline in
a quoted cell unless the user allows it. `complete_rows` recognizes blocks that a faster parser
reads in the same way.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.messages import quoted

#: Characters that may separate cells, from the most to the least likely.
SEPARATORS = (",", "\t", ";", "|")

#: Number of first lines from which a separator is guessed.
SAMPLE_ROWS = 20


class Dialect(NamedTuple):
    """Characters that separate, quote and escape cells, and whether cells may contain newlines."""

    sep: str
    quotechar: str | None
    escapechar: str | None
    newlines: bool

    def reader(self, lines: Iterator[str], strict: bool = True) -> Any:
        """Return Python's csv reader of this dialect."""
        csv.field_size_limit(max(csv.field_size_limit(), table_streams.BLOCK_BYTES))
        return csv.reader(
            lines,
            delimiter=self.sep,
            quotechar=self.quotechar,
            escapechar=self.escapechar,
            quoting=csv.QUOTE_MINIMAL if self.quotechar else csv.QUOTE_NONE,
            strict=strict,
        )

    @property
    def is_plain(self) -> bool:
        """Return whether a parser that works on bytes can read the dialect.

        Such a parser and Python's csv module agree if the separator and the quote are ASCII, and no
        character escapes others.
        """
        return self.escapechar is None and (self.sep + (self.quotechar or "")).isascii()


class _NewlineError(Exception):
    """A quoted or escaped cell contains a newline, which the user has not allowed."""


class StrictRows:
    """Rows of a table of text: lists of cells, all of the same length, without blank lines.

    Parameters
    ----------
    text : io.TextIOBase
        Text whose line ends are not translated.
    dialect : Dialect
    has_header : bool
        Whether the first row contains the names of the columns.

    Attributes
    ----------
    location : str
        Number of the current row and of its first line in the file, for messages.
    """

    def __init__(self, text: io.TextIOBase, dialect: Dialect, has_header: bool) -> None:
        self._text = text
        self._dialect = dialect
        self._first_row = 0 if has_header else 1
        self._n_lines = 0
        self._line = ""
        self._is_new_row = True
        self.location = ""

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the rows.

        If the table can't be read reliably, the ValueError names the row and a cure.
        """
        reader = self._dialect.reader(self._lines())
        row_number = self._first_row
        n_cells = 0
        while True:
            self._is_new_row = True
            first_line = self._n_lines + 1
            name = f"row {row_number:,}" if row_number else "the row of names"
            self.location = f"{name} (line {first_line:,})"
            try:
                row = next(reader)
            except StopIteration:
                return
            except _NewlineError:
                raise ValueError(f"{self.location}: {self._newline_message()}") from None
            except csv.Error as error:
                raise ValueError(f"{self.location}: {self._quote_message(error)}") from None
            if not row:
                continue
            n_cells = n_cells or len(row)
            if len(row) != n_cells:
                raise ValueError(f"{self.location}: {self._length_message(row, n_cells)}")
            yield row
            row_number += 1

    def _lines(self) -> Iterator[str]:
        max_length = table_streams.BLOCK_BYTES
        while line := self._text.readline(max_length + 1):
            if len(line) > max_length:
                raise ValueError(f"{self.location}: {table_streams.long_row_message()}")
            if not self._is_new_row and not self._dialect.newlines:
                raise _NewlineError
            if self._is_new_row:
                self._line = line
            self._is_new_row = False
            self._n_lines += 1
            yield line

    def _newline_message(self) -> str:
        advice = "; ".join(
            [
                "if cells contain newlines, pass newlines=True",
                "if quotes are ordinary characters, pass quotechar=''",
            ]
        )
        if self._has_escapes():
            advice = "quotes look escaped by backslashes: pass escapechar='\\\\'"
        return f"a quoted cell contains a newline, in {quoted(self._line)}: {advice}"

    def _quote_message(self, error: csv.Error) -> str:
        if "limit" in str(error):
            return table_streams.long_row_message()
        fault = str(error)
        if "expected after" in fault:
            fault = "text follows the closing quote of a cell"
        elif "end of data" in fault:
            fault = "a quoted cell is never closed"
        advice = "if quotes are ordinary characters, pass quotechar=''"
        if self._has_escapes():
            advice = "quotes look escaped by backslashes: pass escapechar='\\\\'"
        return f"{fault}, in {quoted(self._line)}: {advice}"

    def _has_escapes(self) -> bool:
        is_escaped = f"\\{self._dialect.quotechar}" in self._line
        return is_escaped and self._dialect.escapechar is None

    def _length_message(self, row: list[str], n_cells: int) -> str:
        cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
        message = f"{cells}, but the first row has {n_cells}, in {quoted(self._line)}"
        if self._has_escapes():
            return f"{message}: quotes look escaped by backslashes: pass escapechar='\\\\'"
        return f"{message}; a cell that contains {self._dialect.sep!r} must be quoted"


def guess_sep(head: str, dialect: Dialect) -> str | None:
    """Guess the separator of a table that the separator of the dialect does not split into cells.

    Returns a separator that splits each of the first rows into the same number of cells, two or
    more, or None if none does. `head` is the start of the table's text.
    """
    lines = [line for line in head.splitlines()[:SAMPLE_ROWS] if line.strip()]
    for sep in SEPARATORS:
        if sep == dialect.sep or sep in (dialect.quotechar, dialect.escapechar):
            continue
        rows = dialect._replace(sep=sep).reader(iter(lines), strict=False)
        try:
            lengths = {len(row) for row in rows}
        except csv.Error:
            continue
        if len(lengths) == 1 and lengths != {1}:
            return sep
    return None


def complete_rows(dialect: Dialect, block: bytes, is_last: bool) -> int | None:
    """Return the number of bytes of complete rows at the start of a block.

    Returns None if parsers may read the block's quotes differently, or a quoted cell contains a
    newline that is not allowed. With `is_last`, the block ends the file, perhaps without a newline.
    The dialect must be plain.
    """
    quote = (dialect.quotechar or "").encode()
    if not quote or quote not in block:
        return len(block) if is_last else block.rfind(b"\n") + 1
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data == quote[0])
    ends = np.flatnonzero(data == ord("\n"))
    # a newline is outside of quotes, and ends a row, if the number of quotes before it is even
    n_quotes_before = np.searchsorted(quotes, ends)
    row_ends = ends[n_quotes_before % 2 == 0]
    if len(row_ends) < len(ends) and not dialect.newlines:
        return None  # a newline is inside of quotes
    stop = len(block) if is_last else int(row_ends[-1]) + 1 if len(row_ends) else 0
    quotes = quotes[: np.searchsorted(quotes, stop)]
    if len(quotes) % 2:
        return None
    # Opening quotes must start a cell, and closing ones must end it. A closing quote and an opening
    # one directly behind it are a doubled quote within a cell, and are left out.
    opening_quotes = quotes[::2]
    closing_quotes = quotes[1::2]
    is_single = opening_quotes[1:] != closing_quotes[:-1] + 1
    opening_quotes = np.concatenate([opening_quotes[:1], opening_quotes[1:][is_single]])
    closing_quotes = np.concatenate([closing_quotes[:-1][is_single], closing_quotes[-1:]])
    is_limit = np.zeros(256, bool)  # by byte: whether it separates cells
    is_limit[[ord(dialect.sep), ord("\n"), ord("\r")]] = True
    is_start = is_limit[data[opening_quotes - 1]] | (opening_quotes == 0)
    is_end = is_limit[data[np.minimum(closing_quotes + 1, len(data) - 1)]] | (
        closing_quotes + 1 == len(data)
    )
    if not (is_start.all() and is_end.all()):
        return None
    if not dialect.newlines and b"\r" in block:
        carriage_returns = np.flatnonzero(data[:stop] == ord("\r"))
        if (np.searchsorted(quotes, carriage_returns) % 2).any():
            return None
    return stop
