"""Readers of JSON Lines and of JSON files that are arrays of records."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gensim_tfw2v.corpus import table_streams
from gensim_tfw2v.corpus.table_options import TableOptions
from gensim_tfw2v.corpus.table_streams import open_bytes


class JsonLinesTable:
    """Table of a JSON object per line."""

    def __init__(self, path: str, options: TableOptions) -> None:
        self.path = path
        self.options = options

    @contextmanager
    def _open(self, columns: dict[str, Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import json

        parsing = json.ParseOptions(
            pa.schema(columns), unexpected_field_behavior="ignore" if columns else "infer"
        )
        reading = json.ReadOptions(block_size=table_streams.BLOCK)
        with open_bytes(self.path) as source, json.open_json(source, reading, parsing) as reader:
            yield reader

    def names(self) -> list[str]:
        """Return the names of all columns."""
        with self._open({}) as reader:
            return list(reader.schema.names)

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of a column, from its first values."""
        with self._open({}) as reader:
            return reader.schema.field(column).type

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        with self._open({column: kind}) as reader:
            for batch in reader:
                yield batch.column(column)


class JsonArrayTable(JsonLinesTable):
    """JSON file that is an array of records."""
