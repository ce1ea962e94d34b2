"""Columns of a table of edges: both ends, the weight and the relation."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gensim_tfw2v.messages import quoted

#: Usual names of the columns of both ends, in lower case.
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"))

#: Usual name of the column of weights, in lower case, and of the attribute of edges.
WEIGHT_NAME = "weight"

#: Name, in lower case, of a column without one, such as the index that pandas writes to CSV, and
#: that it reads back as "Unnamed: 0".
_NO_NAME = re.compile(r"(unnamed: [0-9]+)?")

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE | re.ASCII)

#: Number of first rows from which a header is recognized.
SAMPLE_ROWS = 100

#: Third column of the lines that networkx's ``write_edgelist`` writes: attributes of an edge, none.
NO_ATTRIBUTES = "{}"


class EdgeColumns(NamedTuple):
    """Indices of the columns of both ends, of the weight, and of the relation, or None."""

    source: int
    target: int
    weight: int | None
    relation: int | None = None


def find_columns(names: Sequence[str], weight: str | None, relation: str | None) -> EdgeColumns:
    """Return the columns of a table whose columns have names.

    The ends are source and target, src and dst, or from and to, in any case, or else the first two
    columns that are neither the weight nor the relation. If two of them have names, columns without
    a name, such as the index that pandas writes, are left out. The weight is the column with the
    name `weight`, by default "weight", in any case, if there is one. The relation is the column
    with the name `relation`.

    Raises
    ------
    ValueError
        If a column is missing, or if several columns have its name.
    """
    lower_names = [name.strip().lower() for name in names]
    weight_column = None
    if weight is not None:
        weight_column = _index(names, weight)
    elif WEIGHT_NAME in lower_names:
        weight_column = _index(lower_names, WEIGHT_NAME)
    relation_column = None if relation is None else _index(names, relation)
    for source, target in END_NAMES:
        if source in lower_names and target in lower_names:
            ends = [_index(lower_names, source), _index(lower_names, target)]
            break
    else:
        other_columns = (weight_column, relation_column)
        columns = [column for column in range(len(names)) if column not in other_columns]
        named = [column for column in columns if not _NO_NAME.fullmatch(lower_names[column])]
        ends = (named if len(named) >= 2 else columns)[:2]
    if len(ends) < 2:
        raise ValueError(
            f"has the columns {_listed(names)}; a table of edges needs two columns with the names "
            "of the nodes at both ends, and may have a column of weights"
        )
    return EdgeColumns(ends[0], ends[1], weight_column, relation_column)


def find_unnamed_columns(first_row: Sequence[str]) -> EdgeColumns:
    """Return the columns of a table without a header, from its first row.

    Raises
    ------
    ValueError
        If there are fewer than two or more than three columns, or if the third is no number.
    """
    if not 2 <= len(first_row) <= 3:
        raise ValueError(
            f"has {len(first_row)} column{'s' * (len(first_row) != 1)} in its first row, "
            f"{quoted(list(first_row))}; a list of edges has two names in each row, and may have a "
            "weight as a third column. If it has more, let its first row name them: source, "
            "target, weight"
        )
    if len(first_row) == 2 or first_row[2] == NO_ATTRIBUTES:
        return EdgeColumns(0, 1, None)
    if not is_number(first_row[2]):
        raise ValueError(
            f"has {quoted(first_row[2])} as the third column of its first row, which must be a "
            "number, the weight of the edge: leave out this column, or let the first row name the "
            "columns: source, target, weight"
        )
    return EdgeColumns(0, 1, 2)


def is_header(rows: Sequence[Sequence[str]], weight: str | None, relation: str | None) -> bool:
    """Return whether the first of several rows of a text consists of the columns' names.

    It does if `weight` or `relation` is set, or if the usual names of both ends are in it.
    Otherwise it has no numbers, but all other rows have them: integers at both ends, or a number in
    the third column.
    """
    names = [name.strip().lower() for name in rows[0]]
    if weight is not None or relation is not None:
        return True
    if any(pair[0] in names and pair[1] in names for pair in END_NAMES):
        return True
    other_rows = [row for row in rows[1:] if len(row) == len(names)]
    if len(names) < 2 or not other_rows or any(map(is_number, names)):
        return False
    have_integers = all(_INTEGER.fullmatch(cell.strip()) for row in other_rows for cell in row[:2])
    return have_integers or (len(names) > 2 and all(is_number(row[2]) for row in other_rows))


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number, or a value that is not finite."""
    text = text.strip()
    return bool(_NUMBER.fullmatch(text)) or text.lower().lstrip("+-") in ("nan", "inf", "infinity")


def _index(names: Sequence[str], name: str) -> int:
    """Return the index of the only column with a name."""
    if (n_columns := names.count(name)) != 1:
        raise ValueError(
            f"has {n_columns or 'no'} column{'s' * (n_columns > 1)} {quoted(name)}; its columns "
            f"are: {_listed(names)}"
        )
    return names.index(name)


def _listed(names: Sequence[str]) -> str:
    return quoted(list(names))
