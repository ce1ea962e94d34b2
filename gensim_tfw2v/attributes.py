"""What training needs to know, out of gensim's attributes."""

import secrets
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from gensim_tfw2v.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.objectives.blocks import StepShape
from gensim_tfw2v.objectives.noise import noise_shares
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import (
    FEW_WORDS,
    UnitProgram,
    choose_max_norm,
    choose_product_dtype,
    choose_shape,
)
from gensim_tfw2v.regimes import Tables, pair_rates


def unit_program(
    model: Word2Vec,
    tokens: int,
    max_entries: int,
    window: int | None = None,
    native: bool = False,
) -> UnitProgram:
    """The program of a work unit.

    Parameters
    ----------
    tokens : int
        Of the corpus, that are in the vocabulary.
    max_entries : int
        Of a unit.
    window : int, optional
        How far windows can reach in the corpus; by default the model's `window`.
    native : bool
        Whether compiled kernels train.
    """
    shape, widest = step_shape(model, tokens, native), int(model.window)
    if window is not None:
        shape = replace(shape, window=window)
    return UnitProgram(
        objective=_objective(model),
        shape=shape,
        vector_size=model.vector_size,
        id_bits=max(2, (len(model.wv) - 1).bit_length()),
        max_entries=max_entries,
        shrink_windows=bool(model.shrink_windows),
        widest_window=widest if model.shrink_windows and widest > shape.window else None,
        loss_of=_loss_of(model),
        skip_targets=bool(model.negative) and len(model.wv) <= FEW_WORDS,
        locked=_lock(model) is not None,
        negative_shards=_negative_shards(model),
        product_dtype=choose_product_dtype(),
        max_norm=choose_max_norm(bool(model.sg), bool(model.hs)),
        native=native,
    )


def seed_of(model: Any) -> int:
    """The model's seed as a whole number from 0 up; without one, drawn anew in each call.

    NumPy, and so gensim, takes sequences of numbers, too.
    """
    if model.seed is None:
        return secrets.randbits(63)
    if isinstance(model.seed, Integral | np.bool_):
        return abs(int(model.seed))
    numbers = np.abs(np.asarray(model.seed, np.int64)).ravel()
    return int(np.random.SeedSequence(numbers.tolist()).generate_state(1, np.uint64)[0])


def kept_share(model: Word2Vec) -> float:
    """Share of the vocabulary's words that survives subsampling."""
    counts = model.wv.expandos["count"].astype(np.float64)
    return float((counts * keep_probability(model)).sum() / max(1.0, counts.sum()))


def step_shape(model: Word2Vec, tokens: int, native: bool = False) -> StepShape:
    """A step, for a corpus with so many tokens that are in the vocabulary."""
    kept = int(tokens * kept_share(model))
    return choose_shape(
        kept,
        int(model.window),
        int(model.negative),
        bool(model.sg),
        bool(model.hs),
        _negative_shards(model),
        model.vector_size,
        native,
    )


def _loss_of(model: Word2Vec) -> str:
    if model.compute_loss:
        return "all"
    return "none" if getattr(model, "log_dir", None) is None else "first"


def words_of(model: Word2Vec) -> Words:
    """What is known of each word."""
    expandos = model.wv.expandos
    return Words.of(
        keep_probability(model),
        noise_weights=_noise_weights(model),
        paths=(expandos["point"], expandos["code"]) if model.hs else None,
        lock=_lock(model),
        negative_shards=_negative_shards(model),
    )


def rates_of(model: Word2Vec, window: int) -> Tables:
    """How often each row is trained on, if windows reach so far; see `pair_rates`."""
    frequency = model.wv.expandos["count"] * keep_probability(model).astype(np.float64)
    noise, shards = _noise_weights(model), _negative_shards(model)
    return pair_rates(
        frequency / frequency.sum(),
        pairs=min(int(model.window) + 1, 2 * window) if model.shrink_windows else 2 * window,
        skipgram=bool(model.sg),
        negative=int(model.negative),
        noise=None if noise is None else noise_shares(noise, frequency, shards),
        paths=model.wv.expandos["point"] if model.hs else None,
    )


def tables_of(model: Word2Vec) -> Tables:
    """The model's arrays; of those that are not trained, none."""
    nothing = np.zeros((0, model.vector_size), np.float32)
    return Tables(
        inputs=model.wv.vectors,
        outputs=model.syn1neg if model.negative else nothing,
        nodes=model.syn1 if model.hs else nothing,
    )


def keep_probability(model: Word2Vec) -> np.ndarray:
    """Chance of each word to survive subsampling, [V]."""
    if not model.sample or "sample_int" not in model.wv.expandos:
        return np.ones(len(model.wv), np.float32)
    return ((model.wv.expandos["sample_int"].astype(np.float64) + 1) / 2**32).astype(np.float32)


def _objective(model: Any) -> Objective:
    if model.sg:
        return SkipGram(int(model.negative), bool(model.hs))
    return Cbow(
        int(model.negative), bool(model.cbow_mean), bool(model.hs), corrected=model.corrected_cbow
    )


def _noise_weights(model: Word2Vec) -> np.ndarray | None:
    """In what proportion negatives are drawn, [V]."""
    return np.diff(model.cum_table, prepend=0) if model.negative else None


def _negative_shards(model: Any) -> int:
    shards = int(getattr(model, "negative_shards", 1)) if model.negative else 1
    if shards > max(1, len(model.wv)):
        raise ValueError(
            f"negative_shards={shards} is more than the vocabulary's {len(model.wv)} words: "
            "each shard needs words of which negatives can be drawn"
        )
    return shards


def _lock(model: Word2Vec) -> np.ndarray | None:
    """Factors of each word's updates, [V]; None if all are 1."""
    lock = np.asarray(getattr(model.wv, "vectors_lockf", 1.0), np.float32)
    if np.all(lock == 1.0):
        return None
    return np.array(np.broadcast_to(lock, len(model.wv)))
