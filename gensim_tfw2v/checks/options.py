"""Options that training cannot run with, refused by their names before any work is done."""

from collections.abc import Mapping
from typing import Any

from gensim_tfw2v.checks import kinds
from gensim_tfw2v.checks.kinds import Kind, Number, stored
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.kernel.config import WIDEST_WINDOW

#: gensim's `int(option)`: also of text.
_CONVERTED = {"whole": True, "from_text": True}

#: Of the constructor; those that are attributes, too, are checked in `train` again.
OPTIONS: dict[str, Kind] = {
    "vector_size": Number(least=1, whole=True, exact=True),
    "window": Number(least=1, most=WIDEST_WINDOW, **_CONVERTED),
    "workers": Number(least=1, **_CONVERTED),
    "negative": Number(least=0, most=2**31 - 1, **_CONVERTED),
    "sg": Number(**_CONVERTED),
    "hs": Number(**_CONVERTED),
    "cbow_mean": Number(**_CONVERTED),
    "alpha": Number(from_text=True),
    "min_alpha": Number(from_text=True),
    "epochs": Number(whole=True, exact=True, none=True),
    "sample": Number(none=True),
    "ns_exponent": Number(from_text=True),
    "min_count": kinds.real,
    "max_vocab_size": Number(none=True, infinite=True),
    "max_final_vocab": Number(whole=True, exact=True, none=True),
    "batch_words": Number(infinite=True),
    "seed": kinds.seed,
    "trim_rule": kinds.function,
    "callbacks": kinds.callbacks,
    "negative_shards": Number(least=1, whole=True),
    "checkpoint_minutes": Number(least=0, above=True, infinite=True),
    "checkpoint_dir": kinds.folder,
    "encoded_dir": kinds.folder,
    "tables_dir": kinds.folder,
    "progress": kinds.flag,
}

#: Attributes of a model, changed or loaded.
ATTRIBUTES: dict[str, Kind] = {
    name: stored(kind) for name, kind in OPTIONS.items() if name not in ("trim_rule", "callbacks")
} | {"seed": kinds.stored_seed}

#: Arguments of `train`; gensim says which of them are missing.
ARGUMENTS: dict[str, Kind] = {
    "epochs": Number(whole=True, exact=True, none=True),
    "start_alpha": Number(none=True),
    "end_alpha": Number(none=True),
    "total_examples": Number(none=True),
    "total_words": Number(none=True),
    "report_delay": Number(infinite=True),
    "callbacks": kinds.callbacks,
}


def check_options(options: Mapping[str, Any], table: Mapping[str, Kind] = OPTIONS) -> None:
    """Find options that training cannot run with.

    Parameters
    ----------
    options : mapping
        By their names; those that the table has not are not looked at.
    table : mapping
        `OPTIONS`, `ATTRIBUTES` or `ARGUMENTS`.

    Raises
    ------
    TypeError, ValueError
        If a value is of another kind, or out of its range.
    """
    for name, kind in table.items():
        if name in options:
            kind(name, options[name])


def check_attributes(model: Any) -> TrainingConfig:
    """Find attributes of a model, changed or loaded, that training cannot run with.

    Raises
    ------
    TypeError, ValueError
        As `check_options` and `TrainingConfig.parse`.
    """
    check_options(
        {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}, ATTRIBUTES
    )
    return TrainingConfig.of(model)
