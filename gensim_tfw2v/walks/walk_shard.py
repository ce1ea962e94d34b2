"""Shard whose entries are walks, drawn by compiled code whenever a work unit is trained."""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.corpus.entry_ranges import EntryRange
from gensim_tfw2v.corpus.shard_files import ID, Ids
from gensim_tfw2v.corpus.shards import Shard, UnitCounts, shares

#: Number of epochs of a training run, so that those of the next run are numbered differently.
MAX_EPOCHS = 1 << 32

#: Maximum number of walks of an epoch: TensorFlow's tasks count them in int32.
MAX_WALKS = 2**31 - 1


def draw_walks(
    walk_file: NDArray[np.uint8], epoch: int, first: int, n_walks: int, max_words: int
) -> Ids:
    """Draw the walks [first, first + n_walks) of an epoch, as numbers of nodes and relations.

    A walk depends only on the file, the epoch and its own number.

    Parameters
    ----------
    walk_file : ndarray of uint8
        Content of a file by `write_walk_file`.
    max_words : int
        Maximum number L of nodes and relations of a walk.

    Returns
    -------
    ndarray of int32 [n_walks, L]
        -1 behind the end of a shorter walk.
    """
    nodes = np.empty((n_walks, max_words), np.int32)
    _draw(walk_file, epoch, first, n_walks, None, nodes)
    return nodes


def _draw(
    walk_file: NDArray[np.uint8],
    epoch: int,
    first: int,
    n_walks: int,
    ids: NDArray[np.int32] | None,
    entries: Ids,
) -> int:
    """Write walks to `entries`, and return their number; see ``tfw2v_walk`` in ``walks.cc``."""
    n_written = np.zeros(1, np.int64)
    error = compiled_library.load().tfw2v_walk(
        walk_file.ctypes.data,
        len(walk_file),
        epoch,
        first,
        n_walks,
        None if ids is None else ids.ctypes.data,
        entries.ctypes.data,
        n_written.ctypes.data,
    )
    if error == compiled_library.NO_MEMORY:
        raise MemoryError(f"no memory could be allocated for {n_walks:,} walks")
    if error:
        raise ValueError(f"no walks can be drawn: {error.decode()}")
    return int(n_written[0])


@dataclass(frozen=True)
class WalkShard(Shard):
    """Shard whose entries are walks; its ranges count walks.

    `path` is that of a file by `write_walk_file`. The file ``path.ids`` contains the word id of
    each node and relation, or a negative number for those outside of the vocabulary. All counts are
    those of an epoch. The numbers of tokens and of raw words are estimates, unless all walks have
    equal lengths and all nodes are in the vocabulary.

    Attributes
    ----------
    max_words : int
        Maximum number of nodes and relations of a walk.
    training : int
        Number of earlier training runs of the model, so that the walks of this one are new.
    """

    is_drawn: ClassVar[bool] = True
    is_walks: ClassVar[bool] = True

    max_words: int
    training: int = 0

    @cached_property
    def _content(self) -> NDArray[np.uint8]:
        return np.memmap(self.path, np.uint8, "r")

    @cached_property
    def _ids(self) -> NDArray[np.int32]:
        return np.memmap(f"{self.path}.ids", ID, "r")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without the mapped files, which another process maps itself."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def read(self, start: int, stop: int, epoch: int = 0) -> Ids:
        """Draw the walks [start, stop) of an epoch: word ids, and -1 after each walk."""
        n_walks = stop - start
        entries = np.empty(n_walks * (self.max_words + 1), np.int32)
        n_entries = _draw(self._content, self._number(epoch), start, n_walks, self._ids, entries)
        return entries[:n_entries]

    def _number(self, epoch: int) -> int:
        return self.training * MAX_EPOCHS + epoch

    def for_training(self, number: int, first_entry: int) -> "WalkShard":
        """Return a shard with the walks of a model's training run; see `Shard.for_training`."""
        return replace(self, training=number)

    def source(self, epoch: int) -> bytes:
        """Return the input ``source`` of the op Tfw2vWalk: the epoch's number, and the path."""
        return struct.pack("<q", self._number(epoch)) + os.fsencode(Path(self.path).absolute())

    def cut(self, gaps: Iterable[EntryRange], size: int, whole: bool) -> Iterator[UnitCounts]:
        """Cut ranges of walks into work units of at most `size` entries, but at least one walk."""
        n_unit_walks = max(1, size // (self.max_words + 1))
        for first, last in gaps:
            n_units = -(-(last - first) // n_unit_walks)
            edges = [first + (last - first) * unit // n_units for unit in range(n_units + 1)]
            n_tokens = shares(self.n_tokens, edges, self.n_entries)
            n_raw_words = shares(self.n_raw_words, edges, self.n_entries)
            slices = zip(edges, edges[1:], n_tokens, n_raw_words, strict=False)
            for start, stop, tokens, raw_words in slices:
                yield UnitCounts(start, stop, tokens, raw_words, stop - start)

    def checksum(self, earlier: int) -> int:
        """Return the CRC-32 of both files, following entries whose CRC-32 is `earlier`."""
        return zlib.crc32(self._ids.data, zlib.crc32(self._content.data, earlier))

    @property
    def longest_sentence(self) -> int:
        """Maximum number of nodes and relations of a walk."""
        return self.max_words

    def tag_counts(self, n_tags: int) -> NDArray[np.int64]:
        """Return zeros, because walks have no tags."""
        return np.zeros(n_tags, np.int64)
