"""Kinds of values: functions that check the value of an option, and return it as training uses it.

A kind is called with an option's name and its value, unless the value is the default. It raises a
TypeError or ValueError if the value is of the wrong type or out of range.
"""

import math
import operator
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gensim_tfw2v.messages import quoted

#: The largest int32.
MAX_INT = 2**31 - 1

#: Function of an option's name and value that returns the checked value.
Kind = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Number:
    """Number from `minimum` to `maximum`."""

    minimum: float = -math.inf
    maximum: float = math.inf
    none: bool = False  # whether None is valid
    text: bool = False  # whether strings are converted, as by gensim's constructor
    expected: ClassVar[str]

    def __call__(self, name: str, value: Any) -> Any:
        """Return the number, or None."""
        if value is None and self.none:
            return None
        try:
            if isinstance(value, str | bytes | bytearray) and not self.text:
                raise TypeError
            converted = self.convert(value)
        except (TypeError, ValueError, OverflowError) as error:
            or_none = " or None" if self.none else ""
            raise (TypeError if isinstance(error, TypeError) else ValueError)(
                f"{name} must be a {self.expected}{or_none}, got {quoted(value)} of "
                f"type {type(value).__name__}"
            ) from None
        if converted < self.minimum:
            raise ValueError(f"{name} must be at least {self.minimum:g}, got {quoted(value)}")
        if converted > self.maximum:
            style = "," if isinstance(self.maximum, int) else "g"
            raise ValueError(f"{name} must be at most {self.maximum:{style}}, got {quoted(value)}")
        return converted

    def convert(self, value: Any) -> Any:
        """Return the value as a number."""
        raise NotImplementedError


@dataclass(frozen=True)
class Whole(Number):
    """Whole number: an integer, or, unless `exact`, a float that equals one."""

    #: True: floats are invalid, because gensim uses the number in range() or as a shape.
    exact: bool = False
    expected = "whole number"

    def convert(self, value: Any) -> int:
        """Return the value as an integer."""
        if self.exact and not isinstance(value, np.bool_):
            return operator.index(value)
        integer = int(value)
        if integer != value and not isinstance(value, str | bytes | bytearray):
            raise ValueError
        return integer


@dataclass(frozen=True)
class Finite(Number):
    """Finite number."""

    expected = "finite number"

    def convert(self, value: Any) -> float:
        """Return the value as a float."""
        real = float(value)
        if not math.isfinite(real):
            raise ValueError
        return real


@dataclass(frozen=True)
class OneOf:
    """One of several strings."""

    values: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> Any:
        """Return the string."""
        if value not in self.values:
            raise ValueError(
                f"{name} is {quoted(value)}: use {' or '.join(map(repr, self.values))}"
            )
        return value


def comparable(name: str, value: Any) -> Any:
    """Check a real number that is only compared with others, so it may be infinite."""
    if not isinstance(value, Real | np.bool_) or value != value:
        raise TypeError(
            f"{name} must be a number, got {quoted(value)} of type {type(value).__name__}"
        )
    return value


def positive(name: str, value: Any) -> Any:
    """Check an integer from 1 to the largest int32, the type of TensorFlow's counters."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, got {quoted(value)}")
    if value > MAX_INT:
        raise ValueError(
            f"{name} must be a whole number from 1 to {MAX_INT:,}, got {quoted(value)}"
        )
    return value


def minutes(name: str, value: Any) -> Any:
    """Check a time in minutes, which may be infinite."""
    if isinstance(value, Real) and value != value:
        raise ValueError(f"{name} must be a number, got {quoted(value)}")
    if comparable(name, value) <= 0:
        raise ValueError(f"{name} must be above 0, got {quoted(value)}")
    return value


def truth(name: str, value: Any) -> bool:
    """Convert any value to a bool."""
    return bool(value)


def flag(name: str, value: Any) -> Any:
    """Check a bool, 0 or 1. Strings are invalid, because even "no" would count as true."""
    if not isinstance(value, bool | np.bool_) and value not in (0, 1):
        raise TypeError(f"{name} must be True, False or None, got {quoted(value)}")
    return value


def seed(name: str, value: Any) -> Any:
    """Check a seed: any value that NumPy's RandomState accepts, because gensim passes it on."""
    try:
        np.random.RandomState(value)
    except (TypeError, ValueError) as error:
        raise seed_error(
            type(error), f"{name} must be a whole number from 0 to 2**32 - 1", value
        ) from None
    return value


def stored_seed(name: str, value: Any) -> Any:
    """Check a model's seed: None, a whole number of any size, or a sequence of whole numbers."""
    if value is None or isinstance(value, Integral | np.bool_):
        return value
    requirement = f"{name} must be a whole number"
    if isinstance(value, str) or np.asarray(value).dtype.kind not in "iub":
        raise seed_error(TypeError, requirement, value)
    if np.ndim(value) > 1:
        raise seed_error(ValueError, requirement, value)
    return value


def seed_error(error: type[Exception], requirement: str, value: Any) -> Exception:
    """Return the error for an invalid seed."""
    return error(
        f"{requirement}, a sequence of those, or None for a random one each time, "
        f"got {quoted(value)}"
    )


def folder(name: str, value: Any) -> Path:
    """Check the path of a folder."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(
            f"{name} must be the path of a folder or None, got {quoted(value)} of type "
            f"{type(value).__name__}"
        )
    if not os.fspath(value):
        raise ValueError(f"{name} is an empty path: use '.' for the working directory")
    return Path(value)


def function(name: str, value: Any) -> Any:
    """Check a function."""
    if not callable(value):
        raise TypeError(f"{name} must be a function or None, got {quoted(value)}")
    return value


def callbacks(name: str, value: Any) -> Any:
    """Check gensim's callbacks."""
    if not isinstance(value, Iterable):
        raise TypeError(
            f"{name} must be a list of callbacks, got {quoted(value)}: pass [{quoted(value)}]"
        )
    # an iterator is not checked, because iterating over it would exhaust it
    for callback in value if isinstance(value, list | tuple | set) else ():
        for method in ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end"):
            if not callable(getattr(callback, method, None)):
                raise TypeError(
                    f"{name} holds {quoted(callback)}, which has no {method}: derive it from "
                    "gensim.models.callbacks.CallbackAny2Vec"
                )
    return value
