"""What is refused before training begins, and what to do instead."""

from typing import Any

import numpy as np
from gensim.models import Word2Vec


def check_options(**options: Any) -> None:
    """Find options that training cannot run with, before any work is done.

    Raises
    ------
    ValueError
        If `vector_size`, `window` or `workers` is below 1, or `negative` below 0.
    NotImplementedError
        If `hs` is set.
    """
    for name, least in (("vector_size", 1), ("window", 1), ("workers", 1), ("negative", 0)):
        if int(options[name]) < least:
            raise ValueError(f"{name} must be at least {least}, got {options[name]!r}")
    if options["hs"]:
        raise NotImplementedError(
            "TFWord2Vec does not train hierarchical softmax (hs=1) in this version. "
            "Use negative sampling (hs=0, negative=5), or gensim.models.Word2Vec for hs=1."
        )


def check_state(model: Word2Vec) -> None:
    """Find vectors that training cannot start from.

    Raises
    ------
    ValueError
        If a row of ``wv.vectors`` or ``syn1neg`` is not finite.
    NotImplementedError
        If vectors are locked.
    """
    if not np.all(getattr(model.wv, "vectors_lockf", 1.0) == 1.0):
        raise NotImplementedError(
            "TFWord2Vec does not train with locked vectors (wv.vectors_lockf other than 1) in "
            "this version. Set model.wv.vectors_lockf = np.ones(1, dtype=np.float32), or use "
            "gensim.models.Word2Vec for this training."
        )
    if not len(model.wv.vectors):
        return  # gensim says what is missing
    for name, rows in (
        ("wv.vectors", model.wv.vectors),
        ("syn1neg", getattr(model, "syn1neg", None)),
    ):
        if rows is None:
            continue  # gensim says that there is nothing to train
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{name} holds {len(bad)} rows that are not finite, the first for "
                f"{model.wv.index_to_key[bad[0]]!r}: replace them before training on "
                "(model.init_weights() starts anew)"
            )
