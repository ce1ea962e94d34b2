"""An index of nearest neighbours: a graph of vectors, their keys, and checks for changes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.file_set import load_set
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.neighbours.index_files import read_index, write_index
from gensim_tfw2v.neighbours.neighbour_graph import TYPES, NeighbourGraph
from gensim_tfw2v.neighbours.row_search import RowSearch, scale_queries
from gensim_tfw2v.neighbours.vector_checksums import VectorChecksums
from gensim_tfw2v.options.kinds import OneOf, Whole
from gensim_tfw2v.processes.threads import usable_cores
from gensim_tfw2v.row_blocks import find_nonfinite_rows
from gensim_tfw2v.typed_words import has_key

if TYPE_CHECKING:
    import os

#: Number of elements of the vectors, V * D, up to which 64 candidates are enough: see
#: docs/index-of-neighbours.md.
MAX_FEW_ELEMENTS = 30_000_000

#: Number of queries that are searched at a time. Ctrl-C has no effect until their search is done.
QUERIES_AT_A_TIME = 256

_WHOLE = Whole(1, 1 << 16, exact=True)


class NeighbourIndex:
    """Index of the nearest neighbours of vectors, for gensim's ``most_similar(indexer=)``.

    A search compares the query with a small part of the vectors, and finds most of the nearest
    ones. Equal vectors are found together. Neighbours are ranked by their exact cosine if the index
    was built in this process, loaded with `vectors`, or is called by gensim's ``most_similar``;
    otherwise by the cosine of the stored type.

    An index can be pickled, copied, and saved as an attribute of a model.

    Parameters
    ----------
    vectors : KeyedVectors or model
        V vectors of D dimensions, which the index refers to. A model stands for its ``wv``.
    dtype : "int8", "bfloat16", "float32" or "binary", default "int8"
        Type in which the index stores vectors. With ``"binary"``, only the signs.
    connectivity : int, default 16
        Edges per vector, from 2 to 1,024.
    expansion_add : int, default 128
        Number of candidates that are kept while a vector is added, from 1 to 65,536. With more, the
        index is better, but takes longer to build.
    expansion_search : int, optional
        Number of candidates that are kept during a search, from 1 to 65,536. With more, a search
        finds more of the nearest neighbours, but takes longer. By default 64, or 384 if the vectors
        have more than 30 million elements, and 8 times as many with ``"binary"``.
    workers : int, optional
        Number of threads, from 1 to 65,536; by default one per core.
    progress : bool, optional
        Show a bar on stderr; by default on terminals and in notebooks.

    Raises
    ------
    ValueError, TypeError
        If an option is invalid, there are no vectors, or a vector is not finite.
    ImportError
        If USearch is missing.
    KeyboardInterrupt
        On Ctrl-C.

    Notes
    -----
    An index does not follow changes of its vectors. Searches raise a ValueError after further
    training, after gensim's methods have added or changed vectors, and when ``most_similar`` of
    different vectors calls the index. If code has written to elements of ``vectors.vectors``, the
    next search raises the error only if a changed row is a result, or a key of the query. The
    remaining rows are compared gradually, all of them within V / 8 searches. `check` compares all
    rows immediately.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> from gensim_tfw2v import TFWord2Vec
    >>> model = TFWord2Vec(common_texts, vector_size=20, min_count=1)
    >>> model.wv.most_similar("computer", topn=1, indexer=model.index())[0][0]
    'computer'
    """

    _vectors: KeyedVectors | None
    _checksums: VectorChecksums
    _graph: NeighbourGraph

    #: Rows of a subset, and for each row, [V], whether it is in the subset. None allows all rows.
    _allowed: tuple[np.ndarray, np.ndarray] | None = None

    def __init__(
        self,
        vectors: KeyedVectors,
        dtype: str = "int8",
        connectivity: int = 16,
        expansion_add: int = 128,
        expansion_search: int | None = None,
        workers: int | None = None,
        progress: bool | None = None,
    ) -> None:
        require("an index of neighbours", "usearch")
        vectors = _keyed_vectors(vectors)
        array = vectors.vectors
        OneOf(tuple(TYPES))("dtype", dtype)
        if expansion_search is None:
            expansion_search = 64 if array.size <= MAX_FEW_ELEMENTS else 384
            if dtype == "binary":
                expansion_search *= 8
        options = {
            "connectivity": Whole(2, 1 << 10, exact=True)("connectivity", connectivity),
            "expansion_add": _WHOLE("expansion_add", expansion_add),
            "expansion_search": _WHOLE("expansion_search", expansion_search),
        }
        n_threads = _count_threads(workers)
        _require_finite(vectors)
        self._vectors = vectors
        self._checksums = VectorChecksums.compute(vectors)
        self._graph = NeighbourGraph.build(array, dtype, n_threads, progress, **options)

    @property
    def keys(self) -> list[Any]:
        """Keys of the vectors, [V]."""
        return self._checksums.keys

    @property
    def dtype(self) -> str:
        """Type in which the index stores vectors."""
        return self._graph.dtype

    def most_similar(self, vector: np.ndarray, topn: int | None = 10) -> Any:
        """Find the keys of the nearest vectors.

        Parameters
        ----------
        vector : numpy.ndarray
            Query, [D].
        topn : int or None
            Number of keys. None returns all cosines, as gensim's method does.

        Returns
        -------
        list of (key, float), or numpy.ndarray
            Keys and cosines, the nearest first; all keys if there are fewer than `topn`. The key of
            the query itself is not left out. If `topn` is None, the cosines of all keys, [V], or of
            the keys of a `subset`, in the order of `keys`.

        Raises
        ------
        ValueError
            If `vector` does not have D finite elements; if the vectors have changed since the index
            was built; if ``most_similar`` of different vectors calls this method.
        """
        vectors, query_rows = _find_calling_vectors(sys._getframe(1))
        if vectors is None:
            vectors = self._vectors
        search = RowSearch(self._graph, self._allowed, vectors, n_threads=1)
        queries = scale_queries(np.asarray(vector)[None], self._graph.size)
        self._require_unchanged(vectors, query_rows, 1)
        if topn is None:
            return search.all_cosines(queries)[0]
        n_rows = min(operator.index(topn), search.n_allowed)
        if n_rows < 1:
            return []
        [(rows, cosines)] = search.find_nearest(queries, n_rows)
        row_list = rows.tolist()
        self._require_unchanged(vectors, row_list)
        keys = self._keys_of(vectors)
        return list(zip([keys[row] for row in row_list], cosines.tolist(), strict=True))

    def search(
        self, queries: np.ndarray, topn: int = 10, workers: int | None = None
    ) -> tuple[list[list[Any]], np.ndarray]:
        """Find the keys of the nearest vectors of many queries.

        Parameters
        ----------
        queries : numpy.ndarray
            Vectors, [n, D].
        topn : int
            Number of keys per query.
        workers : int, optional
            Number of threads; by default one per core.

        Returns
        -------
        keys : list of list
            Keys of each query, the nearest first, as by `most_similar`: n lists of `topn` keys, or
            of all if there are fewer.
        cosines : numpy.ndarray
            Cosines, of the same shape, float32.

        Raises
        ------
        ValueError
            If the queries do not have D finite elements each, or the vectors have changed since the
            index was built.
        """
        if np.asarray(queries).dtype.kind not in "fiub":
            raise TypeError(
                f"queries must be vectors, got {quoted(queries)}: search for the vectors of words, "
                "such as vectors[words]"
            )
        queries = scale_queries(np.asarray(queries), self._graph.size)
        vectors = self._vectors
        search = RowSearch(self._graph, self._allowed, vectors, _count_threads(workers))
        n_rows = max(0, min(operator.index(topn), search.n_allowed))
        all_keys = self._keys_of(vectors)
        keys: list[list[Any]] = []
        cosines = np.zeros((len(queries), n_rows), np.float32)
        if not n_rows:
            return [[] for _ in queries], cosines
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            part = queries[start : start + QUERIES_AT_A_TIME]
            self._require_unchanged(vectors, [], len(part))
            nearest = search.find_nearest(part, n_rows)
            self._require_unchanged(vectors, np.unique([rows for rows, _ in nearest]).tolist())
            cosines[start : start + len(part)] = [row_cosines for _, row_cosines in nearest]
            keys += [[all_keys[row] for row in rows.tolist()] for rows, _ in nearest]
        return keys, cosines

    def subset(self, keys: Iterable[Any] | Callable[[Any], bool]) -> NeighbourIndex:
        """Return an index that finds only some of the keys.

        The subset shares the vectors and the graph of this index, and can be passed to gensim as an
        `indexer`, too. A search finds `topn` keys, unless the subset has fewer. If the keys are
        few, or far from the query, the search compares all of them.

        Parameters
        ----------
        keys : iterable, or function (key) -> bool
            The keys to find, or a function that returns whether to find a key.

        Raises
        ------
        KeyError
            If a key is not in the index.
        """
        self._require_unchanged(self._vectors, [])
        all_keys = self._keys_of(self._vectors)
        is_allowed = np.zeros(len(all_keys), bool)
        if isinstance(keys, str):
            raise TypeError(f"keys must be a list or a function, got {quoted(keys)}")
        if callable(keys):
            is_allowed[:] = [bool(keys(key)) for key in all_keys]
        else:
            find_row = self._row_finder()
            for key in keys:
                row = find_row(key)
                if row is None:
                    raise KeyError(f"Key {quoted(key)} is not in the index")
                is_allowed[row] = True
        if self._allowed is not None:
            is_allowed &= self._allowed[1]
        subset = object.__new__(NeighbourIndex)
        subset.__dict__.update(self.__dict__)
        subset._allowed = np.flatnonzero(is_allowed), is_allowed
        return subset

    def check(self, vectors: KeyedVectors | None = None) -> None:
        """Compare all keys and vectors with those from which the index was built.

        Parameters
        ----------
        vectors : KeyedVectors or model, optional
            By default, the vectors that the index refers to.

        Raises
        ------
        ValueError
            If they differ.
        """
        vectors = self._vectors if vectors is None else _keyed_vectors(vectors)
        if vectors is None:
            raise ValueError("the index was loaded without vectors: pass those to compare with it")
        self._raise_if(self._checksums.find_difference(vectors), vectors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to two files, both or none: USearch's `path`, and the keys in ``path.json``.

        Raises
        ------
        TypeError
            If a key is neither a string nor an integer. Such an index can be pickled.
        ValueError
            If this is a `subset`, or `path` is not a path of files.
        OSError
            If the files cannot be written.
        """
        if self._allowed is not None:
            raise ValueError("a subset cannot be saved: save the whole index")
        write_index(Path(path), self._graph, self._checksums)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vectors: KeyedVectors | None = None
    ) -> NeighbourIndex:
        """Load an index that `save` has saved; its graph is mapped into memory.

        Load only files you trust: accidental damage is found, but USearch does not check the graph.

        Parameters
        ----------
        path : str or path
            USearch's file; the other file must be next to it.
        vectors : KeyedVectors or model, optional
            The vectors that the index was built from, for exact cosines.

        Raises
        ------
        OSError
            If one of the two files cannot be read.
        ValueError
            If a file is damaged, or the index was built from other vectors.
        """
        require("an index of neighbours", "usearch")
        index = object.__new__(cls)
        index._vectors = None if vectors is None else _keyed_vectors(vectors)
        index._graph, index._checksums = load_set(Path(path), lambda: read_index(Path(path)))
        if index._vectors is None:
            return index
        difference = index._checksums.find_difference(index._vectors)
        if difference:
            raise ValueError(
                f"{path}: is an index of other vectors: {difference}; build one of these, with: "
                "tfw2v index"
            )
        return index

    def _keys_of(self, vectors: KeyedVectors | None) -> list[Any]:
        """Return the keys of vectors, or those of the index without vectors.

        An integer among the keys of vectors may be text in the index's files.
        """
        return self.keys if vectors is None else vectors.index_to_key

    def _row_finder(self) -> Callable[[Any], int | None]:
        """Return a function that returns the row of a key, or None for an unknown key."""
        vectors = self._vectors
        if vectors is None:
            return {key: row for row, key in enumerate(self.keys)}.get
        return lambda key: vectors.get_index(key) if has_key(vectors, key) else None

    def _require_unchanged(
        self, vectors: KeyedVectors | None, rows: list[int], n_uses: int = 0
    ) -> None:
        """Raise a ValueError if `VectorChecksums.find_change` finds a change of vectors."""
        if vectors is not None:
            self._raise_if(self._checksums.find_change(vectors, rows, n_uses), vectors)

    def _raise_if(self, difference: str, vectors: KeyedVectors) -> None:
        """Raise a ValueError with a difference between `vectors` and the index, unless it is ""."""
        if difference and vectors is self._vectors:
            raise ValueError(
                f"the vectors have changed since the index was built: {difference}; build it again"
            )
        if difference:
            raise ValueError(
                f"this is an index of other vectors: {difference}; build one of these, or find "
                "neighbours in the others by: index.most_similar(vector)"
            )


def _keyed_vectors(vectors: Any) -> KeyedVectors:
    """Return `vectors`, if they are KeyedVectors, or the ``wv`` of a model."""
    keyed_vectors = getattr(vectors, "wv", vectors)
    if not isinstance(keyed_vectors, KeyedVectors):
        raise TypeError(
            f"vectors must be gensim's KeyedVectors or a model with wv, got "
            f"{type(vectors).__name__}"
        )
    return keyed_vectors


def _require_finite(vectors: KeyedVectors) -> None:
    """Raise if there are no vectors, or if a vector has NaN or infinite elements."""
    if not len(vectors):
        raise ValueError("an index needs at least one vector")
    if len(vectors.vectors) != len(vectors):
        raise ValueError(f"{len(vectors):,} keys have {len(vectors.vectors):,} vectors")
    bad_rows = find_nonfinite_rows(vectors.vectors)
    if len(bad_rows):
        key = vectors.index_to_key[bad_rows[0]]
        raise ValueError(
            f"the vector of {quoted(key)} has NaN or infinite elements; an index needs finite "
            "vectors"
        )


def _count_threads(workers: int | None) -> int:
    """Return `workers` as a checked number of threads; by default one per core."""
    return len(usable_cores()) if workers is None else _WHOLE("workers", workers)


def _find_calling_vectors(frame: FrameType) -> tuple[KeyedVectors | None, list[int]]:
    """Return the KeyedVectors whose ``most_similar`` runs in a frame, and the rows of its keys.

    gensim's method passes only a vector to an indexer, so the index looks at the method's local
    variables to find the vectors and keys of the query. Returns (None, []) for any other caller.
    """
    if frame.f_code.co_name == "most_similar":
        caller = frame.f_locals.get("self")
        if isinstance(caller, KeyedVectors):
            return caller, frame.f_locals.get("all_keys", [])
    return None, []
