"""The little of YAML that manifests need to be written: mappings, lists, strings, numbers."""

import json
import re
from collections.abc import Iterator

Value = str | int | bool | list["Value"] | dict[str, "Value"]

_PLAIN = re.compile(r"(-{0,2}[A-Za-z]|/)[\w./-]*", re.ASCII)
#: The longest list of words that stands on one line.
LINE = 80

_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
_BLOCK = re.compile(r"([!-~][ -~]*[!-~]\n|[!-~]\n)([ -~]*[!-~]\n)+")
#: Characters that JSON leaves as they are, and YAML does not allow.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def document(value: Value, comment: str = "") -> str:
    """Write a value as a YAML document.

    Parameters
    ----------
    value : dict, list, str, int or bool
    comment : str
        What stands above it; its lines get a ``#``.
    """
    above = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return above + "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Value) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_scalar(key)}:", item, "  ")
    elif isinstance(value, list) and value:
        for item in value:
            inner = list(_lines(item)) if isinstance(item, (dict, list)) else [_scalar(item)]
            yield f"- {inner[0]}"
            yield from (f"  {line}" if line else line for line in inner[1:])
    else:
        yield _scalar(value)


def _entry(key: str, item: Value, indent: str) -> Iterator[str]:
    if isinstance(item, str) and _BLOCK.fullmatch(item):
        yield f"{key} |"
        yield from (f"{indent}{line}" for line in item.splitlines())
    elif isinstance(item, list) and (line := _in_line(item)):
        yield f"{key} {line}"
    elif isinstance(item, (dict, list)) and item:
        yield key
        # a list may stand under its key without being indented, as is usual
        inner = "" if isinstance(item, list) else indent
        yield from (f"{inner}{line}" if line else line for line in _lines(item))
    else:
        yield f"{key} {_scalar(item)}"


def _in_line(items: list[Value]) -> str | None:
    """A short list without lists and mappings, on one line."""
    if any(isinstance(item, (dict, list)) for item in items):
        return None
    text = f"[{', '.join(map(_scalar, items))}]"
    return text if len(text) <= LINE else None


def _scalar(value: Value) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, str) and '"' in value and value.isascii() and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    # JSON is YAML
    return _UNPRINTABLE.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )
