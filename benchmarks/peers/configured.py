"""Tools to compare, read from a TOML file."""

import importlib.util
import re
import shlex
import shutil
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.peers.records import Settings

#: File with the tools that are compared by default.
SHIPPED = Path(__file__).with_name("peers.toml")

#: Placeholders that a command may contain.
PLACEHOLDERS = {"python", "corpus", "vectors", "seed", *Settings().placeholders()}

#: Formats of the file of vectors that a tool writes: those of word2vec.
FORMATS = ("text", "binary")

#: Types of the fields of a tool in the TOML file that are not strings.
FIELD_TYPES: dict[str, type] = {"versions": list, "modules": list, "only": dict}


class ConfigurationError(Exception):
    """Invalid configuration; the message names the file, the tool and the fault."""


@dataclass(frozen=True)
class Peer:
    """A tool; see `peers.toml` for the fields."""

    name: str
    command: str
    format: str = "text"
    seconds: str | None = None
    versions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    only: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def fill_in(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words of the command, with values in place of the placeholders.

        The command is split before the replacement, so a path with blanks remains one word.
        """
        return [word.format(**values) for word in shlex.split(self.command)]

    def describe_mismatch(self, settings: Settings) -> str | None:
        """Return the reason why the tool cannot run here, with a remedy; None if it can."""
        settings_values = settings.placeholders()
        for name, value in self.only.items():
            if settings_values[name] != value:
                return f"it needs {name}={value}"
        for module in self.modules:
            if importlib.util.find_spec(module) is None:
                return f"Python finds no module {module}; run: pip install '.[peers]'"
        program = shlex.split(self.command)[0].format(python=sys.executable)
        if shutil.which(program) is None:
            return f"program {program} not found"
        return None


def read(path: Path) -> list[Peer]:
    """Read the tools of a file, in its order.

    Raises
    ------
    ConfigurationError
        If the file is not TOML, or a tool has no command, an unknown key or an unknown placeholder.
    OSError
        If the file cannot be read.
    """
    try:
        tables = _parse_toml(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    return [_peer(f"{path}: {name}", name, table) for name, table in tables.items()]


def _parse_toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _peer(where: str, name: str, table: Any) -> Peer:
    known_keys = [field.name for field in fields(Peer)][1:]
    if not isinstance(table, dict) or "command" not in table:
        raise ConfigurationError(f"{where}: a tool is a table with a command")
    for key, value in table.items():
        if key not in known_keys:
            raise ConfigurationError(f"{where}: unknown key {key} (known: {', '.join(known_keys)})")
        if not isinstance(value, kind := FIELD_TYPES.get(key, str)):
            raise ConfigurationError(f"{where}: {key} must be a {kind.__name__}")
    if table.get("format", "text") not in FORMATS:
        raise ConfigurationError(f"{where}: format must be one of {', '.join(FORMATS)}")
    if unknown := set(table.get("only", {})) - set(Settings().placeholders()):
        raise ConfigurationError(
            f"{where}: only contains unknown settings: {', '.join(sorted(unknown))}"
        )
    try:
        placeholders = {part[1] for part in string.Formatter().parse(table["command"])} - {None}
        words = shlex.split(table["command"])
    except ValueError as error:
        raise ConfigurationError(f"{where}: command: {error}") from error
    if unknown := {str(placeholder) for placeholder in placeholders} - PLACEHOLDERS:
        raise ConfigurationError(
            f"{where}: command: unknown {', '.join(f'{{{name}}}' for name in sorted(unknown))} "
            f"(known: {', '.join(sorted(PLACEHOLDERS))})"
        )
    if not words or "vectors" not in placeholders:
        raise ConfigurationError(f"{where}: command: must write {{vectors}}")
    lists = {key: tuple(table[key]) for key in ("versions", "modules") if key in table}
    note = " ".join(table.get("note", "").split())
    peer = Peer(**{**table, **lists, "name": name, "note": note})
    try:
        peer.fill_in(dict.fromkeys(PLACEHOLDERS, "") | Settings().placeholders() | {"seed": 1})
    except (AttributeError, IndexError, ValueError) as error:
        raise ConfigurationError(f"{where}: command: {error}") from error
    if peer.seconds is not None:
        _check_pattern(where, peer.seconds)
    return peer


def _check_pattern(where: str, pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ConfigurationError(f"{where}: seconds: {error}") from error
    if groups != 1:
        raise ConfigurationError(f"{where}: seconds: has {groups} groups, but must have one")
