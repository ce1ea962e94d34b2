"""Ranges of entries of an encoded corpus: joining them, and finding the gaps between them."""

from collections.abc import Iterable, Sequence

#: Index of a first entry, and the index behind a last one, counted over all shards.
EntryRange = tuple[int, int]


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
