"""Groups of equal rows of an array."""

from collections.abc import Callable

import numpy as np

#: Number of rows that are compared at a time.
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
        Returns the elements of rows, by their indices.

    Returns
    -------
    dict of int to list of int
        Groups of two or more equal rows: the first row of each group, and a list of its later rows,
        ascending. A row whose checksum equals that of a different row by chance is in no group.
    """
    _, first_indices, inverse = np.unique(checksums, return_index=True, return_inverse=True)
    first_rows = first_indices[inverse.reshape(-1)]  # [V] first row with the same checksum
    later_rows = np.flatnonzero(first_rows != np.arange(len(checksums)))
    groups: dict[int, list[int]] = {}
    for start in range(0, len(later_rows), ROWS_PER_COMPARISON):
        rows = later_rows[start : start + ROWS_PER_COMPARISON]
        are_equal = (read_rows(rows) == read_rows(first_rows[rows])).all(axis=1)
        for row in rows[are_equal].tolist():
            groups.setdefault(int(first_rows[row]), []).append(row)
    return groups
