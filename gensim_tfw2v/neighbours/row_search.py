"""Search for the rows of vectors that are nearest to queries: by a graph, or by comparing all rows.

The graph finds candidates. They are ranked by the exact cosines if the vectors are available, or
otherwise by the cosines of the types that the graph stores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gensim_tfw2v.neighbours.neighbour_graph import NeighbourGraph
from gensim_tfw2v.row_blocks import row_blocks

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

#: Maximum number of cosines that are in memory when all vectors are compared.
COSINES_AT_A_TIME = 1 << 24

#: Number of vectors that a search of the graph compares per candidate. A search that would compare
#: more vectors than exist compares all of them instead.
COMPARISONS_PER_CANDIDATE = 16

#: Divisor in place of the length of a zero vector.
MIN_LENGTH = 1e-100


@dataclass(frozen=True)
class RowSearch:
    """Search for the rows nearest to queries.

    Attributes
    ----------
    graph : NeighbourGraph
        Graph of V vectors of D dimensions.
    allowed : (numpy.ndarray, numpy.ndarray) or None
        Rows that may be found, and for each row, [V], whether it may be found. None allows all.
    vectors : KeyedVectors or None
        Vectors from which exact cosines are computed.
    n_threads : int
        Number of threads that search the graph.
    """

    graph: NeighbourGraph
    allowed: tuple[np.ndarray, np.ndarray] | None
    vectors: KeyedVectors | None
    n_threads: int

    @property
    def n_allowed(self) -> int:
        """Number of rows that may be found."""
        return self.graph.n_rows if self.allowed is None else len(self.allowed[0])

    def find_nearest(self, queries: np.ndarray, n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the `n_rows` nearest rows of each query and their cosines, the nearest first.

        `queries` are unit vectors, [n, D].
        """
        n_ranked = 2 * n_rows
        # signs rank vectors only roughly, so more of the candidates are ranked by their cosines
        if self.graph.dtype == "binary":
            n_ranked = max(n_ranked, self.graph.expansion_search)
        n_candidates = n_ranked
        n_compared = self.graph.n_rows
        if self.allowed is not None:
            n_candidates = 2 * n_ranked * self.graph.n_rows // self.n_allowed
            if self.vectors is not None:
                n_compared = self.n_allowed
        if n_candidates * COMPARISONS_PER_CANDIDATE >= n_compared:
            return self._compare_all(queries, n_rows)
        candidates, distances = self.graph.search(queries, n_candidates, self.n_threads)
        results = []
        for query, rows, row_distances in zip(queries, candidates, distances, strict=True):
            if self.allowed is not None:
                is_allowed = self.allowed[1][rows]
                rows = rows[is_allowed][:n_ranked]
                row_distances = row_distances[is_allowed]
                if len(rows) < n_rows:
                    results += self._compare_all(query[None], n_rows)
                    continue
            if self.vectors is None:
                cosines = self.graph.cosines(query, row_distances[: len(rows)])
            else:
                exact = self.vectors.vectors[rows].astype(np.float64)
                cosines = (exact @ query / lengths(exact)).astype(np.float32)
            results.append(_select_largest(rows, cosines, n_rows))
        return results

    def _compare_all(self, queries: np.ndarray, n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the nearest rows of each query and their cosines, without the graph."""
        results = []
        n_parts = 1 + len(queries) * self.n_allowed // COSINES_AT_A_TIME
        for part in np.array_split(queries, min(n_parts, len(queries))):
            for cosines in self.all_cosines(part):
                columns = np.arange(len(cosines))
                if n_rows < len(cosines):
                    # sorted, so that equal cosines remain in the order of rows
                    columns = np.sort(np.argpartition(-cosines, n_rows - 1)[:n_rows])
                rows = columns if self.allowed is None else self.allowed[0][columns]
                results.append(_select_largest(rows, cosines[columns], n_rows))
        return results

    def all_cosines(self, queries: np.ndarray) -> np.ndarray:
        """Return the cosines of unit queries, [n, D], and all allowed rows: [n, n_allowed]."""
        n_all = self.graph.n_rows
        rows = None if self.allowed is None else self.allowed[0]
        if self.vectors is None:
            nearest, distances = self.graph.search(queries, n_all, self.n_threads, exact=True)
            cosines = np.empty(nearest.shape, np.float32)
            for index, query in enumerate(queries):
                cosines[index, nearest[index]] = self.graph.cosines(query, distances[index])
            return cosines if rows is None else cosines[:, rows]
        all_rows = self.vectors.vectors
        cosines = np.empty((len(queries), self.n_allowed), np.float32)
        for block in row_blocks(all_rows, self.n_allowed):
            exact = all_rows[block if rows is None else rows[block]].astype(np.float64)
            cosines[:, block] = queries @ exact.T / lengths(exact)
        return cosines


def scale_queries(queries: np.ndarray, n_dimensions: int) -> np.ndarray:
    """Return queries, [n, D], divided by their lengths.

    Raises
    ------
    ValueError
        If the queries are not vectors of D finite elements.
    """
    if queries.ndim != 2 or queries.shape[1] != n_dimensions:
        shape = queries.shape[1:] if len(queries) == 1 else queries.shape
        raise ValueError(f"the query has shape {shape}, the index needs ({n_dimensions},) for each")
    queries = queries.astype(np.float64)
    query_lengths = lengths(queries)
    if not all(math.isfinite(length) for length in query_lengths.tolist()):
        raise ValueError(
            "a query has NaN or infinite elements; gensim makes NaN of a word whose vector is all 0"
        )
    return queries / query_lengths[:, None]


def lengths(rows: np.ndarray) -> np.ndarray:
    """Return the lengths of vectors, [..., D], for use as divisors.

    The vectors must be float64, because squares may overflow in float32. For zero vectors, the
    result is positive, so that their cosines are 0.
    """
    return np.maximum(np.sqrt(np.einsum("...d,...d->...", rows, rows)), MIN_LENGTH)


def _select_largest(
    rows: np.ndarray, cosines: np.ndarray, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with the largest cosines, and their cosines, the largest first."""
    order = np.argsort(-cosines, kind="stable")[:n_rows]
    return rows[order], cosines[order]
