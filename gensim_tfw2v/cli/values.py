"""Checks of what was typed for an option or argument, by its declaration."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.messages import number, quoted, whole_number

#: Limits of whole numbers whose declaration has none.
LEAST, MOST = -(2**63), 2**63 - 1


def check_value(name: str, text: str, type_: Any, settings: Any) -> None:
    """Raise for a text that is no value of an option or argument.

    Parameters
    ----------
    name : str
        Option or argument, for the message.
    text : str
        What was typed.
    type_ : type
        Declared type, such as ``int | None`` or ``list[Path]``.
    settings : typer.models.ParameterInfo
        Declared limits of numbers in `min` and `max`. `allow_dash` is true for paths that may be
        ``-``.

    Raises
    ------
    BadInput
        With the text and the allowed values.
    """
    (one,) = _item_types(type_)
    if one is int:
        _check_number(name, text, whole_number, "whole number", settings)
    elif one is float:
        _check_number(name, text, number, "number", settings)
    elif one is Path:
        _check_path(name, text, settings.allow_dash)
    elif get_origin(one) is Literal and text not in (allowed := get_args(one)):
        raise BadInput(f"{name} is {quoted(text)}: give {' or '.join(allowed)}")


def _item_types(type_: Any) -> set[Any]:
    """Return the types in an optional type or a type of lists, without None."""
    if get_origin(type_) in (None, Literal):
        return {type_} - {type(None)}
    return {item for part in get_args(type_) for item in _item_types(part)}


def _check_number(name: str, text: str, read: Any, what: str, settings: Any) -> None:
    low = -math.inf if settings.min is None else settings.min
    high = math.inf if settings.max is None else settings.max
    if read is whole_number:
        low, high = max(low, LEAST), min(high, MOST)
    try:
        value = read(text)
        how = ""
    except ValueError:
        value = math.nan
        how = ", in digits only" if read is whole_number else ", written as 1.5 or 15e-1"
    if low <= value <= high:
        return
    limits = ""
    if settings.max is not None or value > high:
        limits = f" from {low:,} to {high:,}"
    elif settings.min is not None:
        limits = f" from {low:,} up"
    raise BadInput(f"{name} is {quoted(text)}: give a {what}{limits}{how}")


def _check_path(name: str, text: str, may_be_dash: bool) -> None:
    if not text:
        raise BadInput(f"{name} is empty: give a path; this folder is .")
    if text == "-" and not may_be_dash:
        raise BadInput(
            f"{name} is -, but standard input and output cannot be used here: give a path, or "
            "./- for one that is named -"
        )
