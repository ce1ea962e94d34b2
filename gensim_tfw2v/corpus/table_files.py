"""A column of tables as a corpus: Parquet, CSV and JSON Lines files, read in batches by pyarrow."""

import io
import os
import textwrap
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.encoded_corpus import MAX_SENTENCE
from gensim_tfw2v.corpus.text_files import TABLES, FileRange, table_suffix
from gensim_tfw2v.messages import open_decompressed, quoted, require

try:
    import pyarrow as pa
    from pyarrow import compute, csv, json, parquet
except ModuleNotFoundError:  # raised when a table is opened: `import *` must work without pyarrow
    pass

BLOCK = 4 << 20  # bytes of a batch; rows of CSV and JSON Lines must be shorter; 40 are read ahead
ROWS = 4096  # maximum rows of a batch

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

    def __init__(self, path: str | os.PathLike[str], column: str) -> None:
        _require_pyarrow()
        self.path = path
        self.column = column
        self.types = {file: _type_of(file, column) for file in _files(Path(path))}

    def __iter__(self) -> Iterator[Any]:
        for words in self._rows():
            for start in range(0, len(words), MAX_SENTENCE):
                yield words[start : start + MAX_SENTENCE]

    @property
    def ranges(self) -> list[FileRange] | None:
        """The column as texts that the compiled scanner reads; None for lists."""
        if not all(map(_is_text, self.types.values())):
            return None
        sizes = map(os.path.getsize, self.types)
        return [
            FileRange(path, 0, size, is_stream=True, column=self.column)
            for path, size in zip(self.types, sizes, strict=True)
        ]

    def _rows(self) -> Iterator[list[str]]:
        """Yield the words of each row; none for a null."""
        for path, kind in self.types.items():
            with _naming(path):
                for column in _batches(path, self.column, kind):
                    if _is_text(kind):
                        yield from ((text or "").split() for text in column.to_pylist())
                        continue
                    words = iter(column.flatten().to_pylist())  # faster than the lists' to_pylist
                    for length in compute.list_value_length(column).to_pylist():
                        yield [word for word in islice(words, length or 0) if word is not None]


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

    def __init__(self, path: str, column: str) -> None:
        _require_pyarrow()
        self._batches = _batches(path, column, pa.string())
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


def _require_pyarrow() -> None:
    require("reading tables", "pyarrow")


def column_names(path: Path) -> str:
    """Return the names of a table's columns for a message."""
    _require_pyarrow()
    return textwrap.shorten(", ".join(_schema(str(path)).names), 400, placeholder=" ...")


def _files(path: Path) -> list[str]:
    """Return the tables of a path, in the order of their names."""
    path.stat()  # raises an error if it is missing
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file()]
        files = [file for file in files if file.name[0] not in "._" and file.stat().st_size]
    for file in files:
        if not (suffix := table_suffix(file)):
            known = ", ".join(TABLES)
            raise ValueError(f"{file}: column needs a table ({known}); read other files as text")
        if suffix != table_suffix(files[0]):
            raise ValueError(
                f"{path}: {files[0].name} and {file.name} have different formats; pass a folder of "
                "one format"
            )
    if not files:
        raise ValueError(f"{path}: contains no tables")
    return list(map(str, files))


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file in pyarrow's errors."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = str(error)
        if "straddling" in said:
            said = f"a row is longer than {BLOCK >> 20} MiB; store the table as Parquet"
        raise ValueError(f"{path}: {said}") from error


@contextmanager
def _open(path: str, wanted: dict[str, Any]) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a table; yield its schema, and an iterator over its batches.

    Only the columns of `wanted` are read, CSV and JSON Lines as the given types. If it is empty,
    the schema contains all columns; types of JSON Lines are guessed from the first batch.
    """
    opener = OPENERS[table_suffix(path)]
    # pyarrow decompresses the other formats itself
    opening = open_decompressed if path.lower().endswith(".xz") else nullcontext
    with _naming(path), opening(path) as source, opener(source, wanted) as opened:
        yield opened


@contextmanager
def _open_parquet(source: Any, wanted: dict[str, Any]) -> Iterator[tuple[Any, Iterator[Any]]]:
    with parquet.ParquetFile(source, buffer_size=1 << 20) as file:
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        rows = min(ROWS, BLOCK * file.metadata.num_rows // max(1, size))
        yield file.schema_arrow, file.iter_batches(max(1, rows), columns=[*wanted])


@contextmanager
def _open_csv(
    source: Any, wanted: dict[str, Any], delimiter: str = ","
) -> Iterator[tuple[Any, Iterator[Any]]]:
    with csv.open_csv(
        source,
        csv.ReadOptions(block_size=BLOCK),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(include_columns=[*wanted], column_types=wanted),
    ) as reader:
        yield reader.schema, reader


@contextmanager
def _open_json_lines(source: Any, wanted: dict[str, Any]) -> Iterator[tuple[Any, Iterator[Any]]]:
    others = "ignore" if wanted else "infer"
    parsing = json.ParseOptions(pa.schema(wanted), unexpected_field_behavior=others)
    with json.open_json(source, json.ReadOptions(block_size=BLOCK), parsing) as reader:
        yield reader.schema, reader


#: Function that opens a table, by its suffix; parameters and result are as in `_open`.
OPENERS: dict[str, Callable[..., Any]] = {
    ".parquet": _open_parquet,
    ".csv": _open_csv,
    ".tsv": partial(_open_csv, delimiter="\t"),
    ".jsonl": _open_json_lines,
    ".ndjson": _open_json_lines,
}

#: Suffixes of formats that contain only text, whatever it looks like.
ONLY_TEXT = (".csv", ".tsv")


def _schema(path: str) -> Any:
    with _open(path, {}) as (schema, _):
        return schema


def _batches(path: str, column: str, kind: Any) -> Iterator[Any]:
    """Yield a column in batches, as pyarrow's arrays."""
    with _open(path, {column: kind}) as (_, batches):
        yield from (batch.column(column) for batch in batches)


def _is_text(kind: Any) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _type_of(path: str, column: str) -> Any:
    """Return the type as which a column is read; raise a ValueError if it can't be a corpus."""
    schema = _schema(path)
    if (number := schema.names.count(column)) != 1:
        has = f"has {number or 'no'} column{'s' * (number > 1)} {quoted(column)}"
        raise ValueError(f"{path}: {has}; its columns are: {column_names(Path(path))}")
    kind = schema.field(column).type
    is_list = isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
    inner = kind.value_type if is_list else kind
    suffix = table_suffix(path)
    if suffix != ".parquet" and (pa.types.is_null(inner) or pa.types.is_timestamp(inner)):
        inner = pa.string()  # guessed from empty values, or from text that looks like a date
        kind = pa.list_(inner) if is_list else inner
    if suffix in ONLY_TEXT:
        return pa.string()
    if not _is_text(inner):
        raise ValueError(
            f"{path}: column {quoted(column)} is of type {kind}; a corpus is a column of strings, "
            "or of lists of strings"
        )
    return kind
