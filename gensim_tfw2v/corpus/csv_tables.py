"""Reader of CSV and similar tables of text."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gensim_tfw2v.corpus import table_streams
from gensim_tfw2v.corpus.table_options import TableOptions
from gensim_tfw2v.corpus.table_streams import open_bytes


class CsvTable:
    """Table of text in which a character separates the cells of a row."""

    def __init__(self, path: str, options: TableOptions) -> None:
        self.path = path
        self.options = options

    @contextmanager
    def _open(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        sep = self.options.sep or ("\t" if ".tsv" in self.path.lower() else ",")
        with (
            open_bytes(self.path) as source,
            csv.open_csv(
                source,
                csv.ReadOptions(block_size=table_streams.BLOCK),
                csv.ParseOptions(delimiter=sep, newlines_in_values=True),
                csv.ConvertOptions(
                    include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
                ),
            ) as reader,
        ):
            yield reader

    def names(self) -> list[str]:
        """Return the names of all columns."""
        with self._open([]) as reader:
            return list(reader.schema.names)

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of a column: text, whatever it looks like."""
        import pyarrow as pa

        return pa.string()

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        with self._open([column]) as reader:
            for batch in reader:
                yield batch.column(column)
