"""Options of ``tfw2v train`` that only some trainings can use, and the errors for the others.

An option of the command is used or refused, never ignored. Options that are not listed here are
arguments of the model's constructor (`gensim_tfw2v.options.table`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.dialect_options import DIALECT

#: Options of `train` that the command uses itself: they are no options of a model.
OF_THE_COMMAND = {
    *("corpus", "column", "output", "vectors", "binary", "init", "compass", "hosts", "verbose"),
    *("early_stopping", "patience", "recursive", *DIALECT),
}

#: Ways to name a cluster.
CLUSTERS = ("cluster", "hosts")

#: Options that work only with at least one of other options.
NEEDED = {
    "min_n": ("fasttext",),
    "max_n": ("fasttext",),
    "bucket": ("fasttext",),
    "dm": ("doc2vec",),
    "dbow_words": ("doc2vec",),
    "patience": ("early_stopping",),
    "binary": ("vectors",),
    **dict.fromkeys(DIALECT, ("column",)),
    "wire": CLUSTERS,
    "checkpoint_minutes": ("checkpoint_dir", *CLUSTERS),
}

#: Options that ``--compass`` excludes: it trains Word2Vec by threads of this machine.
EXCLUDED_BY_COMPASS = {"init", "fasttext", "doc2vec", "cluster", "hosts", "regime", "wire"}


#: Names of switches that are off, except those that begin with ``--no-``.
NEGATED = {"sg": "--cbow", "cbow_mean": "--cbow-sum", "dm": "--dbow"}


def flag(name: str, value: Any = None) -> str:
    """Return an option as it is typed on the command line to set it to `value`."""
    typed = name.replace("_", "-")
    return NEGATED.get(name, f"--no-{typed}") if value is False else f"--{typed}"


def flags(options: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the named ones of `options` as they are typed, separated by commas."""
    return ", ".join(flag(name, options[name]) for name in sorted(names))


def check_combination(options: Mapping[str, Any]) -> None:
    """Raise for options, those that the user has set, that exclude or need others.

    Raises
    ------
    BadInput
        With the names of the options, and what to do instead.
    """
    if "compass" in options and (excluded := EXCLUDED_BY_COMPASS & options.keys()):
        raise BadInput(
            f"{flags(options, excluded)}: excluded by --compass, which trains Word2Vec by threads "
            "of this machine; leave one of them out"
        )
    unmet: dict[tuple[str, ...], list[str]] = {}
    for name, needed in NEEDED.items():
        if name in options and not options.keys() & set(needed):
            unmet.setdefault(needed, []).append(name)
    for needed, names in unmet.items():
        either = " or ".join(map(flag, needed))
        raise BadInput(
            f"{flags(options, names)}: works only with {either}; add that, or leave it out"
        )
    if "doc2vec" in options and options.keys() & {"fasttext", "sg"}:
        raise BadInput("--doc2vec excludes --fasttext, --sg and --cbow; use --dm or --dbow")
    if options.get("sg") and (unused := options.keys() & {"corrected_cbow", "cbow_mean"}):
        raise BadInput(
            f"{flags(options, unused)}: works only with --cbow, not with --sg; leave out one"
        )
    if len(options.keys() & set(CLUSTERS)) > 1:
        raise BadInput("--hosts and --cluster exclude each other; give only one of them")
    if "init" not in options and options.get("dbow_words") and options.get("dm", True):
        raise BadInput("--dbow-words: works only with --dbow; add that, or leave it out")
