"""An index of nearest neighbours: a graph of vectors, built and searched by USearch.

Malkov and Yashunin 2020, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs" (section 4: building and searching; M, efConstruction and
ef are `connectivity`, `expansion_add` and `expansion_search`).
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.messages import quoted, require, strict_json
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.options.kinds import Choice, Whole
from gensim_tfw2v.processes.threads import defer_interrupts, usable_cores

if TYPE_CHECKING:
    import os

    from gensim.models import KeyedVectors

#: USearch's names of the types.
TYPES = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "binary": "b1"}

#: Elements of the vectors, V * D, up to which 64 candidates are enough; docs/index-of-neighbours.md
#: has sizes below and above.
FEW_NUMBERS = 30_000_000

#: Divisors are at least this, so that a vector of zeros has cosines of 0.
LEAST = np.float32(1e-30)

#: Rows that are added at a time; interrupts are deferred meanwhile.
ROWS_AT_A_TIME = 1024

_WHOLE = Whole(1, 1 << 16, exact=True)


class NeighbourIndex:
    """Index of the nearest neighbours of vectors, for gensim's ``most_similar(indexer=)``.

    A search compares the query with a small part of the vectors, and finds most of the nearest
    ones. Found vectors are ranked by their exact cosine if the index was built in this process, or
    loaded with `vectors`; otherwise by the cosine of the stored type. The index does not follow
    later changes of the vectors.

    Parameters
    ----------
    vectors : KeyedVectors
        V vectors of D dimensions, which the index refers to.
    dtype : {"int8", "bfloat16", "float32", "binary"}
        Type in which the index stores vectors. With ``"binary"``, only the signs.
    connectivity : int
        Edges per vector, from 2 up.
    expansion_add, expansion_search : int, optional
        Candidates that adding a vector, and a search, keep. More find more of the nearest
        neighbours, in more time. A search keeps 64 by default, 384 if the vectors have more than 30
        million elements, and 8 times as many with ``"binary"``.
    workers : int, optional
        Number of threads; by default one per core.
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

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> from gensim_tfw2v import TFWord2Vec
    >>> model = TFWord2Vec(common_texts, vector_size=20, min_count=1)
    >>> model.wv.most_similar("computer", topn=1, indexer=model.index())[0][0]
    'computer'
    """

    _data: np.ndarray  # the mapped file, which USearch refers to
    _vectors: KeyedVectors | None

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
        from usearch.index import Index

        Choice(tuple(TYPES))("dtype", dtype)
        _WHOLE("expansion_add", expansion_add)
        if expansion_search is None:
            expansion_search = 64 if vectors.vectors.size <= FEW_NUMBERS else 384
            expansion_search *= 8 if dtype == "binary" else 1
        _WHOLE("expansion_search", expansion_search)
        Whole(2, 1 << 10, exact=True)("connectivity", connectivity)
        threads = len(usable_cores()) if workers is None else _WHOLE("workers", workers)
        if not len(vectors) or not np.isfinite(vectors.vectors).all():
            raise ValueError("an index needs at least one vector, and finite vectors")
        self.dtype = dtype
        self._index = Index(
            ndim=vectors.vector_size,
            metric="hamming" if dtype == "binary" else "cos",
            dtype=TYPES[dtype],
            connectivity=connectivity,
            expansion_add=expansion_add,
            expansion_search=expansion_search,
        )
        self.keys = list(vectors.index_to_key)
        self._vectors = vectors
        self._checksum = _sum_of(vectors)
        numbers = np.arange(len(vectors))
        parts = np.array_split(numbers, 1 + len(numbers) // ROWS_AT_A_TIME)
        with progress_bar("building an index", progress, total=len(numbers), unit=" words") as bar:
            for part in parts:
                rows = self._coded(vectors.vectors[part])
                # USearch would end with a RuntimeError on Ctrl-C, or abort the process
                with defer_interrupts():
                    self._index.add(part, rows, threads=threads)
                bar.update(len(part))

    def most_similar(self, vector: np.ndarray, topn: int = 10) -> list[tuple[Any, float]]:
        """Find the keys of the nearest vectors.

        Parameters
        ----------
        vector : numpy.ndarray
            Query, [D].
        topn : int
            Number of keys.

        Returns
        -------
        list of (key, float)
            Keys and cosines, the nearest first. The key of the query itself is not left out.

        Raises
        ------
        ValueError
            If `vector` does not have D elements.
        """
        query = np.asarray(vector, np.float32)
        size = self._index.ndim
        if query.shape != (size,):
            raise ValueError(f"the query has shape {query.shape}, the index needs ({size},)")
        # signs rank so roughly that all candidates are ranked again
        wanted = max(2 * topn, self._index.expansion_search if self.dtype == "binary" else 0)
        found = self._index.search(self._coded(query), min(wanted, len(self.keys)), threads=1)
        rows = found.keys.astype(np.int64)
        if self._vectors is not None:
            exact = self._vectors.vectors[rows]
            lengths = np.linalg.norm(exact, axis=1) * np.linalg.norm(query)
            cosines = exact @ query / np.maximum(lengths, LEAST)
        elif self.dtype == "binary":
            # the expected angle of two vectors, if this share of signs differs (Charikar 2002,
            # "Similarity Estimation Techniques from Rounding Algorithms", section 3)
            cosines = np.cos(np.pi / size * found.distances)
        else:
            cosines = 1 - found.distances
        nearest = np.argsort(-cosines, kind="stable")[:topn]
        return [(self.keys[rows[place]], float(cosines[place])) for place in nearest]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to two files, both or none: USearch's `path`, and the keys in ``path.json``."""
        data = self._index.save()
        keys = [key if isinstance(key, str) else int(key) for key in self.keys]
        header: dict[str, Any] = {
            "dtype": self.dtype,
            "expansion_search": self._index.expansion_search,
            "vectors": self._checksum,
            "keys": keys,
        }
        header["checksum"] = _checksum(data, header)

        def write(to: Any) -> None:
            if not isinstance(to, str):
                raise ValueError(f"{path}: is no file; an index is two files, {path} and .json")
            Path(to).write_bytes(data)
            Path(f"{to}.json").write_text(json.dumps(header), "utf-8")

        save_atomically(Path(path), write)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vectors: KeyedVectors | None = None
    ) -> NeighbourIndex:
        """Load what `save` has saved; the file is mapped into memory.

        Load only files you trust: accidental damage is found, but USearch does not check the graph.

        Parameters
        ----------
        path : str or path
            USearch's file; the other file must be next to it.
        vectors : KeyedVectors, optional
            The vectors that the index was built from, for exact cosines.

        Raises
        ------
        OSError
            If one of the two files cannot be read.
        ValueError
            If a file is damaged, or the index was built from other vectors.
        """
        require("an index of neighbours", "usearch")
        from usearch.index import Index

        text = Path(f"{path}.json").read_bytes()
        made = object.__new__(cls)
        try:
            made._data = np.memmap(path, np.uint8, "r")
            header = strict_json(text)
            if header.pop("checksum") != _checksum(made._data, header):
                raise ValueError("a checksum differs")
            made._index = Index.restore(made._data, view=True)
            made._index.expansion_search = header["expansion_search"]
            made.dtype = header["dtype"]
            made._checksum = header["vectors"]
            made.keys = header["keys"]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"{path}: is damaged, or not an index with its {path}.json ({error}); build it "
                "again, with: tfw2v index"
            ) from error
        if vectors is not None and (wrong := made._difference(vectors)):
            raise ValueError(
                f"{path}: is an index of other vectors: {wrong}; build one of these, with: tfw2v "
                "index"
            )
        made._vectors = vectors
        return made

    def _coded(self, rows: np.ndarray) -> np.ndarray:
        """Return vectors, [..., D], as USearch takes them."""
        if self.dtype == "binary":
            return np.packbits(rows > 0, axis=-1)
        if self.dtype != "int8":
            return rows
        # a scale for each row, which cosines do not depend on: USearch's own scale is the row's
        # length, which leaves most of the 8 bits unused
        largest = np.abs(rows).max(axis=-1, keepdims=True)
        return np.rint(rows * (127 / np.maximum(largest, LEAST))).astype(np.int8)

    def _difference(self, vectors: KeyedVectors) -> str:
        """Describe how vectors differ from those of the index; empty if they are equal."""
        sizes = (len(self.keys), self._index.ndim), (len(vectors), vectors.vector_size)
        for have, given, what in zip(*sizes, ("words", "dimensions"), strict=True):
            if have != given:
                return f"it has {have:,} {what}, expected {given:,}"
        pairs = zip(self.keys, vectors.index_to_key, strict=True)
        for number, (have, given) in enumerate(pairs, 1):
            if have != given and str(have) != str(given):  # tags may be numbers or their text
                return f"its word {number:,} is {quoted(have)}, expected {quoted(given)}"
        is_same = self._checksum == _sum_of(vectors)
        return "" if is_same else "the words are the same, but not their vectors"


def _checksum(data: Any, header: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode(), zlib.crc32(data))


def _sum_of(vectors: KeyedVectors) -> int:
    return zlib.crc32(np.ascontiguousarray(vectors.vectors).data)
