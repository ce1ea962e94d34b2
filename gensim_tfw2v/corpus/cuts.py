"""Where a corpus is cut, and how whole numbers are shared out among the pieces."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def unit_edges(ends: NDArray[np.int64], entries: int, size: int) -> list[int]:
    """Cut a shard into units of about equal size.

    Parameters
    ----------
    ends : int64 array, [sentences]
        Where the sentences of the shard end.
    entries : int
        In the shard.
    size : int
        Entries in a unit, at most. A cut is moved back to the end of a sentence, unless that
        would halve the unit.

    Returns
    -------
    list of int
        0, …, entries.
    """
    edges = [0]
    while (start := edges[-1]) < entries:
        units = -(-(entries - start) // size)
        stop = start + -(-(entries - start) // units)
        last = int(np.searchsorted(ends, stop, "right")) - 1
        if last >= 0 and ends[last] - start > (stop - start) // 2:
            stop = int(ends[last])
        edges.append(stop)
    return edges


def shares(total: int, edges: list[int]) -> Iterator[int]:
    """Share a whole number out in proportion to the gaps between edges; the shares add up to it.

    >>> list(shares(10, [0, 1, 2, 3]))
    [3, 3, 4]
    """
    whole = max(edges[-1], 1)
    for start, stop in pairwise(edges):
        yield total * stop // whole - total * start // whole
