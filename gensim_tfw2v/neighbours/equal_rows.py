"""Groups of equal rows of an array."""

from collections.abc import Callable

import numpy as np

#: Rows compared at a time.
ROWS_PER_COMPARISON = 1 << 14


def group_equal_rows(
    checksums: np.ndarray, read_rows: Callable[[np.ndarray], np.ndarray]
) -> dict[int, list[int]]:
    """Group the rows of an array that have the same elements.

    Parameters
    ----------
    checksums : numpy.ndarray
        Checksum of each row, [V].
    read_rows : function (numpy.ndarray [n]) -> numpy.ndarray [n, D]
        Returns the rows of these numbers.

    Returns
    -------
    dict of int to list of int
        The first row of each group of two or more, and the later ones, ascending. A row whose
        checksum equals that of a different row by chance is in no group.
    """
    _, first, groups = np.unique(checksums, return_index=True, return_inverse=True)
    first_rows = first[groups.reshape(-1)]
    later = np.flatnonzero(first_rows != np.arange(len(checksums)))
    equal: dict[int, list[int]] = {}
    for start in range(0, len(later), ROWS_PER_COMPARISON):
        rows = later[start : start + ROWS_PER_COMPARISON]
        are_equal = (read_rows(rows) == read_rows(first_rows[rows])).all(axis=1)
        for row in rows[are_equal].tolist():
            equal.setdefault(int(first_rows[row]), []).append(row)
    return equal
