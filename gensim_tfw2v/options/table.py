"""The table of all options of the three classes, and its filters."""

import sys
from dataclasses import dataclass, replace
from typing import Any

from gensim_tfw2v.cluster.spec import parse_cluster
from gensim_tfw2v.kernel.sizes import NATIVE_BLOCK, WIDEST_WINDOW
from gensim_tfw2v.monitor.tensorboard_log import log_options
from gensim_tfw2v.options.kinds import (
    Choice,
    Finite,
    Kind,
    Maybe,
    Number,
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
from gensim_tfw2v.options.regimes import parse_regime

#: Kernels count the negatives of all positions of a block as int.
MAX_NEGATIVES = (1 << 28) // NATIVE_BLOCK

#: gensim makes a whole number of this times 3 + sqrt(5).
MAX_SAMPLE = sys.float_info.max / 6

#: Arrays of gensim's are indexed by int32.
MAX_INT = 2**31 - 1


@dataclass(frozen=True)
class Option:
    """An option of the model classes.

    Attributes
    ----------
    name : str
        Argument of the constructor, and attribute of the model.
    kind : Kind
        Check of the argument.
    uses : str
        What it is used for besides training:

        - identity: tells the checkpoints of a training from those of others
        - needed: all models have it, of whatever version of gensim
        - merged: a merged model has it from the first model
        - shown, switch, unusual: TensorBoard shows it; as true or false; if it is not the default
        - info: `tfw2v info` prints it
        - arrays: a model's arrays were made with it
        - folder: it names a folder to write to
        - fixed, each-epoch: while a model trains, it cannot change; each epoch reads it again
        - own, running: gensim's classes lack it; models are saved with it, or without
        - experiment: an own attribute, which no argument sets
        - refused: gensim's code lacks it, so a model that gensim's code trains must not set it
    default : object
        Value of a model without it. Of gensim's options, only where it matters here.
    of : str
        "FastText" or "Doc2Vec" for an option of that class alone.
    stored : Kind, optional
        Check of the attribute; by default `kind`, without conversion of strings.
    is_attribute : bool
        Whether models have an attribute of this name.
    """

    name: str
    kind: Kind
    uses: str = ""
    default: Any = None
    of: str = ""
    stored: Kind | None = None
    is_attribute: bool = True


#: All options. Identity is compared, and `tfw2v info` prints, in this order.
TABLE = (
    Option("vector_size", Whole(1, MAX_INT, exact=True), "needed identity shown arrays"),
    Option("dm", Whole(0, 1, exact=True), "arrays", of="Doc2Vec", is_attribute=False),
    Option("sg", Whole(text=True), "needed identity merged switch info arrays"),
    Option("hs", Whole(text=True), "needed identity merged switch info arrays"),
    Option(
        "negative", Whole(0, MAX_NEGATIVES, text=True), "needed identity merged shown info arrays"
    ),
    Option(
        "ns_exponent",
        Finite(text=True),
        "identity merged unusual",
        0.75,
        stored=Finite(text=True),  # gensim converts it when it is used
    ),
    Option("window", Whole(1, WIDEST_WINDOW, text=True), "needed identity merged shown info"),
    Option("shrink_windows", truth, "identity merged unusual", True),
    Option("cbow_mean", Whole(text=True), "needed identity merged unusual arrays", 1),
    Option("corrected_cbow", truth, "identity merged unusual own refused", False),
    Option("negative_shards", Whole(1, MAX_NEGATIVES), "identity unusual experiment refused", 1),
    Option("sample", Finite(most=MAX_SAMPLE, none=True), "needed identity merged shown info"),
    Option("alpha", Finite(text=True), "needed identity merged shown info each-epoch"),
    Option("min_alpha", Finite(text=True), "needed identity merged unusual each-epoch", 0.0001),
    Option("epochs", Whole(none=True, exact=True), "needed identity merged shown info each-epoch"),
    Option("deterministic", truth, "identity unusual own refused fixed", False),
    Option("min_count", comparable, "needed merged shown info"),
    Option("workers", Whole(1, text=True), "needed merged shown"),
    Option("seed", Maybe(seed), "needed merged info", stored=Maybe(stored_seed)),
    Option("max_vocab_size", Maybe(comparable)),
    Option("max_final_vocab", Whole(none=True, exact=True)),
    Option("batch_words", comparable, "each-epoch"),
    Option("trim_rule", Maybe(function), is_attribute=False),
    Option("callbacks", callbacks, is_attribute=False),
    Option("min_n", Whole(0, exact=True), "identity arrays", of="FastText", is_attribute=False),
    Option("max_n", Whole(0, exact=True), "identity arrays", of="FastText", is_attribute=False),
    Option(
        "bucket",
        Whole(0, MAX_INT, exact=True),
        "identity arrays",
        of="FastText",
        is_attribute=False,
    ),
    Option("dbow_words", truth, "identity unusual", 0, of="Doc2Vec"),
    Option("dm_concat", truth, "identity unusual", 0, of="Doc2Vec"),
    Option("dm_tag_count", Whole(0, exact=True), "identity", of="Doc2Vec"),
    Option("cluster", Maybe(lambda _, given: parse_cluster(given)), "running refused fixed"),
    Option("regime", Maybe(lambda _, given: parse_regime(given)), "running refused fixed"),
    Option("layout", Choice(("rows", "columns")), "running fixed", "rows"),
    Option("checkpoint_dir", Maybe(folder), "running folder refused fixed"),
    Option("checkpoint_minutes", minutes, "running", 10.0),
    Option("log_dir", Maybe(lambda _, given: log_options(given)), "running folder refused fixed"),
    Option("progress", Maybe(flag), "running"),
    Option("encoded_dir", Maybe(folder), "running folder"),
    Option("tables_dir", Maybe(folder), "running folder arrays"),
)


def named(use: str, *classes: str) -> tuple[str, ...]:
    """Return the names of options with a use: those of all classes, or of some alone."""
    return tuple(
        option.name
        for option in TABLE
        if use in option.uses.split() and option.of in (classes or ("",))
    )


def attributes_of(class_name: str) -> dict[str, Kind]:
    """Return the checks of the attributes that models of a class have."""
    return {
        option.name: option.stored or _without_text(option.kind)
        for option in TABLE
        if option.is_attribute and option.of in ("", class_name)
    }


def _without_text(kind: Kind) -> Kind:
    return replace(kind, text=False) if isinstance(kind, Number) else kind


#: Checks of the constructor's arguments.
ARGUMENTS = {option.name: option.kind for option in TABLE}
DEFAULTS = {option.name: option.default for option in TABLE}

#: Checks of arguments of `train`; gensim says which of them are missing.
OF_TRAIN: dict[str, Kind] = {
    "epochs": Whole(none=True, exact=True),
    "start_alpha": Finite(none=True),
    "end_alpha": Finite(none=True),
    "total_examples": Finite(none=True),
    "total_words": Finite(none=True),
    "report_delay": comparable,
    "callbacks": callbacks,
}
