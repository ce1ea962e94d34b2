"""Checks of the numbers that a plan is made from, and deprecated names of attributes."""

import math
import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from gensim_tfw2v.messages import quoted


def check_whole(name: str, value: Any) -> None:
    """Raise a TypeError or ValueError unless a value is a whole number from 1 up."""
    if not isinstance(value, Integral):
        raise TypeError(
            f"{name} must be a whole number, got {quoted(value)} of type {type(value).__name__}"
        )
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {quoted(value)}")


def check_finite(name: str, value: Any, *, may_be_zero: bool = False) -> None:
    """Raise a TypeError or ValueError unless a value is a finite number above 0.

    With `may_be_zero`, 0 is accepted, too.
    """
    if not isinstance(value, Real):
        raise TypeError(
            f"{name} must be a finite number, got {quoted(value)} of type {type(value).__name__}"
        )
    interval = "from 0 up" if may_be_zero else "above 0"
    if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_zero):
        raise ValueError(f"{name} must be a finite number {interval}, got {quoted(value)}")


class DeprecatedAttribute:
    """Descriptor of an attribute's deprecated name: returns the attribute, with a warning."""

    def __init__(self, deprecated_name: str, name: str) -> None:
        self._deprecated_name = deprecated_name
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        warnings.warn(
            f"{self._deprecated_name} is deprecated: use {self._name}, its new name",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(owner if instance is None else instance, self._name)


def add_deprecated_names(owner: type, names: Mapping[str, str]) -> None:
    """Make attributes of a class readable by deprecated names. `names` maps them to new names."""
    for deprecated_name, name in names.items():
        attribute = DeprecatedAttribute(f"{owner.__name__}.{deprecated_name}", name)
        setattr(owner, deprecated_name, attribute)
