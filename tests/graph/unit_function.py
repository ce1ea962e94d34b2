"""A traced function that trains one unit, as a worker does within a job."""

from __future__ import annotations

import functools

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays

#: Maximum entries of a unit.
MAX_ENTRIES = 2048


def concrete_unit_function(engine, tables):
    """Return the traced function that trains a unit, for any vocabulary and number of entries.

    Parameters
    ----------
    tables : Tables of Variable [None, D]
        Variables of the same dtype as the trained ones. Their number of rows does not matter.

    Returns
    -------
    function (tables, words, entries, key, alphas) -> UnitResult
        It updates the tables in place. Entries [n], int32, are token ids with -1 after each
        sentence, at most `MAX_ENTRIES`. The key [2], int32, seeds the unit's draws.
        alphas [2], float32, are the learning rates at its first and last step.
    """
    return unit_function(engine).get_concrete_function(
        tables,
        _word_specs(),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )


@functools.lru_cache(maxsize=32)
def unit_function(engine):
    """Build the function that `concrete_unit_function` traces, once per engine."""

    # loops are tf.while_loop: AutoGraph would take as long as everything else together
    @tf.function(autograph=False)
    def train_unit(tables, words, entries, key, alphas):
        unit = engine.prepare(words, entries, key, alphas, MAX_ENTRIES)
        return engine.train(unit, Tables(*(table.handle for table in tables)), words)

    return train_unit


def word_tensors(words):
    """Word arrays as tensors on the CPU."""
    with tf.device("CPU"):
        return tf.nest.map_structure(tf.constant, words)


def _word_specs():
    """Shapes and dtypes of word arrays for any vocabulary."""
    lists = Lists(*[tf.TensorSpec([None], tf.int32)] * 2)
    floats, noise = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, 2], tf.int32)
    return WordArrays(floats, noise, lists, floats, lists, floats)
