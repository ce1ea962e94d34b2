"""A unit trained by a function of its own, as a worker trains it in a job."""

from __future__ import annotations

import functools

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.steps import prepare_unit
from gensim_tfw2v.graph.updates import whole_rows
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays


def concrete_unit_function(program, tables):
    """The traced function that trains a unit, for any vocabulary and any number of entries.

    Parameters
    ----------
    tables : Tables of Variable [None, D]
        Like the ones to be trained; with shape [None, D], no matter how many rows they have.

    Returns
    -------
    function (tables, words, entries, key, alphas) -> UnitResult
        It updates the tables in place. Entries are token ids [n], int32, -1 after each sentence, at
        most ``program.max_entries``; the key [2], int32, is the unit's name; alphas [2], float32,
        are the step sizes at its first and last step.
    """
    return unit_function(program).get_concrete_function(
        tables,
        _word_specs(),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )


@functools.lru_cache(maxsize=32)
def unit_function(program):
    """Build, once per program, what `concrete_unit_function` traces once for all models."""

    # written with tf.while_loop: converting Python loops would take as long as all the rest
    @tf.function(autograph=False)
    def train_unit(tables, words, entries, key, alphas):
        prepared = prepare_unit(program, words, entries, key, alphas)
        return prepared.train(program, whole_rows(table.handle for table in tables), words)

    return train_unit


def word_tensors(words):
    """The same word arrays as tensors, on the CPU."""
    with tf.device("CPU"):
        return tf.nest.map_structure(tf.constant, words)


def _word_specs():
    """Shapes and dtypes of word arrays, of any vocabulary."""
    lists = Lists(*[tf.TensorSpec([None], tf.int32)] * 2)
    floats, noise = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, 2], tf.int32)
    return WordArrays(floats, noise, lists, floats, lists, floats)
