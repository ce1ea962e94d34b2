"""Options for reading tables as a corpus, named like those of `pandas.read_csv`."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from gensim_tfw2v.messages import quoted

#: Options that only CSV and similar tables can use.
DIALECT_OPTIONS = frozenset({"sep", "quotechar", "escapechar", "header", "names", "newlines"})


@dataclass(frozen=True)
class TableOptions:
    """Options with which tables are read; see `TableSentences`.

    Raises
    ------
    TypeError, ValueError
        If an option has a wrong type or value, or two options contradict each other.
    """

    sep: str | None = None
    quotechar: str | None = '"'
    escapechar: str | None = None
    header: int | str | None = "infer"
    names: Sequence[str] | None = None
    encoding: str | None = None
    newlines: bool = False
    lists: str | None = None
    recursive: bool = False

    def __post_init__(self) -> None:
        if self.sep == "\\t":  # two characters, as typed in a shell
            object.__setattr__(self, "sep", "\t")
        if self.quotechar == "":
            object.__setattr__(self, "quotechar", None)
        for name in ("sep", "quotechar", "escapechar"):
            _check_character(name, getattr(self, name))
        self.check_characters(self.sep)
        if self.header not in ("infer", None) and (
            not isinstance(self.header, int) or isinstance(self.header, bool) or self.header
        ):
            raise ValueError(
                "header must be 0 (the first row contains the names of the columns) or None (no "
                f"row does), got {quoted(self.header)}"
            )
        if self.names is not None:
            _check_names(self.names)
            object.__setattr__(self, "names", tuple(self.names))
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, TypeError):
                raise ValueError(
                    f"encoding must be the name of an encoding, such as 'utf-16', 'latin-1' or "
                    f"'cp1252', got {quoted(self.encoding)}"
                ) from None
        if self.lists not in (None, "json"):
            raise ValueError(f"lists must be None or 'json', got {quoted(self.lists)}")
        for name in ("newlines", "recursive"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {quoted(getattr(self, name))}")

    @property
    def has_header(self) -> bool:
        """True if the first row contains names of columns; the option `names` may replace them."""
        return self.header == 0 if self.header != "infer" else self.names is None

    def check_characters(self, sep: str | None) -> None:
        """Raise a ValueError if a character has two meanings.

        `sep` separates cells. It is None as long as no table is known whose suffix determines it.
        """
        characters = [sep, self.quotechar, self.escapechar]
        if len(characters) - characters.count(None) != len({*characters} - {None}):
            raise ValueError(
                f"sep, quotechar and escapechar must differ, got {quoted(sep)}, "
                f"{quoted(self.quotechar)} and {quoted(self.escapechar)}"
            )

    def non_defaults(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value != DEFAULTS[name]}


class TableColumn(NamedTuple):
    """Column of a table, and the options with which the table is read."""

    name: str
    options: TableOptions


def _check_character(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
        raise ValueError(f"{name} must be one character or None, got {quoted(value)}")


def _check_names(names: Any) -> None:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"names must be a list of strings, got {quoted(names)}")
    if len({*names}) < len(names):
        raise ValueError(f"names must differ from each other, got {quoted(list(names))}")


DEFAULTS = {field.name: field.default for field in fields(TableOptions)}
