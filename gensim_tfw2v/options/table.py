"""Table of all options of the three classes, and its filters."""

import sys
from dataclasses import dataclass, replace
from typing import Any

from gensim_tfw2v.cluster.spec import parse_cluster
from gensim_tfw2v.kernel.sizes import NATIVE_BLOCK, WIDEST_WINDOW
from gensim_tfw2v.monitor.tensorboard_log import parse_log
from gensim_tfw2v.options.kinds import (
    MAX_INT,
    Choice,
    Finite,
    Kind,
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

#: Maximum of `negative`. The kernels count the negatives of all positions of a block as int32.
MAX_NEGATIVES = (1 << 28) // NATIVE_BLOCK

#: Maximum of `sample`. gensim converts ``sample * (3 + sqrt(5))`` to an integer.
MAX_SAMPLE = sys.float_info.max / 6


@dataclass(frozen=True)
class Option:
    """An option of the model classes.

    Attributes
    ----------
    name : str
        Name of the constructor's argument and of the model's attribute.
    kind : Kind
        Check of the argument.
    default : object
        gensim's default, or the value for models that lack the attribute. It is not checked.
    uses : str
        Properties of the option, separated by blanks:

        - identity: a checkpoint belongs to the same training only if the value is equal
        - argument: it is not an attribute of models
        - needed: models of all versions of gensim have it
        - shown: TensorBoard shows it
        - switch: TensorBoard shows it as true or false
        - unusual: TensorBoard shows it if its value is not the default
        - info: `tfw2v info` prints it
        - arrays: a model's arrays depend on it
        - folder: it is the path of a folder to write to
        - fixed: it must not change while a model trains
        - each-epoch: it is read again in each epoch
        - own: gensim's classes lack it, and models are saved with it
        - running: gensim's classes lack it, and models are saved without it
        - experiment: an attribute of this package's classes that no argument sets
        - refused: gensim's code lacks it, so it must not be set if gensim's code trains the model
    of : str
        "FastText" or "Doc2Vec" for an option of only that class.
    stored : Kind, optional
        Check of the attribute; by default `kind`, without conversion of strings.
    """

    name: str
    kind: Kind
    default: Any = None
    uses: str = ""
    of: str = ""
    stored: Kind | None = None


#: All options, in the order in which identities are compared and `tfw2v info` prints.
TABLE = (
    Option("vector_size", Whole(1, MAX_INT, exact=True), 100, "needed identity shown arrays"),
    Option("dm", Whole(0, 1, exact=True), 1, "argument arrays", of="Doc2Vec"),
    Option("sg", Whole(text=True), 0, "needed identity switch info arrays"),
    Option("hs", Whole(text=True), 0, "needed identity switch info arrays"),
    Option(
        "negative",
        Whole(0, MAX_NEGATIVES, text=True),
        5,
        "needed identity shown info arrays",
    ),
    Option(
        "ns_exponent",
        Finite(text=True),
        0.75,
        "identity unusual",
        stored=Finite(text=True),  # gensim converts it when it is used
    ),
    Option("window", Whole(1, WIDEST_WINDOW, text=True), 5, "needed identity shown info"),
    Option("shrink_windows", truth, True, "identity unusual"),
    Option("cbow_mean", Whole(text=True), 1, "needed identity unusual arrays"),
    Option("corrected_cbow", truth, False, "own identity unusual refused"),
    Option("negative_shards", Whole(1, MAX_NEGATIVES), 1, "experiment identity unusual refused"),
    Option("learn_hidden", truth, True, "experiment identity unusual refused fixed"),
    Option("sample", Finite(most=MAX_SAMPLE, none=True), 1e-3, "needed identity shown info"),
    Option("alpha", Finite(text=True), 0.025, "needed identity shown info each-epoch"),
    Option("min_alpha", Finite(text=True), 1e-4, "needed identity unusual each-epoch"),
    Option("epochs", Whole(none=True, exact=True), 5, "needed identity shown info each-epoch"),
    Option("deterministic", truth, False, "own identity unusual refused fixed"),
    Option("min_count", comparable, 5, "needed shown info"),
    Option("workers", Whole(1, text=True), 3, "needed shown"),
    Option("seed", seed, 1, "needed info", stored=stored_seed),
    Option("max_vocab_size", comparable),
    Option("max_final_vocab", Whole(none=True, exact=True)),
    Option("batch_words", comparable, 10_000, "each-epoch"),
    Option("trim_rule", function, None, "argument"),
    Option("callbacks", callbacks, (), "argument"),
    Option("min_n", Whole(0, exact=True), 3, "argument identity arrays", of="FastText"),
    Option("max_n", Whole(0, exact=True), 6, "argument identity arrays", of="FastText"),
    Option(
        "bucket",
        Whole(0, MAX_INT, exact=True),
        2_000_000,
        "argument identity arrays",
        of="FastText",
    ),
    Option("dbow_words", truth, False, "identity unusual", of="Doc2Vec"),
    Option("dm_concat", truth, False, "identity unusual", of="Doc2Vec"),
    Option("dm_tag_count", Whole(0, exact=True), 1, "identity", of="Doc2Vec"),
    Option("cluster", lambda _, given: parse_cluster(given), None, "running refused fixed"),
    Option("regime", lambda _, given: parse_regime(given), None, "running refused fixed"),
    Option("layout", Choice(("rows", "columns")), "rows", "running fixed"),
    Option("wire", Choice(("int8", "bfloat16", "float32")), "int8", "running fixed"),
    Option("checkpoint_dir", folder, None, "running folder refused fixed"),
    Option("checkpoint_minutes", minutes, 10.0, "running"),
    Option("log_dir", lambda _, given: parse_log(given), None, "running folder refused fixed"),
    Option("progress", flag, None, "running"),
    Option("encoded_dir", folder, None, "running folder"),
    Option("tables_dir", folder, None, "running folder arrays"),
)


#: Arguments and attributes of gensim 3, and their names in gensim 4.
RENAMED = {"size": "vector_size", "iter": "epochs", "docvecs": "dv", "vocabulary": "wv"}


def named(use: str, *classes: str) -> tuple[str, ...]:
    """Return the names of options with this use, common to all classes or only of `classes`."""
    return tuple(
        option.name
        for option in TABLE
        if use in option.uses.split() and option.of in (classes or ("",))
    )


def attributes_of(class_name: str) -> dict[str, Kind]:
    """Return the checks of the attributes of a class's models."""
    return {
        option.name: option.stored or _without_text(option.kind)
        for option in TABLE
        if "argument" not in option.uses and option.of in ("", class_name)
    }


def _without_text(kind: Kind) -> Kind:
    return replace(kind, text=False) if isinstance(kind, Number) else kind


#: Checks of the constructor's arguments.
ARGUMENTS = {option.name: option.kind for option in TABLE}
DEFAULTS = {option.name: option.default for option in TABLE}

#: Checks of arguments of `train`; gensim raises an error for missing ones.
OF_TRAIN: dict[str, Kind] = {
    "epochs": Whole(none=True, exact=True),
    "start_alpha": Finite(none=True),
    "end_alpha": Finite(none=True),
    "total_examples": Finite(none=True),
    "total_words": Finite(none=True),
    "report_delay": comparable,
    "callbacks": callbacks,
}
