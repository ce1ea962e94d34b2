"""A column of tables as a corpus: Parquet, Arrow, ORC, CSV and JSON files, read in batches."""

import io
import os
from collections import namedtuple
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.encoded_corpus import MAX_SENTENCE
from gensim_tfw2v.corpus.table_columns import (
    find_type,
    flat_items,
    is_integer,
    is_text,
    items_of,
    read_column,
    require_pyarrow,
)
from gensim_tfw2v.corpus.table_formats import SUFFIXES, find_format
from gensim_tfw2v.corpus.table_options import TableColumn, TableOptions
from gensim_tfw2v.corpus.text_files import FileRange

try:
    import pyarrow as pa
    from pyarrow import compute
except ModuleNotFoundError:  # raised when a table is opened: `import *` must work without pyarrow
    pass

#: Has the attributes of gensim's TaggedDocument; this subpackage doesn't import gensim.
TaggedDocument = namedtuple("TaggedDocument", ["words", "tags"])


class TableSentences:
    """Sentences of a column of a table, as an iterable that can be read repeatedly.

    A row is a sentence. Strings are split at white space; lists of strings are the words, which may
    contain blanks. Rows without words are skipped, and rows of more than 10,000 words are cut into
    several sentences, as in gensim's `LineSentence`. Memory doesn't grow with the table.

    Parameters
    ----------
    path : path
        Parquet, CSV (.csv or, separated by tabs, .tsv) or JSON Lines (.jsonl or .ndjson) file. All
        but Parquet may be compressed (.gz, .bz2, .xz, .zst, .lz4). The first row of a CSV file
        contains the names of its columns. May also be a folder of files of one format, which are
        read in the order of their names, without empty files and those whose name starts with a
        dot or an underscore.
    column : str
        Name of a column of strings or of lists of strings.

    Attributes
    ----------
    types : dict
        Type of the column in each file, by the file's path.

    Raises
    ------
    ImportError
        If pyarrow is missing.
    FileNotFoundError
    ValueError
        If a file is not a table or lacks the column, or if the column is of a different type. While
        reading, if a file is damaged, or a row of CSV or JSON Lines is longer than 4 MiB.

    Examples
    --------
    >>> from gensim_tfw2v import TableSentences, TFWord2Vec
    >>> model = TFWord2Vec(TableSentences("texts.parquet", "text"))  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        column: str,
        *,
        sep: str | None = None,
        quotechar: str | None = '"',
        escapechar: str | None = None,
        header: int | str | None = "infer",
        names: Sequence[str] | None = None,
        encoding: str | None = None,
        newlines: bool = False,
        lists: str | None = None,
        recursive: bool = False,
    ) -> None:
        require_pyarrow()
        self.path = path
        self.column = column
        self.options = TableOptions(
            sep, quotechar, escapechar, header, names, encoding, newlines, lists, recursive
        )
        files = _files(Path(path), recursive)
        self.types = {file: find_type(file, self._column) for file in files}

    @property
    def _column(self) -> TableColumn:
        return TableColumn(self.column, self.options)

    def __iter__(self) -> Iterator[Any]:
        for words in self._rows():
            for start in range(0, len(words), MAX_SENTENCE):
                yield words[start : start + MAX_SENTENCE]

    @property
    def ranges(self) -> list[FileRange] | None:
        """The column as texts that the compiled scanner reads; None for lists."""
        if not all(map(is_text, self.types.values())):
            return None
        sizes = map(os.path.getsize, self.types)
        return [
            FileRange(path, 0, size, is_stream=True, column=self._column)
            for path, size in zip(self.types, sizes, strict=True)
        ]

    def integer_batches(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]] | None:
        """Return an iterator over the column in batches of rows; None unless it has integers.

        A batch consists of the integers of its rows, concatenated, and of the number of integers
        per row. Nulls within a row are left out, and a null row has none.
        """
        if not all(is_integer(items_of(kind)) for kind in self.types.values()):
            return None
        return (
            (items.cast(pa.int64()).to_numpy(zero_copy_only=False), lengths)
            for path, kind in self.types.items()
            for column in read_column(path, self._column, kind)
            for items, lengths in [flat_items(column)]
        )

    def _rows(self) -> Iterator[list[Any]]:
        """Yield the words of each row; none for a null."""
        for path, kind in self.types.items():
            for column in read_column(path, self._column, kind):
                if is_text(kind):
                    yield from ((text or "").split() for text in column.to_pylist())
                    continue
                items, lengths = flat_items(column)
                words = iter(items.to_pylist())  # faster than the lists' to_pylist
                yield from ([*islice(words, length)] for length in lengths.tolist())


class TableDocuments(TableSentences):
    """Documents of a column of a table for `TFDoc2Vec`: each row is one, and its number the tag.

    Numbers are counted from 0 over all files. A row without words is an empty document. Parameters
    and errors are those of `TableSentences`.
    """

    def __iter__(self) -> Iterator[Any]:
        for number, words in enumerate(self._rows()):
            yield TaggedDocument(words, [number])


class ColumnText(io.RawIOBase):
    """A column of strings as a stream of UTF-8 text: a line per row, empty for a null."""

    def __init__(self, path: str, column: TableColumn) -> None:
        require_pyarrow()
        self._batches = read_column(path, column, pa.string())
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, into: Any) -> int:
        """Fill a buffer; return the number of bytes, 0 at the end."""
        text = pa.large_string()
        while not self._rest and (column := next(self._batches, None)) is not None:
            column = compute.fill_null(column.cast(text), "")
            column = compute.replace_substring(column, "\n", " ")
            ends = pa.scalar("\n", text)
            lines = compute.binary_join_element_wise(column, ends, pa.scalar("", text))
            self._rest = memoryview(lines.buffers()[2] or b"").cast("B")
        size = min(len(into), len(self._rest))
        into[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _files(path: Path, recursive: bool) -> list[str]:
    """Return the tables of a path, in the order of their names."""
    path.stat()  # raises an error if it is missing
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file()]
        files = [file for file in files if file.name[0] not in "._" and file.stat().st_size]
    formats = {file: find_format(file) for file in files}
    for file in files:
        if formats[file] is None:
            known = ", ".join(SUFFIXES)
            raise ValueError(f"{file}: column needs a table ({known}); read other files as text")
    for file in files:
        if formats[file] != formats[files[0]]:
            raise ValueError(
                f"{path}: {files[0].name} and {file.name} have different formats; pass a folder of "
                "one format"
            )
    if not files:
        raise ValueError(f"{path}: contains no tables")
    return list(map(str, files))
