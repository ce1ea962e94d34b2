"""Options that training cannot run with, refused by their names before any work is done."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.kernel.choices import NATIVE_BLOCK, WIDEST_WINDOW
from gensim_tfw2v.messages import quoted

#: Kernels count the negatives of all positions of a block as int.
MOST_NEGATIVES = (1 << 28) // NATIVE_BLOCK

#: gensim makes a whole number of this times 3 + sqrt(5).
LARGEST_SAMPLE = sys.float_info.max / 6

#: A kind of values, which refuses others: called with the option's name and what came.
Kind = Callable[[str, Any], None]


@dataclass(frozen=True)
class Number:
    """A finite number from `least` to `most`."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False  # whether `least` itself is too little
    whole: bool = False  # a float may be a whole number
    exact: bool = False  # no float is one: gensim counts or makes arrays with it
    from_text: bool = False  # gensim's constructor converts strings
    none: bool = False  # None has a meaning
    infinite: bool = False  # it may be infinite

    def __call__(self, name: str, value: Any) -> None:
        """Refuse what is no such number."""
        if value is None and self.none:
            return
        number = self._number(name, value)
        is_allowed = (
            isinstance(number, int)
            or math.isfinite(number)
            or (self.infinite and math.isinf(number))
        )
        if not is_allowed or (self.whole and number != int(number)):
            raise ValueError(f"{name} must be {self._expected}, got {quoted(value)}")
        if number < self.least or (self.above and number == self.least):
            bound = "above" if self.above else "at least"
            raise ValueError(f"{name} must be {bound} {self.least:g}, got {quoted(value)}")
        if number > self.most:
            most = f"{self.most:{',' if isinstance(self.most, int) else 'g'}}"
            raise ValueError(f"{name} must be at most {most}, got {quoted(value)}")

    @property
    def _expected(self) -> str:
        kind = "whole number" if self.whole else "number" if self.infinite else "finite number"
        return f"a {kind} or None" if self.none else f"a {kind}"

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, Integral | np.bool_) and (self.whole or self.exact):
            return int(value)
        try:
            if isinstance(value, Integral | np.bool_):
                float(value)  # which is an OverflowError for a number of hundreds of digits
                return int(value)
            if self.exact or isinstance(value, str | bytes | bytearray) and not self.from_text:
                raise TypeError
            if self.whole and isinstance(value, str):
                return int(value)
            return float(value)
        except OverflowError:  # of a whole number
            return math.inf if value > 0 else -math.inf
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{name} must be {self._expected}, got {quoted(value)} of type "
                f"{type(value).__name__}"
            ) from None


def _seed(name: str, value: Any) -> None:
    """Refuse what NumPy, from which gensim draws, takes no seed from."""
    try:
        np.random.RandomState(value)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a whole number from 0 to 2**32 - 1, a sequence of those, or None for "
            f"another one each time, got {quoted(value)}"
        ) from None


def _stored_seed(name: str, value: Any) -> None:
    """Refuse what is no whole number, sequence of them or None: gensim trains with any."""
    if value is None or isinstance(value, Integral | np.bool_):
        return
    if isinstance(value, str) or np.asarray(value).dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be a whole number, a sequence of those, or None for another one each "
            f"time, got {quoted(value)}"
        )


def _folder(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(
            f"{name} must be the path of a folder or None, got {quoted(value)} of type "
            f"{type(value).__name__}"
        )
    if not os.fspath(value):
        raise ValueError(f"{name} is an empty path: give '.' for the working directory")


def _flag(name: str, value: Any) -> None:
    """Refuse what is neither yes, nor no, nor None: a text such as "no" would be a yes."""
    if not (value is None or isinstance(value, bool | np.bool_) or value in (0, 1)):
        raise TypeError(f"{name} must be True, False or None, got {quoted(value)}")


def _function(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {quoted(value)}")


def _callbacks(name: str, value: Any) -> None:
    if not isinstance(value, Iterable):
        raise TypeError(
            f"{name} must be a list of callbacks, got {quoted(value)}: give [{quoted(value)}]"
        )
    if not isinstance(value, list | tuple | set):
        return  # which looking would use up
    for callback in value:
        for method in ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end"):
            if not callable(getattr(callback, method, None)):
                raise TypeError(
                    f"{name} holds {quoted(callback)}, which has no {method}: derive it from "
                    "gensim.models.callbacks.CallbackAny2Vec"
                )


def _real(name: str, value: Any) -> None:
    """Refuse what is no number at all, or cannot be compared."""
    if not isinstance(value, Real | np.bool_) or value != value:
        raise TypeError(
            f"{name} must be a number, got {quoted(value)} of type {type(value).__name__}"
        )


#: gensim's `int(option)`: also of text.
_CONVERTED = {"whole": True, "from_text": True}

#: Of the constructor; those that are attributes, too, are checked in `train` again.
OPTIONS: dict[str, Kind] = {
    "vector_size": Number(least=1, most=2**31 - 1, whole=True, exact=True),
    "window": Number(least=1, most=WIDEST_WINDOW, **_CONVERTED),
    "workers": Number(least=1, **_CONVERTED),
    "negative": Number(least=0, most=MOST_NEGATIVES, **_CONVERTED),
    "sg": Number(**_CONVERTED),
    "hs": Number(**_CONVERTED),
    "cbow_mean": Number(**_CONVERTED),
    "alpha": Number(from_text=True),
    "min_alpha": Number(from_text=True),
    "epochs": Number(whole=True, exact=True, none=True),
    "sample": Number(most=LARGEST_SAMPLE, none=True),
    "ns_exponent": Number(from_text=True),
    "min_count": _real,
    "max_vocab_size": Number(none=True, infinite=True),
    "max_final_vocab": Number(whole=True, exact=True, none=True),
    "batch_words": Number(infinite=True),
    "min_n": Number(least=0, whole=True, exact=True),
    "max_n": Number(least=0, whole=True, exact=True),
    "bucket": Number(least=0, most=2**31 - 1, whole=True, exact=True),
    "seed": _seed,
    "trim_rule": _function,
    "callbacks": _callbacks,
    "negative_shards": Number(least=1, most=MOST_NEGATIVES, whole=True),
    "checkpoint_minutes": Number(least=0, above=True, infinite=True),
    "checkpoint_dir": _folder,
    "encoded_dir": _folder,
    "tables_dir": _folder,
    "progress": _flag,
}

#: Attributes of a model, changed or loaded.
ATTRIBUTES: dict[str, Kind] = {
    name: replace(kind, from_text=False) if isinstance(kind, Number) else kind  # none is converted
    for name, kind in OPTIONS.items()
    if name not in ("trim_rule", "callbacks")
} | {"seed": _stored_seed, "ns_exponent": OPTIONS["ns_exponent"]}  # gensim converts it later

#: Arguments of `train`; gensim says which of them are missing.
ARGUMENTS: dict[str, Kind] = {
    "epochs": Number(whole=True, exact=True, none=True),
    "start_alpha": Number(none=True),
    "end_alpha": Number(none=True),
    "total_examples": Number(none=True),
    "total_words": Number(none=True),
    "report_delay": Number(infinite=True),
    "callbacks": _callbacks,
}


def check_options(options: Mapping[str, Any], table: Mapping[str, Kind] = OPTIONS) -> None:
    """Raise TypeError or ValueError for options of another kind than in the table, or range.

    The table is `OPTIONS`, `ATTRIBUTES` or `ARGUMENTS`; options that it lacks are not looked at.
    """
    for name, kind in table.items():
        if name in options:
            kind(name, options[name])


def check_attributes(model: Any) -> TrainingConfig:
    """Refuse attributes of a model, changed or loaded, as `check_options` does options."""
    check_options(
        {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}, ATTRIBUTES
    )
    return TrainingConfig.of(model)
