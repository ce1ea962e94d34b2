"""Table of all options of the three classes, and its filters."""

import sys
from dataclasses import replace
from typing import Any

from gensim_tfw2v.cluster.descriptions import parse_cluster
from gensim_tfw2v.kernel.sizes import NATIVE_BLOCK, WIDEST_WINDOW
from gensim_tfw2v.monitor.tensorboard_log import parse_log
from gensim_tfw2v.options.kinds import (
    MAX_INT,
    Finite,
    Kind,
    Number,
    OneOf,
    Whole,
    callbacks,
    comparable,
    flag,
    folder,
    function,
    minutes,
    seed,
    stored_seed,
    truth,
)
from gensim_tfw2v.options.option import Option, Use
from gensim_tfw2v.options.regimes import parse_regime

#: Maximum of `negative`. The kernels count the negatives of all positions of a block as int32.
MAX_NEGATIVES = (1 << 28) // NATIVE_BLOCK

#: Maximum of `sample`. gensim converts ``sample * (3 + sqrt(5))`` to an integer.
MAX_SAMPLE = sys.float_info.max / 6


def _check_cluster(name: str, value: Any) -> Any:
    return parse_cluster(value)


def _check_regime(name: str, value: Any) -> Any:
    return parse_regime(value)


def _check_log(name: str, value: Any) -> Any:
    return parse_log(value)


#: All options, in the order in which `tfw2v info` prints them and checkpoints compare them.
TABLE = (
    Option(
        "vector_size",
        Whole(1, MAX_INT, exact=True),
        100,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.ARRAYS,
    ),
    Option("dm", Whole(0, 1, exact=True), 1, Use.ARGUMENT | Use.ARRAYS, class_name="Doc2Vec"),
    Option(
        "sg", Whole(text=True), 0, Use.NEEDED | Use.IDENTITY | Use.SWITCH | Use.INFO | Use.ARRAYS
    ),
    Option(
        "hs", Whole(text=True), 0, Use.NEEDED | Use.IDENTITY | Use.SWITCH | Use.INFO | Use.ARRAYS
    ),
    Option(
        "negative",
        Whole(0, MAX_NEGATIVES, text=True),
        5,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.INFO | Use.ARRAYS,
    ),
    Option(
        "ns_exponent",
        Finite(text=True),
        0.75,
        Use.IDENTITY | Use.UNUSUAL,
        stored=Finite(text=True),  # gensim converts strings when it uses the attribute
    ),
    Option(
        "window",
        Whole(1, WIDEST_WINDOW, text=True),
        5,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.INFO,
    ),
    Option("shrink_windows", truth, True, Use.IDENTITY | Use.UNUSUAL),
    Option("cbow_mean", Whole(text=True), 1, Use.NEEDED | Use.IDENTITY | Use.UNUSUAL | Use.ARRAYS),
    Option("corrected_cbow", truth, False, Use.OWN | Use.IDENTITY | Use.UNUSUAL | Use.REFUSED),
    Option(
        "negative_shards",
        Whole(1, MAX_NEGATIVES),
        1,
        Use.EXPERIMENT | Use.IDENTITY | Use.UNUSUAL | Use.REFUSED,
    ),
    Option(
        "learn_hidden",
        truth,
        True,
        Use.EXPERIMENT | Use.IDENTITY | Use.UNUSUAL | Use.REFUSED | Use.FIXED,
    ),
    Option(
        "sample",
        Finite(maximum=MAX_SAMPLE, none=True),
        1e-3,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.INFO,
    ),
    Option(
        "alpha",
        Finite(text=True),
        0.025,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.INFO | Use.EACH_EPOCH,
    ),
    Option(
        "min_alpha",
        Finite(text=True),
        1e-4,
        Use.NEEDED | Use.IDENTITY | Use.UNUSUAL | Use.EACH_EPOCH,
    ),
    Option(
        "epochs",
        Whole(none=True, exact=True),
        5,
        Use.NEEDED | Use.IDENTITY | Use.SHOWN | Use.INFO | Use.EACH_EPOCH,
    ),
    Option(
        "deterministic",
        truth,
        False,
        Use.OWN | Use.IDENTITY | Use.UNUSUAL | Use.REFUSED | Use.FIXED,
    ),
    Option("min_count", comparable, 5, Use.NEEDED | Use.SHOWN | Use.INFO),
    Option("workers", Whole(1, text=True), 3, Use.NEEDED | Use.SHOWN),
    Option("seed", seed, 1, Use.NEEDED | Use.INFO, stored=stored_seed),
    Option("max_vocab_size", comparable),
    Option("max_final_vocab", Whole(none=True, exact=True)),
    Option("batch_words", comparable, 10_000, Use.EACH_EPOCH),
    Option("trim_rule", function, None, Use.ARGUMENT),
    Option("callbacks", callbacks, (), Use.ARGUMENT),
    Option(
        "min_n",
        Whole(0, exact=True),
        3,
        Use.ARGUMENT | Use.IDENTITY | Use.ARRAYS,
        class_name="FastText",
    ),
    Option(
        "max_n",
        Whole(0, exact=True),
        6,
        Use.ARGUMENT | Use.IDENTITY | Use.ARRAYS,
        class_name="FastText",
    ),
    Option(
        "bucket",
        Whole(0, MAX_INT, exact=True),
        2_000_000,
        Use.ARGUMENT | Use.IDENTITY | Use.ARRAYS,
        class_name="FastText",
    ),
    Option("dbow_words", truth, False, Use.IDENTITY | Use.UNUSUAL, class_name="Doc2Vec"),
    Option("dm_concat", truth, False, Use.IDENTITY | Use.UNUSUAL, class_name="Doc2Vec"),
    Option("dm_tag_count", Whole(0, exact=True), 1, Use.IDENTITY, class_name="Doc2Vec"),
    Option("cluster", _check_cluster, None, Use.RUNNING | Use.REFUSED | Use.FIXED),
    Option("regime", _check_regime, None, Use.RUNNING | Use.REFUSED | Use.FIXED),
    Option("layout", OneOf(("rows", "columns")), "rows", Use.RUNNING | Use.FIXED),
    Option("wire", OneOf(("int8", "bfloat16", "float32")), "int8", Use.RUNNING | Use.FIXED),
    Option("checkpoint_dir", folder, None, Use.RUNNING | Use.FOLDER | Use.REFUSED | Use.FIXED),
    Option("checkpoint_minutes", minutes, 10.0, Use.RUNNING),
    Option("log_dir", _check_log, None, Use.RUNNING | Use.FOLDER | Use.REFUSED | Use.FIXED),
    Option("progress", flag, None, Use.RUNNING),
    Option("encoded_dir", folder, None, Use.RUNNING | Use.FOLDER),
    Option("tables_dir", folder, None, Use.RUNNING | Use.FOLDER | Use.ARRAYS),
)


#: Arguments and attributes of gensim 3, and their names in gensim 4.
RENAMED = {"size": "vector_size", "iter": "epochs", "docvecs": "dv", "vocabulary": "wv"}


def option_names(use: Use, *class_names: str) -> tuple[str, ...]:
    """Return the names of the options that have a property.

    Without `class_names`, only options of all classes are listed; otherwise options of the classes
    named, where "" stands for all classes.
    """
    return tuple(
        option.name
        for option in TABLE
        if use in option.uses and option.class_name in (class_names or ("",))
    )


def attributes_of(class_name: str) -> dict[str, Kind]:
    """Return the checks of the attributes of a class's models."""
    return {
        option.name: option.stored or _without_text(option.kind)
        for option in TABLE
        if Use.ARGUMENT not in option.uses and option.class_name in ("", class_name)
    }


def _without_text(kind: Kind) -> Kind:
    """Return a check that refuses strings, which only constructors convert."""
    return replace(kind, text=False) if isinstance(kind, Number) else kind


#: Checks of the constructor's arguments.
ARGUMENTS = {option.name: option.kind for option in TABLE}

#: Default of each option.
DEFAULTS = {option.name: option.default for option in TABLE}

#: Checks of arguments of `train`; gensim raises an error for missing ones.
TRAIN_ARGUMENTS: dict[str, Kind] = {
    "epochs": ARGUMENTS["epochs"],
    "start_alpha": Finite(none=True),
    "end_alpha": Finite(none=True),
    "total_examples": Finite(none=True),
    "total_words": Finite(none=True),
    "report_delay": comparable,
    "callbacks": ARGUMENTS["callbacks"],
}
