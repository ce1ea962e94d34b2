"""What is refused before training begins, and what to do instead."""

from typing import Any

import numpy as np
from gensim.models import Word2Vec

from gensim_tfw2v.cluster.opening import parse_cluster
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.layouts import LAYOUTS
from gensim_tfw2v.mapped import all_finite
from gensim_tfw2v.monitor.options import log_options
from gensim_tfw2v.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.regimes.options import Asynchronous, RegimeOptions, Sandblaster, parse_regime
from gensim_tfw2v.regimes.portion import check_gradient, check_lock


def check_options(**options: Any) -> None:
    """Find options that training cannot run with, before any work is done.

    Raises
    ------
    ValueError
        If `vector_size`, `window`, `workers` or `negative_shards` is below 1, `negative` below 0,
        or `checkpoint_minutes` not above 0; `log_dir`, `regime` or `layout` is none; or `regime`
        does not go together with `layout`, or with what is trained.
    ClusterError
        If `cluster` names none.
    """
    for name, least in (
        *(("vector_size", 1), ("window", 1), ("workers", 1), ("negative_shards", 1)),
        ("negative", 0),
    ):
        if int(options[name]) < least:
            raise ValueError(f"{name} must be at least {least}, got {options[name]!r}")
    if not float(options["checkpoint_minutes"]) > 0:
        raise ValueError(
            f"checkpoint_minutes must be above 0, got {options['checkpoint_minutes']!r}: give "
            "float('inf') for checkpoints at the end of epochs alone"
        )
    log_options(options["log_dir"])
    regime = Asynchronous() if options["regime"] is None else parse_regime(options["regime"])
    if options["cluster"] is not None:
        parse_cluster(options["cluster"])
    _check_layout(options["layout"], regime, options["cluster"] is not None)
    if isinstance(regime, Sandblaster):
        check_gradient(_objective(**options))


def _objective(
    *, sg: int, negative: int, hs: int, corrected_cbow: bool = False, **others: Any
) -> Objective:
    if sg:
        return SkipGram(int(negative), bool(hs))
    return Cbow(int(negative), hierarchical=bool(hs), corrected=corrected_cbow)


def _check_layout(layout: Any, regime: RegimeOptions, has_cluster: bool) -> None:
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}: give {' or '.join(map(repr, LAYOUTS))}")
    if layout == "columns" and not isinstance(regime, Asynchronous):
        raise ValueError(
            f"layout='columns' updates the columns where they are in each step, so regime={regime} "
            "has no rows to fetch and push: leave out one of the two"
        )
    if layout == "columns" and not has_cluster:
        raise ValueError("layout='columns' spreads columns over ps tasks: give a cluster")


def check_state(model: Word2Vec) -> None:
    """Find vectors that training cannot start from.

    Raises
    ------
    ValueError
        If a row of ``wv.vectors``, ``syn1neg`` or ``syn1`` is not finite, the number of
        ``wv.vectors_lockf`` is wrong or the regime cannot use them, or there is no tree for `hs`.
    """
    lock = np.asarray(getattr(model.wv, "vectors_lockf", 1.0))
    if lock.size not in (1, len(model.wv)):
        raise ValueError(
            f"wv.vectors_lockf has {lock.size} factors: give one for all words, or one for each "
            f"of the {len(model.wv)}"
        )
    if getattr(model, "regime", None) and isinstance(parse_regime(model.regime), Sandblaster):
        check_lock(lock)
    if not len(model.wv.vectors):
        return  # gensim says what is missing
    if model.hs and not (hasattr(model, "syn1") and "point" in model.wv.expandos):
        raise ValueError(
            "hs=1 needs a Huffman tree, and this vocabulary was built without: set hs in the "
            "constructor, or before build_vocab"
        )
    for name, rows in (
        ("wv.vectors", model.wv.vectors),
        ("syn1neg", getattr(model, "syn1neg", None)),
        ("syn1", getattr(model, "syn1", None)),
    ):
        if rows is None:
            continue  # gensim says that there is nothing to train
        if all_finite(rows):
            continue
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{name} holds {len(bad)} rows that are not finite, the first for "
                f"{model.wv.index_to_key[bad[0]]!r}: replace them before training on "
                "(model.init_weights() starts anew)"
            )


def check_corpus(corpus: EncodedCorpus, words: int) -> None:
    """Find a corpus that is of another vocabulary.

    Parameters
    ----------
    corpus : EncodedCorpus
    words : int
        V, of the vocabulary.

    Raises
    ------
    RuntimeError
        If it has words, and none is in the vocabulary; as gensim where no vocabulary was built.
    """
    if corpus.total_raw_words and not corpus.total_tokens:
        raise RuntimeError(
            f"none of the corpus's {corpus.total_raw_words:,} words is among the {words:,} of the "
            "vocabulary: prepare the text as that of the vocabulary was, or add its words first "
            "with build_vocab(corpus, update=True)"
        )
