"""Checksums of vectors, by which an index detects that its vectors have changed."""

from __future__ import annotations

import copy
import weakref
import zlib
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.messages import quoted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

#: Number of rows of a block.
BLOCK_ROWS = 64

#: Number of searches per comparison of a block, which takes a few percent of a search's time.
USES_PER_BLOCK = 8


class VectorChecksums:
    """Checksums of V vectors of D dimensions, and their keys.

    gensim's methods and `train` replace the array of the vectors or that of their norms. If either
    was replaced, `find_change` compares all vectors. Code that writes to elements of an array
    replaces neither. Therefore each call of `find_change` also compares the rows that it is passed,
    and every eighth use of the vectors compares the next block of rows.

    Parameters
    ----------
    keys : list
        Keys of the rows, [V].
    size : int
        D.
    total : int
        CRC-32 of all rows, concatenated.
    """

    def __init__(self, keys: list[Any], size: int, total: int) -> None:
        self.keys = keys
        self.size = size
        self.total = total
        self._rows = array("I")  # CRC-32 of each row, [V]
        self._prefixes: list[int] = []  # CRC-32 of the rows before each block, and of all rows
        self._next_block = 0
        self._n_uses = 0
        self._arrays: tuple[weakref.ref[Any], weakref.ref[Any]] | None = None

    @classmethod
    def compute(cls, vectors: KeyedVectors) -> VectorChecksums:
        """Compute the checksums of vectors, with a copy of the list of their keys."""
        prefixes = prefix_checksums(vectors.vectors)
        keys = copy.copy(vectors.index_to_key)  # compact keys are shared
        checksums = cls(keys, vectors.vectors.shape[1], prefixes[-1])
        checksums._remember(vectors, vectors.vectors, prefixes)
        return checksums

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, without references to arrays of this process."""
        return self.__dict__ | {"_arrays": None}

    def find_difference(self, vectors: KeyedVectors) -> str:
        """Compare all keys and rows; describe how `vectors` differ, or return "" if they don't.

        A key and its text, such as 3 and "3", are taken as equal, because files of vectors hold
        tags as text.
        """
        rows = vectors.vectors
        keys = vectors.index_to_key
        for count, expected, noun in (
            (len(self.keys), len(rows), "words"),
            (len(self.keys), len(keys), "keys"),
            (self.size, rows.shape[1], "dimensions"),
        ):
            if count != expected:
                return f"it has {count:,} {noun}, expected {expected:,}"
        if self.keys != keys:
            for row, (key, expected_key) in enumerate(zip(self.keys, keys, strict=True), 1):
                if key != expected_key and str(key) != str(expected_key):
                    return f"its word {row:,} is {quoted(key)}, expected {quoted(expected_key)}"
        prefixes = prefix_checksums(rows)
        if prefixes[-1] != self.total:
            return "the words are the same, but not their vectors"
        self._remember(vectors, rows, prefixes)
        return ""

    def find_change(self, vectors: KeyedVectors, rows: list[int], n_uses: int = 1) -> str:
        """Compare some rows; describe how `vectors` differ, or return "" if no difference is found.

        Parameters
        ----------
        vectors : KeyedVectors
            Vectors that should equal those of the checksums.
        rows : list of int
            Rows to compare.
        n_uses : int
            Number of uses of the vectors (searches) that this call stands for.
        """
        if not self._are_same_arrays(vectors):
            return self.find_difference(vectors)
        description = self._find_row_change(vectors.vectors, rows)
        if not description:
            description = self._find_block_change(vectors.vectors, n_uses)
        if description:
            self._arrays = None  # so that later calls compare all rows
        return description

    def _find_row_change(self, vectors: Any, rows: list[int]) -> str:
        """Compare rows of an array; describe the first change, or return "" without one."""
        row_vectors: Iterable[Any] = map(vectors.__getitem__, rows)
        if vectors.strides[1] != vectors.itemsize:
            row_vectors = map(np.ascontiguousarray, row_vectors)
        checksums = list(map(zlib.crc32, row_vectors))
        if checksums != list(map(self._rows.__getitem__, rows)):
            pairs = zip(rows, checksums, strict=True)
            row = next(row for row, checksum in pairs if checksum != self._rows[row])
            return f"the vector of {quoted(self.keys[row])} has changed"
        return ""

    def _find_block_change(self, vectors: np.ndarray, n_uses: int) -> str:
        """Count uses, and compare the next blocks, one per `USES_PER_BLOCK` uses.

        Returns the description of a change, or "".
        """
        self._n_uses += n_uses
        if self._n_uses < USES_PER_BLOCK:
            return ""
        n_compared, self._n_uses = divmod(self._n_uses, USES_PER_BLOCK)
        n_blocks = len(self._prefixes) - 1
        for _ in range(min(n_compared, n_blocks)):
            block = self._next_block % n_blocks
            self._next_block = block + 1
            start = block * BLOCK_ROWS
            part = np.ascontiguousarray(vectors[start : start + BLOCK_ROWS])
            if zlib.crc32(part.data, self._prefixes[block]) != self._prefixes[block + 1]:
                end = start + len(part)
                return f"a vector of words {start + 1:,} to {end:,} has changed"
        return ""

    def _are_same_arrays(self, vectors: KeyedVectors) -> bool:
        """Return whether the arrays of `vectors` are those that were last compared in full."""
        if self._arrays is None:
            return False
        rows, norms = self._arrays
        are_same = vectors.vectors is rows() and vectors.norms is norms() is not None
        return are_same and len(vectors.index_to_key) == len(self.keys)

    def _remember(self, vectors: KeyedVectors, rows: np.ndarray, prefixes: list[int]) -> None:
        """Store the arrays and checksums with which `find_change` compares."""
        # Fill the norms: only then do training and gensim's methods replace them, so that
        # `find_change` notices.
        with np.errstate(over="ignore"):  # the norm of a long vector may be infinite
            vectors.fill_norms()
        self._arrays = weakref.ref(rows), weakref.ref(vectors.norms)
        self._prefixes = prefixes
        if not self._rows:
            self._rows = row_checksums(rows)


def row_checksums(rows: np.ndarray) -> array[int]:
    """Return the CRC-32 of each of V rows."""
    checksums = array("I")
    for start in range(0, len(rows), BLOCK_ROWS):
        checksums.extend(map(zlib.crc32, np.ascontiguousarray(rows[start : start + BLOCK_ROWS])))
    return checksums


def prefix_checksums(rows: np.ndarray) -> list[int]:
    """Return the CRC-32 of the rows before each block, and of all rows."""
    checksums = [0]
    for start in range(0, len(rows), BLOCK_ROWS):
        part = np.ascontiguousarray(rows[start : start + BLOCK_ROWS])
        checksums.append(zlib.crc32(part.data, checksums[-1]))
    return checksums
