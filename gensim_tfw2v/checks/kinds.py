"""Kinds of values that options take: each refuses others by the option's name."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Refuses a value: called with the option's name and what came.
Kind = Callable[[str, Any], None]


@dataclass(frozen=True)
class Number:
    """A finite number.

    Parameters
    ----------
    least, most : float
    above : bool
        Whether `least` itself is too little.
    whole : bool
        Whether it must be a whole number; a float may be one.
    exact : bool
        Whether a whole number that is a float is refused: gensim counts or makes arrays with it.
    from_text : bool
        Whether gensim's constructor converts strings.
    none : bool
        Whether None has a meaning.
    infinite : bool
        Whether it may be infinite.
    """

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    whole: bool = False
    exact: bool = False
    from_text: bool = False
    none: bool = False
    infinite: bool = False

    def __call__(self, name: str, given: Any) -> None:
        """Refuse what is no such number."""
        if given is None and self.none:
            return
        number = self._number(name, given)
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            raise ValueError(f"{name} must be {self._expected}, got {given!r}")
        if self.whole and number != int(number):
            raise ValueError(f"{name} must be {self._expected}, got {given!r}")
        if number < self.least or (self.above and number == self.least):
            bound = "above" if self.above else "at least"
            raise ValueError(f"{name} must be {bound} {self.least:g}, got {given!r}")
        if number > self.most:
            raise ValueError(f"{name} must be at most {self.most:,}, got {given!r}")

    @property
    def _expected(self) -> str:
        kind = (
            "a whole number" if self.whole else "a number" if self.infinite else "a finite number"
        )
        return f"{kind} or None" if self.none else kind

    def _number(self, name: str, given: Any) -> float:
        if isinstance(given, Integral | np.bool_):
            return int(given)
        try:
            if self.exact or isinstance(given, str | bytes | bytearray) and not self.from_text:
                raise TypeError
            if self.whole and isinstance(given, str):
                return int(given)
            return float(given)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{name} must be {self._expected}, got {given!r} of type {type(given).__name__}"
            ) from None


def stored(kind: Kind) -> Kind:
    """The same kind for a model's attribute, which nothing converts from text."""
    if isinstance(kind, Number):
        return Number(**{**vars(kind), "from_text": False})
    return kind


def seed(name: str, given: Any) -> None:
    """Refuse what NumPy, from which gensim draws, takes no seed from."""
    try:
        np.random.RandomState(given)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a whole number from 0 to 2**32 - 1, a sequence of those, or None for "
            f"another one each time, got {given!r}"
        ) from None


def stored_seed(name: str, given: Any) -> None:
    """Refuse what is no whole number, sequence of them or None: gensim trains with any."""
    if given is None or isinstance(given, Integral | np.bool_):
        return
    if isinstance(given, str) or np.asarray(given).dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be a whole number, a sequence of those, or None for another one each "
            f"time, got {given!r}"
        )


def folder(name: str, given: Any) -> None:
    """Refuse what is no path."""
    if given is None:
        return
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise TypeError(
            f"{name} must be the path of a folder or None, got {given!r} of type "
            f"{type(given).__name__}"
        )
    if not os.fspath(given):
        raise ValueError(f"{name} is an empty path: give '.' for the working directory")


def flag(name: str, given: Any) -> None:
    """Refuse what is neither yes, nor no, nor None: a text such as "no" would be a yes."""
    if not (given is None or isinstance(given, bool | np.bool_) or given in (0, 1)):
        raise TypeError(f"{name} must be True, False or None, got {given!r}")


def function(name: str, given: Any) -> None:
    """Refuse what cannot be called."""
    if given is not None and not callable(given):
        raise TypeError(f"{name} must be a function or None, got {given!r}")


def callbacks(name: str, given: Any) -> None:
    """Refuse what is no sequence of gensim's callbacks."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of callbacks, got {given!r}: give [{given!r}]")
    if not isinstance(given, list | tuple | set):
        return  # which looking would use up
    for callback in given:
        for method in ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end"):
            if not callable(getattr(callback, method, None)):
                raise TypeError(
                    f"{name} holds {callback!r}, which has no {method}: derive it from "
                    "gensim.models.callbacks.CallbackAny2Vec"
                )


def real(name: str, given: Any) -> None:
    """Refuse what is no number at all, or none that can be compared."""
    if not isinstance(given, Real | np.bool_) or given != given:
        raise TypeError(f"{name} must be a number, got {given!r} of type {type(given).__name__}")
