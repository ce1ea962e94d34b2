"""Writers of walks, batch by batch: tables with a column of lists, and text."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.messages import quoted, require

if TYPE_CHECKING:
    from gensim_tfw2v import RandomWalks

#: Name of the column of walks in a table.
COLUMN = "walk"

#: Level of gzip's compression: that of the command ``gzip``. Python's default, 9, takes several
#: times as long.
GZIP_LEVEL = 6

#: Function that writes walks to a path or an open file. It is also called with a function to which
#: it reports the number of walks of each batch.
Writer = Callable[["RandomWalks", "str | IO[bytes]", Callable[[int], object]], None]


def find_writer(path: Path) -> Writer:
    """Return the writer for a file's suffix.

    Raises
    ------
    BadInput
        If there is none. The message contains the suffixes.
    ImportError
        If pyarrow is missing.
    """
    name = path.name.lower()
    for suffix, writer in WRITERS.items():
        if name.endswith(suffix):
            if writer in (write_parquet, write_arrow):
                require(f"writing {suffix} files", "pyarrow")
            return writer
    raise BadInput(
        f"{path}: the suffix determines the format: give {', '.join(WRITERS)}, or - for text on "
        "standard output"
    )


def check_names(names: Sequence[Any], graph: Path) -> None:
    """Raise if a name in a graph could not be read back from a text, because it contains blanks."""
    for name in names:
        if isinstance(name, str) and name.split() != [name]:
            raise BadInput(
                f"{graph}: the name {quoted(name)} contains a blank, which separates names in "
                "text; write .parquet, .arrow or .feather"
            )


def write_parquet(
    walks: RandomWalks, target: str | IO[bytes], report: Callable[[int], object]
) -> None:
    """Write the walks of an epoch as Parquet."""
    from pyarrow import parquet

    table_batches = _TableBatches(walks)
    with parquet.ParquetWriter(target, table_batches.schema) as writer:
        for batch in table_batches:
            writer.write_batch(batch)
            report(len(batch))


def write_arrow(
    walks: RandomWalks, target: str | IO[bytes], report: Callable[[int], object]
) -> None:
    """Write the walks of an epoch in Arrow's file format, which is also Feather 2."""
    import pyarrow as pa

    table_batches = _TableBatches(walks)
    with pa.ipc.new_file(target, table_batches.schema) as writer:
        for batch in table_batches:
            writer.write_batch(batch)
            report(len(batch))


class _TableBatches:
    """Walks of an epoch as batches of a table, whose column has lists of names."""

    def __init__(self, walks: RandomWalks) -> None:
        import pyarrow as pa

        self._walks = walks
        names = walks.names
        if isinstance(names[0], int) != isinstance(names[-1], int):  # nodes and relations
            names = [str(name) for name in names]
        self._names = pa.array(names)
        self.schema = pa.schema({COLUMN: pa.list_(self._names.type)})

    def __iter__(self) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        for nodes in self._walks.batches():
            is_node = nodes >= 0
            edges = np.zeros(len(nodes) + 1, np.int32)
            np.cumsum(is_node.sum(axis=1), out=edges[1:])
            names = self._names.take(pa.array(nodes[is_node]))
            lists = pa.ListArray.from_arrays(pa.array(edges), names)
            yield pa.record_batch([lists], schema=self.schema)


def write_text(
    walks: RandomWalks, target: str | IO[bytes], report: Callable[[int], object]
) -> None:
    """Write the walks of an epoch as text: a walk per line, names separated by blanks."""
    opened = open(target, "wb") if isinstance(target, str) else contextlib.nullcontext(target)
    with opened as file:
        _write_lines(walks, file, report)


def write_gzip(
    walks: RandomWalks, target: str | IO[bytes], report: Callable[[int], object]
) -> None:
    """Write the walks of an epoch as text, compressed by gzip."""
    with gzip.open(target, "wb", GZIP_LEVEL) as file:
        _write_lines(walks, file, report)


def _write_lines(walks: RandomWalks, file: Any, report: Callable[[int], object]) -> None:
    names = [str(name) for name in walks.names]
    for nodes in walks.batches():
        lengths = (nodes >= 0).sum(axis=1).tolist()
        lines = (
            " ".join([names[node] for node in walk[:length]])
            for walk, length in zip(nodes.tolist(), lengths, strict=True)
        )
        file.write("".join(f"{line}\n" for line in lines).encode())
        report(len(nodes))


#: Writer for each suffix.
WRITERS: dict[str, Writer] = {
    ".parquet": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    ".txt": write_text,
    ".txt.gz": write_gzip,
}
