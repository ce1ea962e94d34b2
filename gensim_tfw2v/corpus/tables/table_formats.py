"""Formats of tables, and their recognition by content or by suffix.

This module doesn't need pyarrow, so that a table is recognized without it.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.decompression import read_head
from gensim_tfw2v.corpus.tables.arrow_tables import ArrowTable, FeatherTable, OrcTable, ParquetTable
from gensim_tfw2v.corpus.tables.csv_tables import CsvTable
from gensim_tfw2v.corpus.tables.json_tables import JsonArrayTable, JsonLinesTable
from gensim_tfw2v.corpus.tables.table_options import DIALECT_OPTIONS
from gensim_tfw2v.messages import COMPRESSED

#: Options that every format can use.
COMMON_OPTIONS = frozenset({"lists", "recursive"})

# A brace, a key in quotes and a colon: no sentence begins like this.
_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:', re.DOTALL)
_RECORDS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"(?:[^"\\]|\\.)*"\s*:', re.DOTALL)
# An Arrow file, or a stream: a mark, the size of a schema below 16 MiB, and a small offset in it.
_ARROW = re.compile(rb"ARROW1\0\0|\xff{4}...\0[\4-\x40]\0\0\0", re.DOTALL)
_ORC = re.compile(rb"ORC.{,99}[\x00-\x08]", re.DOTALL)  # a text may begin with ORC, too


@dataclass(frozen=True)
class TableFormat:
    """Format of tables.

    Attributes
    ----------
    name : str
        Name for messages.
    suffixes : tuple of str
        Suffixes of files, in lower case. A second suffix for a compression is not included.
    reader : type
        Class that opens a table from its path and its `TableOptions`. It has the attribute
        ``names`` and the methods ``column_type(column)`` and ``batches(column, type)``.
    is_content : callable, optional
        Function that returns whether the first bytes of a file, decompressed, are unmistakably of
        this format.
    options : frozenset of str
        Names of the options that the format can use.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: Callable[..., Any]
    is_content: Callable[[bytes], object] = lambda head: False
    options: frozenset[str] = COMMON_OPTIONS

    @property
    def is_text(self) -> bool:
        """True if tables of this format are text, so that the file may be compressed as a whole."""
        return "encoding" in self.options


#: Options that formats of text can use.
TEXT_OPTIONS = COMMON_OPTIONS | {"encoding"}

#: Options that CSV and similar formats can use.
CSV_OPTIONS = TEXT_OPTIONS | DIALECT_OPTIONS

#: All formats. The first one that recognizes a file's content is used, or else the first one with
#: the file's suffix.
FORMATS = (
    TableFormat("Parquet", (".parquet",), ParquetTable, lambda head: head.startswith(b"PAR1")),
    TableFormat("Arrow", (".arrow", ".feather", ".ipc"), ArrowTable, _ARROW.match),
    TableFormat("Feather 1", (), FeatherTable, lambda head: head.startswith(b"FEA1")),
    TableFormat("ORC", (".orc",), OrcTable, _ORC.match),
    TableFormat("CSV", (".csv",), CsvTable, options=CSV_OPTIONS),
    TableFormat("TSV", (".tsv",), partial(CsvTable, sep="\t"), options=CSV_OPTIONS),
    TableFormat("JSON Lines", (".jsonl", ".ndjson"), JsonLinesTable, _OBJECT.match, TEXT_OPTIONS),
    TableFormat("JSON", (".json",), JsonArrayTable, _RECORDS.match, TEXT_OPTIONS),
)

#: Suffixes of all formats.
SUFFIXES = tuple(suffix for table_format in FORMATS for suffix in table_format.suffixes)


def find_format(path: str | os.PathLike[str]) -> TableFormat | None:
    """Return the format of a table, from its content or else from its suffix.

    Returns None for a file that is not a table, and for folders, pipes and missing files.

    Raises
    ------
    OSError
        If the file can't be read.
    """
    if not Path(path).is_file():
        return None
    return format_of_content(read_head(path)) or format_of_name(path)


def format_of_content(head: bytes) -> TableFormat | None:
    """Return the format of a file whose decompressed content starts with `head`, or None."""
    return next((table_format for table_format in FORMATS if table_format.is_content(head)), None)


def format_of_name(path: str | os.PathLike[str]) -> TableFormat | None:
    """Return the format for the suffix of a file, or None if no format has the suffix."""
    path = Path(path)
    is_compressed = path.suffix.lower() in COMPRESSED
    suffix = Path(path.stem if is_compressed else path.name).suffix.lower()
    return next((table_format for table_format in FORMATS if suffix in table_format.suffixes), None)
