"""Options that training cannot run with, refused by their names before any work is done."""

from collections.abc import Mapping
from typing import Any

from gensim_tfw2v.checks import kinds
from gensim_tfw2v.checks.kinds import Kind, Number, stored
from gensim_tfw2v.cluster.opening import parse_cluster
from gensim_tfw2v.layouts import LAYOUTS
from gensim_tfw2v.monitor.options import log_options
from gensim_tfw2v.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.options import WIDEST_WINDOW
from gensim_tfw2v.regimes.options import Asynchronous, RegimeOptions, Sandblaster, parse_regime
from gensim_tfw2v.regimes.portion import check_gradient

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
        If a value is of another kind, or out of its range; if `log_dir`, `regime` or `layout` is
        invalid, or does not go together with the others.
    ClusterError
        If `cluster` is invalid.
    """
    for name, kind in table.items():
        if name in options:
            kind(name, options[name])
    if table is not ARGUMENTS:
        _check_together(**options)


def check_attributes(model: Any) -> None:
    """Find attributes of a model, changed or loaded, that training cannot run with.

    Raises
    ------
    TypeError, ValueError
        As `check_options`.
    """
    names = (*ATTRIBUTES, "log_dir", "regime", "cluster", "layout", "corrected_cbow")
    check_options(
        {name: getattr(model, name) for name in names if hasattr(model, name)}, ATTRIBUTES
    )


def _check_together(
    *, log_dir: Any, regime: Any, cluster: Any, layout: Any, **options: Any
) -> None:
    log_options(log_dir)
    chosen = Asynchronous() if regime is None else parse_regime(regime)
    if cluster is not None:
        parse_cluster(cluster)
    _check_layout(layout, chosen, cluster is not None)
    if isinstance(chosen, Sandblaster):
        check_gradient(_objective(**options))


def _objective(
    *, sg: Any, negative: Any, hs: Any, corrected_cbow: bool = False, **others: Any
) -> Objective:
    if int(sg):
        return SkipGram(int(negative), bool(int(hs)))
    return Cbow(int(negative), hierarchical=bool(int(hs)), corrected=bool(corrected_cbow))


def _check_layout(layout: Any, regime: RegimeOptions, has_cluster: bool) -> None:
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}: give {' or '.join(map(repr, LAYOUTS))}")
    if layout == "columns" and not isinstance(regime, Asynchronous):
        raise ValueError(
            f"layout='columns' updates the columns where they are in each step, so regime={regime} "
            "has no rows to fetch and push: leave out one of the two"
        )
    if layout == "columns" and not has_cluster:
        raise ValueError("layout='columns' spreads columns over ps tasks: give a cluster")
