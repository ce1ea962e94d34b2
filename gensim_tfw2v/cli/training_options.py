"""Options of ``tfw2v train`` that only some training runs can use, and the errors for the rest.

A training run uses or refuses each option of the command, and never ignores one. Options that are
not listed here are arguments of the model's constructor (`gensim_tfw2v.options.table`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.dialect_options import DIALECT
from gensim_tfw2v.cli.walk_options import WALK_OPTIONS

#: Options of `train` that the command itself uses, and does not pass to a model.
COMMAND_OPTIONS = {
    *("corpus", "column", "output", "vectors", "binary", "init", "compass", "hosts", "verbose"),
    *("early_stopping", "patience", "recursive", *DIALECT, "walks", *WALK_OPTIONS),
}

#: Options that name a cluster.
CLUSTER_OPTIONS = ("cluster", "hosts")

#: Options that do not work alone. Each needs at least one of the options of its tuple.
NEEDED_OPTIONS = {
    "min_n": ("fasttext",),
    "max_n": ("fasttext",),
    "bucket": ("fasttext",),
    "dm": ("doc2vec",),
    "dbow_words": ("doc2vec",),
    "patience": ("early_stopping",),
    "binary": ("vectors",),
    **dict.fromkeys(DIALECT, ("column",)),
    **dict.fromkeys(WALK_OPTIONS, ("walks",)),
    "weight": ("column", "walks"),
    "wire": CLUSTER_OPTIONS,
    "checkpoint_minutes": ("checkpoint_dir", *CLUSTER_OPTIONS),
}

#: Options that ``--compass`` excludes: it trains Word2Vec by threads of this machine.
EXCLUDED_BY_COMPASS = {"init", "fasttext", "doc2vec", "cluster", "hosts", "regime", "wire"}

#: Options that ``--walks`` excludes: they describe how to read a text.
EXCLUDED_BY_WALKS = {"column", "recursive", *DIALECT}

#: Switches that set an option to False, unless the switch is ``--no-`` and the option's name.
OFF_SWITCHES = {"sg": "--cbow", "cbow_mean": "--cbow-sum", "dm": "--dbow"}


def flag(name: str, value: Any = None) -> str:
    """Return the switch or option of the command line that sets an option to `value`."""
    typed = name.replace("_", "-")
    return OFF_SWITCHES.get(name, f"--no-{typed}") if value is False else f"--{typed}"


def flags(options: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the options called `names` as they are typed, separated by commas.

    `options` contains their values.
    """
    return ", ".join(flag(name, options[name]) for name in sorted(names))


def check_combination(options: Mapping[str, Any]) -> None:
    """Raise if the user has set options that exclude each other, or one without those it needs.

    Raises
    ------
    BadInput
        The message contains the options and advice.
    """
    if "compass" in options and (excluded := EXCLUDED_BY_COMPASS & options.keys()):
        raise BadInput(
            f"{flags(options, excluded)}: excluded by --compass, which trains Word2Vec by threads "
            "of this machine; leave one of them out"
        )
    if "walks" in options and (excluded := EXCLUDED_BY_WALKS & options.keys()):
        raise BadInput(
            f"{flags(options, excluded)}: excluded by --walks, because CORPUS is a graph; leave "
            "one of them out"
        )
    unmet: dict[tuple[str, ...], list[str]] = {}
    for name, needed in NEEDED_OPTIONS.items():
        if name in options and not options.keys() & set(needed):
            unmet.setdefault(needed, []).append(name)
    for needed, names in unmet.items():
        either = " or ".join(map(flag, needed))
        raise BadInput(
            f"{flags(options, names)}: works only with {either}; add that, or leave it out"
        )
    if "doc2vec" in options and options.keys() & {"fasttext", "sg"}:
        raise BadInput("--doc2vec excludes --fasttext, --sg and --cbow; use --dm or --dbow")
    if "doc2vec" in options and "walks" in options:
        raise BadInput(
            "--doc2vec excludes --walks, because walks have no tags; leave one of them out"
        )
    if options.get("sg") and (unused := options.keys() & {"corrected_cbow", "cbow_mean"}):
        raise BadInput(
            f"{flags(options, unused)}: works only with --cbow, not with --sg; leave out one"
        )
    if len(options.keys() & set(CLUSTER_OPTIONS)) > 1:
        raise BadInput("--hosts and --cluster exclude each other; give only one of them")
    if "init" not in options and options.get("dbow_words") and options.get("dm", True):
        raise BadInput("--dbow-words: works only with --dbow; add that, or leave it out")


def check_objective(hs: bool, negative: int) -> None:
    """Raise if there is neither hierarchical softmax nor negative sampling."""
    if not hs and not negative:
        raise BadInput("--negative 0 without --hs leaves nothing to train; change one of the two")
