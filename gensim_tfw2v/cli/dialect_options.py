"""Options of commands that describe how a table is written: those of `TableSentences`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from gensim_tfw2v.cli.common import option

_table = partial(option, rich_help_panel="Table")

Sep = Annotated[
    str | None, _table("Character that separates the cells of CSV, such as ';' or '\\t'.")
]
Quotechar = Annotated[
    str, _table("Character that encloses cells of CSV; '': quotes are ordinary characters.")
]
Escapechar = Annotated[
    str | None, _table("Character before a quote that is part of a cell, such as '\\'.")
]
Header = Annotated[
    bool, _table("The first row of CSV contains names; or columns are named 0, 1, ....")
]
Newlines = Annotated[bool, _table("Allow newlines in quoted cells of CSV.", "--newlines")]
TableEncoding = Annotated[
    str | None, _table("Encoding of CSV and JSON: utf-16, latin-1, cp1252, ...")
]
Lists = Annotated[
    str | None, _table("json: parse cells of text that contain lists, as in JSON or Python.")
]

#: Names of these options as parameters of a command.
DIALECT = ("sep", "quotechar", "escapechar", "header", "newlines", "table_encoding", "lists")


def dialect_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `TableSentences` for values of a command that aren't the defaults."""
    # deferred, because it imports NumPy, which --help doesn't need
    from gensim_tfw2v.corpus.tables.table_options import DEFAULTS

    arguments = {name: values[name] for name in DIALECT if name in values}
    if "header" in arguments:
        arguments["header"] = "infer" if arguments["header"] else None
    if "table_encoding" in arguments:
        arguments["encoding"] = arguments.pop("table_encoding")
    return {name: value for name, value in arguments.items() if value != DEFAULTS[name]}
