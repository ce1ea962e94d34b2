"""Checks of the values that were typed for options and arguments, by their declarations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.messages import number, quoted, whole_number

# Limits of whole numbers that are declared without limits: those of 64 bits.
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1


def check_value(name: str, text: str, declared_type: Any, settings: Any) -> None:
    """Raise for a text that is not a valid value of an option or argument.

    Parameters
    ----------
    name : str
        Option or argument, for the message.
    text : str
        Typed text.
    declared_type : type
        Declared type, such as ``int | None`` or ``list[Path]``.
    settings : typer.models.ParameterInfo
        Declared limits of numbers in `min` and `max`. `allow_dash` is true for paths that may be
        ``-``.

    Raises
    ------
    BadInput
        The message contains the text and the allowed values.
    """
    (item_type,) = _item_types(declared_type)
    if item_type is int:
        _check_number(name, text, whole_number, "whole number", settings)
    elif item_type is float:
        _check_number(name, text, number, "number", settings)
    elif item_type is Path:
        _check_path(name, text, settings.allow_dash)
    elif get_origin(item_type) is Literal and text not in get_args(item_type):
        raise BadInput(f"{name} is {quoted(text)}: give {' or '.join(get_args(item_type))}")


def _item_types(declared_type: Any) -> set[Any]:
    """Return the types in a type such as ``int | None`` or ``list[Path]``, without None."""
    if get_origin(declared_type) in (None, Literal):
        return {declared_type} - {type(None)}
    return {item for part in get_args(declared_type) for item in _item_types(part)}


def _check_number(name: str, text: str, parse: Any, noun: str, settings: Any) -> None:
    """Raise if `parse` refuses the text, or if its number is outside the declared limits."""
    low = -math.inf if settings.min is None else settings.min
    high = math.inf if settings.max is None else settings.max
    if parse is whole_number:
        low = max(low, MIN_INTEGER)
        high = min(high, MAX_INTEGER)
    try:
        value = parse(text)
        hint = ""
    except ValueError:
        value = math.nan
        hint = ", in digits only" if parse is whole_number else ", written as 1.5 or 15e-1"
    if low <= value <= high:
        return
    limits = ""
    if settings.max is not None or value > high:
        limits = f" from {low:,} to {high:,}"
    elif settings.min is not None:
        limits = f" from {low:,} up"
    raise BadInput(f"{name} is {quoted(text)}: give a {noun}{limits}{hint}")


def _check_path(name: str, text: str, may_be_dash: bool) -> None:
    """Raise for an empty path, and for ``-`` unless it may stand for a standard stream."""
    if not text:
        raise BadInput(f"{name} is empty: give a path; this folder is .")
    if text == "-" and not may_be_dash:
        raise BadInput(
            f"{name} is -, but standard input and output cannot be used here: give a path, or "
            "./- for one that is named -"
        )
