"""Ranges of entries of an encoded corpus: joining, gaps, and cutting into units."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

#: Index of a first entry, and the index behind a last one, counted over all shards.
EntryRange = tuple[int, int]


class Stops(Protocol):
    """Sorted indices, such as those behind the ends of sentences: an array, or a similar object."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...


def join_ranges(ranges: Iterable[EntryRange]) -> list[EntryRange]:
    """Sort ranges, and join those that touch or overlap.

    >>> join_ranges([(7, 9), (0, 3), (3, 5)])
    [(0, 5), (7, 9)]
    """
    joined: list[EntryRange] = []
    for start, stop in sorted(ranges):
        if joined and start <= joined[-1][1]:
            first, last = joined[-1]
            joined[-1] = first, max(last, stop)
        else:
            joined.append((start, stop))
    return joined


def gaps_between(ranges: Sequence[EntryRange], start: int, stop: int) -> list[EntryRange]:
    """Return the parts of [start, stop) that are in none of the ranges, a result of `join_ranges`.

    >>> gaps_between([(0, 5), (7, 9)], 4, 12)
    [(5, 7), (9, 12)]
    """
    gaps: list[EntryRange] = []
    for first, last in ranges:
        if start < first:
            gaps.append((start, min(first, stop)))
        start = max(start, last)
        if start >= stop:
            return gaps
    return [*gaps, (start, stop)]


def unit_edges(
    sentence_stops: Stops, last: int, size: int, whole: bool = False, first: int = 0
) -> list[int]:
    """Return the indices at which the entries [first, last) of a shard are cut into units.

    Units are about equal and have at most `size` entries. A cut is moved back to the end of a
    sentence unless that would halve the unit. With `whole`, every cut is at the end of a sentence.
    If none ends within a unit, the unit extends to the next end, and may be longer than `size`.
    """
    edges = [first]
    while (start := edges[-1]) < last:
        n_units = -(-(last - start) // size)
        stop = start + -(-(last - start) // n_units)
        n_stops = bisect_right(sentence_stops, stop)
        last_stop = int(sentence_stops[n_stops - 1]) if n_stops else 0
        if last_stop - start > (0 if whole else (stop - start) // 2):
            stop = last_stop
        elif whole:
            stop = int(sentence_stops[n_stops])
        edges.append(stop)
    return edges


def shares(total: int, edges: list[int], end: int | None = None) -> list[int]:
    """Split an integer in proportion to the gaps between edges.

    The integer belongs to the range [0, end), by default up to the last edge. If the edges cover
    that range, the parts add up to the integer, wherever the edges between are.

    >>> shares(10, [0, 1, 2, 3])
    [3, 3, 4]
    >>> shares(10, [1, 3], 3)
    [7]
    """
    end = edges[-1] if end is None else end
    cumulative_shares = [total * edge // max(end, 1) for edge in edges]
    return [stop - start for start, stop in pairwise(cumulative_shares)]
