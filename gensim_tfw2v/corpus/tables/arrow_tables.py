"""Readers of binary tables: Parquet, Arrow (Feather), ORC."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.corpus.tables.table_options import TableOptions


class _BinaryTable:
    """Table in a binary file, which stores the types of its columns."""

    def __init__(self, path: str, options: TableOptions) -> None:
        self.path = path
        self.options = options

    @cached_property
    def schema(self) -> Any:
        """Schema of the file, as pyarrow's object."""
        raise NotImplementedError

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return list(self.schema.names)

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of a column; None if it is missing."""
        return self.schema.field(column).type if column in self.names else None


class ParquetTable(_BinaryTable):
    """Parquet file."""

    @cached_property
    def schema(self) -> Any:
        """Schema of the file, as pyarrow's object."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            return file.schema_arrow

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path, buffer_size=1 << 20) as file:
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            size = sum(group.total_byte_size for group in groups)
            n_rows = _batch_rows(file.metadata.num_rows, size)
            for batch in file.iter_batches(n_rows, columns=[column]):
                yield batch.column(column)


class ArrowTable(_BinaryTable):
    """Arrow IPC file, which is also Feather 2, or a stream of Arrow's batches.

    Each batch of the file must fit into memory, because it may be compressed as a whole.
    """

    @cached_property
    def schema(self) -> Any:
        """Schema of the file, as pyarrow's object."""
        from pyarrow import OSFile

        with OSFile(self.path) as source:
            return _open_ipc(source).schema

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        from pyarrow import ipc, memory_map

        options = ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(column)])
        with memory_map(self.path) as source:
            reader = _open_ipc(source, options)
            if isinstance(reader, ipc.RecordBatchFileReader):
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                batches = iter(reader)
            for batch in batches:
                yield from _cut(batch.column(column))


def _open_ipc(source: Any, options: Any = None) -> Any:
    """Open Arrow's batches, which may be in the format of a file or of a stream."""
    from pyarrow import ipc

    is_file = bytes(source.read(6)) == b"ARROW1"
    source.seek(0)
    return (ipc.open_file if is_file else ipc.open_stream)(source, options=options)


class FeatherTable(_BinaryTable):
    """Feather 1 file. It is refused, because pyarrow is about to drop this format."""

    @cached_property
    def schema(self) -> Any:
        """Raise a ValueError that advises to convert the file."""
        raise ValueError(
            "is a file of Feather 1, which pyarrow no longer supports; write it again as Parquet, "
            "with pandas: pandas.read_feather(path).to_parquet(new_path)"
        )


class OrcTable(_BinaryTable):
    """ORC file; each of its stripes must fit into memory."""

    @cached_property
    def schema(self) -> Any:
        """Schema of the file, as pyarrow's object."""
        from pyarrow import orc

        return orc.ORCFile(self.path).schema

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        from pyarrow import orc

        file = orc.ORCFile(self.path)
        for stripe in range(file.nstripes):
            yield from _cut(file.read_stripe(stripe, columns=[column]).column(column))


def _cut(column: Any) -> Iterator[Any]:
    """Yield an array in slices of at most about `BLOCK_BYTES` bytes and `BATCH_ROWS` rows."""
    n_rows = _batch_rows(len(column), column.nbytes)
    for start in range(0, len(column), n_rows):
        yield column.slice(start, n_rows)


def _batch_rows(n_rows: int, n_bytes: int) -> int:
    """Return the number of rows of a batch, for a table or an array of this size."""
    return max(
        1, min(table_streams.BATCH_ROWS, table_streams.BLOCK_BYTES * n_rows // max(1, n_bytes))
    )
