"""Column of a table with the weights of its rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.sentence_weights import is_weight, weight_error
from gensim_tfw2v.corpus.tables.csv_tables import CsvTable
from gensim_tfw2v.corpus.tables.table_columns import find_column_type, naming, open_table
from gensim_tfw2v.corpus.tables.table_options import TableColumn
from gensim_tfw2v.messages import number, quoted

try:
    import pyarrow as pa
    from pyarrow import compute
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow


def check_weight_column(path: str, column: TableColumn) -> None:
    """Raise a ValueError if a table lacks a column of weights, or if it contains no numbers.

    The cells of CSV are texts, which are checked when they are read.
    """
    with naming(path):
        kind = find_column_type(path, column)
        is_number = (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )
        if not is_number and not isinstance(open_table(path, column.options), CsvTable):
            raise ValueError(
                f"column {quoted(column.name)} is of type {kind}, but weights are numbers: convert "
                "it to integers or floats"
            )


class RowWeights:
    """Weights of the rows of a table, which are read in the order of the rows.

    Parameters
    ----------
    path : str
    column : TableColumn
        Column of weights.
    """

    def __init__(self, path: str, column: TableColumn) -> None:
        self._batches = _read_weights(path, column)
        self._next = np.zeros(0, np.float32)

    def take(self, n_rows: int) -> NDArray[np.float32]:
        """Return the weights of the next `n_rows` rows.

        Raises
        ------
        ValueError
            If one of the next rows has a null or an invalid weight. The message names the row.
        """
        while len(self._next) < n_rows:
            self._next = np.append(self._next, next(self._batches))
        weights, self._next = np.split(self._next, [n_rows])
        return weights

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """Yield the weights of all rows in batches, if none was read before."""
        return self._batches


def _read_weights(path: str, column: TableColumn) -> Iterator[NDArray[np.float32]]:
    """Yield the weights of a table in batches; see `RowWeights.take` for the errors."""
    n_rows = 0
    with naming(path):
        for cells in open_table(path, column.options).batches(column.name, pa.float64()):
            values = to_floats(cells)
            if not (is_valid := is_weight(values)).all():
                row = int(np.argmin(is_valid))
                cell = cells[row].as_py()
                name = f"row {n_rows + row + 1:,}, column {quoted(column.name)}"
                raise weight_error(name, "null" if cell is None else quoted(cell))
            yield values.astype(np.float32)
            n_rows += len(cells)


def to_floats(cells: Any) -> NDArray[np.float64]:
    """Return numbers, or cells of text, as floats: NaN for nulls and for texts of no number.

    Blanks around a number are left out. Cells of other types raise pyarrow's errors.
    """
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = compute.utf8_trim_whitespace(cells)
        try:
            cells = cells.cast(pa.float64())
        except pa.ArrowInvalid:
            cells = pa.array(map(_to_float, cells.to_pylist()), pa.float64())
    numbers = cells.cast(pa.float64(), safe=False)
    return compute.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)


def _to_float(cell: str | None) -> float | None:
    """Return the number in a cell, which may have a plus sign, unlike pyarrow's numbers."""
    try:
        return number(cell or "")
    except ValueError:
        return None
