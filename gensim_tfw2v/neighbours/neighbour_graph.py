"""A graph of vectors, in which neighbours are near each other, built and searched by USearch.

Malkov and Yashunin 2020, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs" (section 4: building and searching; M, efConstruction and
ef are `connectivity`, `expansion_add` and `expansion_search`).
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.neighbours.equal_rows import group_equal_rows
from gensim_tfw2v.neighbours.vector_checksums import row_checksums
from gensim_tfw2v.processes.threads import defer_interrupts

if TYPE_CHECKING:
    from usearch.index import Index

#: USearch's names of the types in which it stores vectors.
TYPES = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "binary": "b1"}

#: Minimum divisor in place of a vector's largest element, so that zero vectors remain zero vectors.
MIN_DIVISOR = np.float32(1e-36)

#: Number of rows that are added at a time. Ctrl-C has no effect until they are added.
ROWS_AT_A_TIME = 1024

#: Number of nodes that one thread adds before all threads add the remaining nodes. While a graph is
#: small, a node that is added concurrently with others may get no edge from any of them. Then no
#: search finds it. Two threads from the start lose 5 of 5,000 random vectors, and 10 of 60,000;
#: with these nodes first, none and 1 to 4. The first rows are also the most frequent words.
N_SERIAL_NODES = 1 << 13


class NeighbourGraph:
    """Graph of V vectors of D dimensions.

    Equal vectors are one node. As separate nodes, they would use up all of their edges for each
    other, so a search would miss nodes with different vectors.

    Parameters
    ----------
    dtype : {"int8", "bfloat16", "float32", "binary"}
        Type of the stored vectors.
    index : usearch.index.Index
        Nodes and edges. The key of a node is the first row of its vector.
    equal_rows : dict of int to list of int
        For each node of several equal vectors, the rows of these vectors except the first,
        ascending.
    data : bytes or numpy.ndarray, optional
        Memory of the index, if the index does not own it. USearch keeps no reference to the memory,
        so the graph keeps one.
    """

    def __init__(
        self, dtype: str, index: Index, equal_rows: dict[int, list[int]], data: Any = None
    ) -> None:
        self.dtype = dtype
        self._index = index
        self._data = data
        self.size: int = index.ndim  # number of dimensions, D
        self.equal_rows = equal_rows
        self.n_nodes = len(index)
        self.n_rows = self.n_nodes + sum(len(rows) for rows in equal_rows.values())

    @classmethod
    def build(
        cls,
        array: np.ndarray,
        dtype: str,
        n_threads: int,
        progress: bool | None,
        **usearch_options: int,
    ) -> NeighbourGraph:
        """Build a graph of finite vectors, [V, D], and raise KeyboardInterrupt on Ctrl-C."""
        from usearch.index import Index

        index = Index(
            ndim=array.shape[1],
            metric="hamming" if dtype == "binary" else "cos",
            dtype=TYPES[dtype],
            **usearch_options,
        )

        def read_rows(rows: np.ndarray) -> np.ndarray:
            return encode(array[rows], dtype)

        parts = _split(np.arange(len(array)))
        checksums = np.concatenate([np.array(row_checksums(read_rows(part))) for part in parts])
        equal_rows = group_equal_rows(checksums, read_rows)
        is_node = np.ones(len(array), bool)
        for rows in equal_rows.values():
            is_node[rows] = False
        nodes = np.flatnonzero(is_node)
        with progress_bar("building an index", progress, total=len(nodes), unit=" words") as bar:
            first_nodes, other_nodes = nodes[:N_SERIAL_NODES], nodes[N_SERIAL_NODES:]
            for part_nodes, threads in (first_nodes, 1), (other_nodes, n_threads):
                for part in _split(part_nodes):
                    codes = read_rows(part)
                    # on Ctrl-C, USearch would raise a RuntimeError or abort the process
                    with defer_interrupts():
                        index.add(part, codes, threads=threads)
                    bar.update(len(part))
        return cls(dtype, index, equal_rows)

    @classmethod
    def restore(
        cls,
        data: Any,
        dtype: str,
        expansion_search: int,
        equal_rows: dict[int, list[int]],
        view: bool = False,
    ) -> NeighbourGraph:
        """Restore a graph from the result of `to_bytes`; with `view`, without copying it."""
        from usearch.index import Index

        index = Index.restore(data, view=view)
        if index is None:
            raise ValueError("is no file of USearch")
        index.expansion_search = expansion_search
        return cls(dtype, index, equal_rows, data if view else None)

    def to_bytes(self) -> bytes:
        """Return the content of USearch's file of the nodes and edges."""
        return bytes(self._index.save())

    def write(self, path: str) -> None:
        """Write USearch's file of the nodes and edges; raise an OSError if that fails."""
        n_bytes = self._index.serialized_length
        n_free_bytes = shutil.disk_usage(os.path.dirname(path)).free
        if n_free_bytes < n_bytes:
            sizes = f"it needs {n_bytes / 1e6:,.1f} MB, {n_free_bytes / 1e6:,.1f} MB are free"
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {sizes}", path)
        try:
            path.encode()
        except UnicodeEncodeError:  # USearch accepts only paths that are UTF-8
            Path(path).write_bytes(self._index.save())
            return
        try:
            self._index.save(path)
        except RuntimeError as error:  # USearch's only error, without a reason
            raise OSError(errno.EIO, f"cannot be written ({error})", path) from error

    def __reduce__(self) -> Any:
        """Pickle and copy the graph as USearch's file."""
        state = self.to_bytes(), self.dtype, self.expansion_search, self.equal_rows
        return NeighbourGraph.restore, state

    @property
    def expansion_search(self) -> int:
        """Minimum number of candidates that a search keeps."""
        return self._index.expansion_search

    def search(
        self, queries: np.ndarray, n_candidates: int, n_threads: int, exact: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find rows near queries.

        Parameters
        ----------
        queries : numpy.ndarray
            Finite vectors, [n, D].
        n_candidates : int
            Number of rows per query, C.
        n_threads : int
            Number of threads.
        exact : bool
            Compare all nodes, instead of following edges.

        Returns
        -------
        rows : numpy.ndarray
            Rows, [n, min(C, V)], the nearest first.
        distances : numpy.ndarray
            USearch's distances of the stored vectors, of the same shape.
        """
        n_nodes = min(n_candidates, self.n_nodes)
        codes = encode(queries, self.dtype)
        matches = self._search(codes, n_nodes, n_threads, exact)
        if matches is None:  # the search by edges has reached too few nodes
            matches = self._search(codes, n_nodes, n_threads, exact=True)
        rows = matches.keys.reshape(len(queries), n_nodes).astype(np.int64)
        distances = matches.distances.reshape(rows.shape)
        if self.equal_rows:
            return self._expand(rows, distances, min(n_candidates, self.n_rows))
        return rows, distances

    def _search(self, codes: np.ndarray, n_nodes: int, n_threads: int, exact: bool) -> Any:
        """Return USearch's matches; None if there are fewer than `n_nodes` for a query."""
        try:
            if n_threads == 1:  # deferring interrupts takes several percent of a query's time
                matches = self._index.search(codes, n_nodes, threads=1, exact=exact)
            else:
                with defer_interrupts():
                    matches = self._index.search(codes, n_nodes, threads=n_threads, exact=exact)
        except RuntimeError as error:
            if "terminated" in str(error):  # USearch replaces the exception of a signal's handler
                raise KeyboardInterrupt from error
            raise
        # the result of a single query has no counts
        n_matches = len(matches.keys) if len(codes) == 1 else matches.counts.min()
        return matches if n_matches == n_nodes else None

    def cosines(self, query: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Return the cosines of a query, [D], and stored vectors, from their distances.

        The cosines are estimates if `dtype` is binary, and 0 if the query is a zero vector.
        """
        if not query.any():
            return np.zeros_like(distances)
        if self.dtype == "binary":
            # The fraction of signs that differ estimates the angle of two vectors (Charikar 2002,
            # "Similarity Estimation Techniques from Rounding Algorithms", section 3).
            return np.cos(np.pi / self.size * distances)
        return 1 - distances

    def _expand(
        self, nodes: np.ndarray, distances: np.ndarray, n_rows: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Replace nodes by all rows of their vectors, and keep the first `n_rows` per query."""
        rows = np.empty((len(nodes), n_rows), np.int64)
        row_distances = np.empty((len(nodes), n_rows), distances.dtype)
        for query, node_list in enumerate(nodes.tolist()):
            start = 0
            for node, distance in zip(node_list, distances[query], strict=True):
                group = [node, *self.equal_rows.get(node, ())[:n_rows]][: n_rows - start]
                end = start + len(group)
                rows[query, start:end] = group
                row_distances[query, start:end] = distance
                start = end
        return rows, row_distances


def encode(rows: np.ndarray, dtype: str) -> np.ndarray:
    """Return vectors, [..., D], in the form that USearch stores. Their lengths are lost."""
    if dtype == "binary":
        return np.packbits(rows > 0, axis=-1)
    max_elements = np.abs(rows).max(axis=-1, keepdims=True)
    if dtype == "int8":
        # scaled to ±127 here: USearch would divide by the row's length, so that most of the 8 bits
        # would be unused
        return np.rint(rows * (127 / np.maximum(max_elements, MIN_DIVISOR))).astype(np.int8)
    # scaling by powers of 2 keeps USearch's sums of squares from overflowing
    scaled = np.ldexp(rows, -np.frexp(max_elements)[1]).astype(np.float32, copy=False)
    return scaled + np.float32(0)  # turns -0 into 0, so that all zero vectors are equal


def _split(rows: np.ndarray) -> list[np.ndarray]:
    """Split the indices of rows into parts of at most `ROWS_AT_A_TIME`; no rows have no parts."""
    return np.array_split(rows, 1 + len(rows) // ROWS_AT_A_TIME) if len(rows) else []
