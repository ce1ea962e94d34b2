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
    order = np.argsort(checksums, kind="stable")
    sorted_checksums = checksums[order]
    # places in the order of the rows whose checksum equals that of an earlier row
    later_places = np.flatnonzero(sorted_checksums[1:] == sorted_checksums[:-1]) + 1
    # The places of equal checksums are consecutive, after the place of the first of these rows.
    starts_group = np.diff(later_places, prepend=-1) != 1
    first_places = later_places[starts_group] - 1
    first_rows = order[first_places[np.cumsum(starts_group) - 1]]
    later_rows = order[later_places]
    by_row = np.argsort(later_rows)
    first_rows, later_rows = first_rows[by_row], later_rows[by_row]
    groups: dict[int, list[int]] = {}
    for start in range(0, len(later_rows), ROWS_PER_COMPARISON):
        part = slice(start, start + ROWS_PER_COMPARISON)
        are_equal = (read_rows(later_rows[part]) == read_rows(first_rows[part])).all(axis=1)
        row_pairs = zip(first_rows[part][are_equal], later_rows[part][are_equal], strict=True)
        for first_row, row in row_pairs:
            groups.setdefault(int(first_row), []).append(int(row))
    return groups
