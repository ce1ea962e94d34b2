"""Cells of text that contain lists, as `DataFrame.to_csv` writes them."""

import ast
import json
import re
from typing import Any

from gensim_tfw2v.messages import quoted

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pass  # `require_pyarrow` raises when a table is opened; `import *` must work without pyarrow

# Each pattern can match a cell in one way only. Otherwise matching could take exponential time.
_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ITEM = rf"(?:{_STRING}|-?[0-9]+|None)"
_ANY_ITEM = rf"(?:{_STRING}|-?[0-9.]+(?:e[-+]?[0-9]+)?|None|null|nan)"

#: List as Python prints it. Lists that NumPy prints must not match: their items are separated by
#: blanks only, so Python would read strings as a single one.
_PYTHON_LIST = re.compile(rf"\s*\[(?:\s*{_ITEM}(?:\s*,\s*{_ITEM})*(?:\s*,)?)?\s*\]\s*", re.DOTALL)

#: List as Python, JSON or NumPy print it.
_ANY_LIST = re.compile(
    rf"\s*\[(?:\s*{_ANY_ITEM}(?:(?:\s*,\s*|\s+){_ANY_ITEM})*(?:\s*,)?)?\s*\]\s*",
    re.DOTALL | re.IGNORECASE,
)


def look_like_lists(cells: list[str]) -> bool:
    """Return whether nearly all of the cells that are not blank look like lists."""
    cells = [cell for cell in cells if cell.strip()]
    n_lists = sum(_ANY_LIST.fullmatch(cell) is not None for cell in cells)
    return bool(cells) and n_lists >= 0.9 * len(cells)


def parse_list(cell: str) -> list[Any]:
    """Return the items of a list in JSON or in Python's syntax, without nulls.

    Raises
    ------
    ValueError
        If the cell is not a list of strings or a list of integers.
    """
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        if not _PYTHON_LIST.fullmatch(cell):
            raise ValueError(
                f"{quoted(cell)} is not a list in JSON or in Python's syntax"
            ) from None
        items = ast.literal_eval(cell.strip())
    if not isinstance(items, list):
        raise ValueError(f"{quoted(cell)} is not a list")
    items = [item for item in items if item is not None]
    if not ({*map(type, items)} <= {str} or {*map(type, items)} <= {int}):
        raise ValueError(f"{quoted(cell)} is not a list of strings or of integers")
    return items


def find_list_type(cells: list[str]) -> Any:
    """Return pyarrow's type of the lists in the first cells of a column; None if all are empty."""
    lists = [parse_cell(cell, row) or [] for row, cell in enumerate(cells, 1)]
    types = {type(item) for items in lists for item in items}
    return pa.list_(pa.int64() if int in types else pa.string()) if types else None


def parse_cell(cell: str | None, row: int) -> list[Any] | None:
    """Return the list in a cell, or None for an empty cell.

    If the cell is not a list, the ValueError names `row`.
    """
    if cell is None or not cell.strip():
        return None
    try:
        return parse_list(cell)
    except ValueError as error:
        raise ValueError(f"row {row:,}: {error}") from None


def parse_cells(cells: Any, kind: Any, first_row: int) -> Any:
    """Return the lists in an array of text cells as pyarrow's array. Empty cells become nulls.

    `kind` is pyarrow's type of the lists. `first_row` is the row number of the first cell, for
    messages.
    """
    rows = enumerate(cells.to_pylist(), first_row)
    lists = {row: parse_cell(cell, row) for row, cell in rows}
    try:
        return pa.array(lists.values(), kind)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        for row, items in lists.items():
            try:
                pa.array([items], kind)
            except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
                raise ValueError(
                    f"row {row:,}: {quoted(items)}: {error}; the first rows are of type {kind}"
                ) from None
        raise
