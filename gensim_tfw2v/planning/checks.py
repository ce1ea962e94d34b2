"""Checks of the numbers that a plan is made of, and warnings of deprecated names."""

import math
import warnings
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
    """Raise a TypeError or ValueError unless a value is a finite number above 0, or also 0."""
    if not isinstance(value, Real):
        raise TypeError(
            f"{name} must be a finite number, got {quoted(value)} of type {type(value).__name__}"
        )
    interval = "from 0 up" if may_be_zero else "above 0"
    if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_zero):
        raise ValueError(f"{name} must be a finite number {interval}, got {quoted(value)}")


def warn_of_new_name(deprecated: str, name: str) -> None:
    """Warn the caller of the calling function, which has a deprecated name."""
    warnings.warn(
        f"{deprecated} is deprecated: use {name}, its new name", DeprecationWarning, stacklevel=3
    )
