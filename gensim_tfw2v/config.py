"""A model's options: which values each takes, and what training makes of them."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.cluster.local_cluster import LocalTasks, parse_cluster
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.kernel.program import Objective
from gensim_tfw2v.kernel.sizes import NATIVE_BLOCK, WIDEST_WINDOW
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog, log_options
from gensim_tfw2v.regimes.options import (
    Asynchronous,
    Deterministic,
    RegimeOptions,
    parse_regime,
)
from gensim_tfw2v.regimes.parameter_server import LAYOUTS

#: Kernels count the negatives of all positions of a block as int.
MOST_NEGATIVES = (1 << 28) // NATIVE_BLOCK

#: gensim makes a whole number of this times 3 + sqrt(5).
LARGEST_SAMPLE = sys.float_info.max / 6

#: A kind of values, called with an option's name and what came: it refuses others, by TypeError or
#: ValueError, and gives the value as training takes it.
Kind = Callable[[str, Any], Any]


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

    def __call__(self, name: str, value: Any) -> Any:
        """Give the number, or None."""
        if value is None and self.none:
            return None
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
        return int(number) if self.whole else number

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


def _seed(name: str, value: Any) -> Any:
    """Refuse what NumPy, from which gensim draws, takes no seed from."""
    try:
        np.random.RandomState(value)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a whole number from 0 to 2**32 - 1, a sequence of those, or None for "
            f"another one each time, got {quoted(value)}"
        ) from None
    return value


def _stored_seed(name: str, value: Any) -> Any:
    """Refuse what is no whole number, sequence of them or None: gensim trains with any."""
    if value is None or isinstance(value, Integral | np.bool_):
        return value
    if isinstance(value, str) or np.asarray(value).dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be a whole number, a sequence of those, or None for another one each "
            f"time, got {quoted(value)}"
        )
    return value


def _folder(name: str, value: Any) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(
            f"{name} must be the path of a folder or None, got {quoted(value)} of type "
            f"{type(value).__name__}"
        )
    if not os.fspath(value):
        raise ValueError(f"{name} is an empty path: give '.' for the working directory")
    return Path(value)


def _flag(name: str, value: Any) -> Any:
    """Refuse what is neither yes, nor no, nor None: a text such as "no" would be a yes."""
    if not (value is None or isinstance(value, bool | np.bool_) or value in (0, 1)):
        raise TypeError(f"{name} must be True, False or None, got {quoted(value)}")
    return value


def _function(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, got {quoted(value)}")
    return value


def _callbacks(name: str, value: Any) -> Any:
    if not isinstance(value, Iterable):
        raise TypeError(
            f"{name} must be a list of callbacks, got {quoted(value)}: give [{quoted(value)}]"
        )
    # looking would use up an iterator
    for callback in value if isinstance(value, list | tuple | set) else ():
        for method in ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end"):
            if not callable(getattr(callback, method, None)):
                raise TypeError(
                    f"{name} holds {quoted(callback)}, which has no {method}: derive it from "
                    "gensim.models.callbacks.CallbackAny2Vec"
                )
    return value


def _real(name: str, value: Any) -> Any:
    """Refuse what is no number at all, or cannot be compared."""
    if not isinstance(value, Real | np.bool_) or value != value:
        raise TypeError(
            f"{name} must be a number, got {quoted(value)} of type {type(value).__name__}"
        )
    return value


def _layout(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in LAYOUTS:
        raise ValueError(f"{name} is {quoted(value)}: give {' or '.join(map(repr, LAYOUTS))}")
    return value


def _or_none(parse: Callable[[Any], Any]) -> Kind:
    return lambda name, value: None if value is None else parse(value)


def _as_truth(name: str, value: Any) -> bool:
    return bool(value)


#: gensim's `int(option)`: also of text.
_CONVERTED = {"whole": True, "from_text": True}

#: Of the constructor; those that are attributes, too, are parsed in `train` again.
OPTIONS: dict[str, Kind] = {
    "vector_size": Number(least=1, most=2**31 - 1, whole=True, exact=True),
    "window": Number(least=1, most=WIDEST_WINDOW, **_CONVERTED),
    "workers": Number(least=1, **_CONVERTED),
    "negative": Number(least=0, most=MOST_NEGATIVES, **_CONVERTED),
    "sg": Number(**_CONVERTED),
    "dm": Number(least=0, most=1, whole=True, exact=True),
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
    "shrink_windows": _as_truth,
    "corrected_cbow": _as_truth,
    "deterministic": _as_truth,
    "has_subwords": _as_truth,
    "has_documents": _as_truth,
    "dbow_words": _as_truth,
    "dm_concat": _as_truth,
    "dm_tag_count": Number(least=0, whole=True, exact=True),
    "log_dir": lambda name, value: log_options(value),
    "regime": _or_none(parse_regime),
    "cluster": _or_none(parse_cluster),
    "layout": _layout,
}

#: Attributes of a model, changed or loaded.
ATTRIBUTES: dict[str, Kind] = {
    name: replace(kind, from_text=False) if isinstance(kind, Number) else kind  # none is converted
    for name, kind in OPTIONS.items()
    if name not in ("trim_rule", "callbacks")
} | {"seed": _stored_seed, "ns_exponent": OPTIONS["ns_exponent"]}  # gensim converts it later

#: Those that no model may lack.
NEEDED = {"sg", "hs", "negative", "cbow_mean", "vector_size", "window", "alpha", "workers"}

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


def parse(options: Mapping[str, Any], kinds: Mapping[str, Kind] = OPTIONS) -> dict[str, Any]:
    """Give options as training takes them, but for those that `kinds` lacks.

    `kinds` is `OPTIONS`, `ATTRIBUTES` or `ARGUMENTS`. Raises TypeError or ValueError for a value of
    another kind or out of range, and ClusterError for an invalid `cluster`.
    """
    has_no_windows = options.get("has_documents") and not options.get("dbow_words")
    if has_no_windows and options.get("sg") and options.get("window") == 0:  # as programs say so
        options = {**options, "window": 1}
    return {name: kind(name, options[name]) for name, kind in kinds.items() if name in options}


@dataclass(frozen=True)
class TrainingConfig:
    """Options of a training, as its code reads them; `TFWord2Vec` says what they mean."""

    objective: Objective
    has_subwords: bool  # whether inputs are made of n-grams' rows, too
    has_documents: bool  # whether tags of documents are inputs, too
    dbow_words: bool  # whether skip-gram of documents trains words, too
    concatenated: int  # rows that are a hidden layer, one after the other; 0: their sum or mean
    vector_size: int
    window: int
    alpha: float
    negative_shards: int
    workers: int
    shrink_windows: bool
    deterministic: bool
    cluster: Cluster | LocalTasks | None
    regime: RegimeOptions | None  # None for the default: see `Plan`
    layout: str  # "rows" or "columns"
    log: TensorBoardLog | None
    checkpoint_dir: Path | None
    checkpoint_seconds: float
    encoded_dir: Path | None
    progress: bool | None

    @classmethod
    def of(cls, model: Any) -> "TrainingConfig":
        """Parse the attributes of a model, which may have been changed, or loaded."""
        names = [n for n in ATTRIBUTES if n in NEEDED or hasattr(model, n)]
        held = {name: getattr(model, name) for name in names}
        return cls.parse(held, ATTRIBUTES)

    @classmethod
    def parse(
        cls, options: Mapping[str, Any], kinds: Mapping[str, Kind] = OPTIONS
    ) -> "TrainingConfig":
        """Parse options of `TFWord2Vec`; see `parse`.

        Raises a ValueError, too, if `regime`, `layout` or `log_dir` does not go together with the
        others.
        """
        absent: dict[str, Any] = {"negative_shards": 1}
        absent |= dict.fromkeys(
            ("has_subwords", "has_documents", "dbow_words", "dm_concat", "deterministic"), False
        )
        given = absent | parse(options, kinds)
        negative = given["negative"]
        skipgram = bool(given["sg"])
        objective = Objective(
            skipgram,
            negative,
            mean=not skipgram and bool(given["cbow_mean"]),
            hierarchical=bool(given["hs"]),
            corrected=not skipgram and given["corrected_cbow"],
        )
        concatenates = given["dm_concat"] and not given["sg"]
        if concatenates:
            given["shrink_windows"] = False  # as in gensim, each place has rows of its own
        if given["sg"] and given["has_documents"] and not given["dbow_words"]:
            given["window"] = 1  # tags alone predict
        same = {field.name for field in fields(cls)} & set(given)
        config = cls(
            **{name: given[name] for name in same}
            | {"negative_shards": given["negative_shards"] if negative else 1},
            objective=objective,
            concatenated=given["dm_tag_count"] + 2 * given["window"] if concatenates else 0,
            log=given["log_dir"],
            checkpoint_seconds=60.0 * given["checkpoint_minutes"],
        )
        config._check_deterministic()
        config._check_layout()
        config._check_kernels()
        config.regime_of_workers.check_objective(config.objective)
        return config

    @property
    def counting_threads(self) -> int:
        """Threads that count what they have trained, each its own part of a file.

        What trains a sub-model, and what takes the part of a worker in this process, is one.
        """
        is_one = self.cluster is None or self.regime_of_workers.trains_apart
        return 1 if self.regime is not None and is_one else self.workers

    @property
    def regime_of_workers(self) -> RegimeOptions:
        """The regime, where there are workers."""
        return self.regime or (Deterministic() if self.deterministic else Asynchronous())

    def _check_deterministic(self) -> None:
        if self.deterministic and (self.regime or self.layout == "columns"):
            raise ValueError(
                "deterministic=True shares work in a way of its own, with rows on the ps tasks: "
                "leave out regime and layout, or deterministic"
            )

    def _check_layout(self) -> None:
        if self.layout == "columns" and not self.regime_of_workers.combines_by_direction:
            raise ValueError(
                "layout='columns' updates the columns where they are in each step, and "
                "the regime has no rows to fetch and push: leave out one of the two"
            )
        if self.layout == "columns" and self.cluster is None:
            raise ValueError("layout='columns' spreads columns over ps tasks: give a cluster")

    @property
    def kernels_class(self) -> str | None:
        """Gensim's class whose inputs the compiled kernels alone train; None of Word2Vec."""
        of_documents = "Doc2Vec" if self.has_documents else None
        return "FastText" if self.has_subwords else of_documents

    def _check_kernels(self) -> None:
        name = self.kernels_class
        regime = self.regime_of_workers
        by_graph = self.layout == "columns" or not regime.has_kernels
        if self.concatenated and (self.cluster or self.regime):
            raise ValueError(
                "dm_concat=1 is trained by threads of one machine: leave out cluster and regime, "
                "or dm_concat"
            )
        if name and (by_graph or self.has_documents and regime.trains_apart):
            why = "merges words that several sub-models have, and documents are not"
            if by_graph:
                why = "trains by TensorFlow's own operations, which have no such inputs"
            rest = "'synchronous'" if self.has_documents else "'synchronous' or 'submodels'"
            raise ValueError(
                f"{name} can't be trained with layout={self.layout!r} and the regime "
                f"{type(regime).__name__}, "
                f"which {why}: give layout='rows', and no regime or 'asynchronous', {rest}"
            )
