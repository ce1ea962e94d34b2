"""Rows of a table in several files, which parameter servers have written, one file each.

The files are in the safetensors format. Row r of the table is row ``r // P`` of file ``r % P``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v import compiled_library
from gensim_tfw2v.files.safetensors import tensor_header

#: Name of the tensor in each file.
TENSOR = "rows"

#: Number of bytes of a file that are read at a time for its checksum, a multiple of 8.
CHECKED_BYTES = 1 << 23


@dataclass(frozen=True)
class ShardedRows:
    """Table [V, D], float32, in P files.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the table: the first part of the names of the files.
    shape : (int, int)
    checksums : tuple of int
        Checksum of the rows of each file: `tfw2v_checksum` of the compiled library.
    """

    folder: Path
    name: str
    shape: tuple[int, int]
    checksums: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_shards(self) -> int:
        """Number of files P."""
        return len(self.checksums)

    def path(self, shard: int) -> Path:
        """Return the path of a file."""
        return shard_path(self.folder, self.name, shard, self.n_shards)

    def header(self, shard: int) -> bytes:
        """Return the bytes before the rows of a file."""
        return shard_header(self.shape, shard, self.n_shards)

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read the rows of a slice without a step: [n, D]."""
        start, stop, _ = rows.indices(len(self))
        block = np.empty((max(0, stop - start), self.shape[1]), np.float32)
        for shard in range(self.n_shards):
            first = (shard - start) % self.n_shards  # index in the block of the file's first row
            part = block[first :: self.n_shards]
            if len(part):
                row = (start + first) // self.n_shards
                offset = len(self.header(shard)) + 4 * self.shape[1] * row
                values = np.fromfile(self.path(shard), np.float32, part.size, offset=offset)
                part[:] = values.reshape(part.shape)
        return block

    def check(self) -> None:
        """Raise a ValueError if a file is damaged, and an OSError if it cannot be read.

        Without the compiled library, checksums are not checked.
        """
        library = compiled_library.load_optional()
        for shard, checksum in enumerate(self.checksums):
            path = self.path(shard)
            header = self.header(shard)
            with path.open("rb") as file:
                if file.read(len(header)) != header:
                    raise ValueError(f"{path.name} has a wrong header")
                file_checksum = 0
                while library and (block := file.read(CHECKED_BYTES)):
                    file_checksum = library.tfw2v_checksum(file_checksum, block, len(block))
            if library and file_checksum != checksum:
                raise ValueError(f"{path.name} has a wrong checksum")

    def describe(self) -> dict[str, Any]:
        """Return the table as values that JSON can encode; `of` reads them."""
        return {"shape": list(self.shape), "checksums": list(self.checksums)}

    @classmethod
    def of(cls, folder: Path, name: str, description: Any) -> ShardedRows:
        """Return the table with a description that `describe` has returned."""
        n_rows, size = description["shape"]
        return cls(folder, name, (n_rows, size), tuple(description["checksums"]))


def shard_path(folder: Path, name: str, shard: int, n_shards: int) -> Path:
    """Return the path of one of a table's files."""
    return folder / f"{name}-{shard + 1:05}-of-{n_shards:05}.safetensors"


def shard_header(shape: Sequence[int], shard: int, n_shards: int) -> bytes:
    """Return the bytes before the rows of one of the files of a table [V, D]."""
    n_rows, size = shape
    metadata = {"shard": f"{shard}", "shards": f"{n_shards}", "rows": f"{n_rows}"}
    shard_shape = [len(range(shard, n_rows, n_shards)), size]
    return tensor_header({TENSOR: ("F32", shard_shape)}, metadata)


#: Name of the file that describes the tables in a folder.
DESCRIPTION = "shards.json"


def save_description(folder: Path, tables: Sequence[ShardedRows]) -> None:
    """Write the descriptions of all tables in a folder."""
    descriptions = {table.name: table.describe() for table in tables}
    (folder / DESCRIPTION).write_text(json.dumps(descriptions), encoding="utf-8")


def load_tables(folder: Path) -> dict[str, ShardedRows]:
    """Return all tables in a folder by name; none if the folder has no description."""
    path = folder / DESCRIPTION
    descriptions = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: ShardedRows.of(folder, name, table) for name, table in descriptions.items()}
