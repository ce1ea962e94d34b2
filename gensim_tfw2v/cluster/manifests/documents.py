"""YAML documents, written so that every reader of YAML understands the same."""

import re
from typing import Any

from gensim_tfw2v.cluster.yaml_files import yaml_module

Value = str | int | bool | list["Value"] | dict[str, "Value"]

#: Texts that no version of YAML takes for a number or a date. PyYAML itself writes 1e-3 as it is,
#: which Kubernetes and Compose take for a number.
_PLAIN = re.compile(r"(-{0,2}[A-Za-z]|/)[\w./-]*", re.ASCII)


def document(value: Value, comment: str = "") -> str:
    """Write a value as a YAML document.

    Parameters
    ----------
    value : dict, list, str, int or bool
    comment : str
        What stands above it; its lines get a ``#``.

    Raises
    ------
    ImportError
        If PyYAML is missing.
    """
    yaml = yaml_module("this file is YAML, and writing it")

    safe: Any = yaml.SafeDumper

    class Dumper(safe):
        def ignore_aliases(self, data: Any) -> bool:
            return True  # what occurs twice is written twice

    def text(dumper: Any, data: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=_style(data))

    Dumper.add_representer(str, text)
    above = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return above + yaml.dump(
        value, Dumper=Dumper, sort_keys=False, width=float("inf"), allow_unicode=True
    )


def _style(text: str) -> str | None:
    if not text.replace("\n", "").isprintable():
        return '"'  # which has names for all characters
    if "\n" in text:
        return "|"
    return None if _PLAIN.fullmatch(text) else "'"
