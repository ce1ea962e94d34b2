"""Options of commands for the dialect of a table (separator, quotes, encoding, ...).

They correspond to arguments of `TableSentences`.
"""

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

#: Parameters of a command for the options of this module.
DIALECT = ("sep", "quotechar", "escapechar", "header", "newlines", "table_encoding", "lists")


def dialect_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `TableSentences` for a command's values that aren't the defaults."""
    # The import is deferred: it loads NumPy, which --help does not need.
    from gensim_tfw2v.corpus.tables.table_options import DEFAULTS

    arguments = {name: values[name] for name in DIALECT if name in values}
    if "header" in arguments:
        arguments["header"] = "infer" if arguments["header"] else None
    if "table_encoding" in arguments:
        arguments["encoding"] = arguments.pop("table_encoding")
    return {name: value for name, value in arguments.items() if value != DEFAULTS[name]}
