"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

import functools
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape, reach_tables
from gensim_tfw2v.objectives.draws import draw
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.updates import add_updates, group_rows


class UnitResult(NamedTuple):
    """What training a unit reports.

    Attributes
    ----------
    kept : Tensor [], int32
        Tokens trained on, after subsampling.
    loss : Tensor [], float32
        Summed loss; 0 unless the program computes it.
    magnitude : Tensor [], float32
        Summed squared norms of the updates: not finite if training has diverged.
    """

    kept: tf.Tensor
    loss: tf.Tensor
    magnitude: tf.Tensor


@functools.lru_cache(maxsize=32)
def unit_function(program: UnitProgram) -> tf.types.experimental.PolymorphicFunction:
    """Build, once per program, the ``tf.function`` that trains a unit.

    Call it with tensors and variables of the shapes given (variables made with
    ``shape=[None, D]``), or through `concrete_unit_function`: then one trace serves all models.

    Returns
    -------
    function (inputs, outputs, keep_probability, cum_table, entries, key, alphas) -> UnitResult
        inputs, outputs : Variable [V, D]
            Input rows (``wv.vectors``) and output rows (``syn1neg``), updated in place.
        keep_probability : Tensor [V], float32
        cum_table : Tensor [V], int32
        entries : Tensor [n], int32
            Token ids, -1 after each sentence; n at most ``program.max_entries``.
        key : Tensor [2], int32
            The unit's name.
        alphas : Tensor [2], float32
            Step size at the unit's first and last step.
    """
    shape, objective = program.shape, program.objective
    left_table, right_table = (tf.constant(table) for table in reach_tables(shape))
    rows = tf.range(shape.block) * (shape.window + 1)

    @tf.function
    def train_unit(inputs, outputs, keep_probability, cum_table, entries, key, alphas):  # type: ignore[no-untyped-def]
        with tf.name_scope("draw"), tf.device("CPU"):
            draws = draw(entries, key, keep_probability, cum_table, shape, program.shrink_windows)
            left, right = draws.left + rows, draws.right + rows
            input_groups, output_groups = (
                group_rows(
                    tf.reshape(ids, [-1, ids.shape[1] * ids.shape[2]]),
                    program.id_bits,
                    program.max_steps,
                )
                for ids in (draws.inputs, draws.outputs)
            )

        steps = tf.shape(left)[0]
        loss = magnitude = tf.constant(0.0)
        for step in tf.range(steps):
            done = tf.cast(step, tf.float32) / tf.cast(steps, tf.float32)
            alpha = alphas[0] + (alphas[1] - alphas[0]) * done
            # tf.gather takes a step out of the unit in one op, indexing would take three
            output_ids = tf.gather(draws.outputs, step)
            gradients = objective(
                inputs=tf.gather(inputs, tf.gather(draws.inputs, step)),
                outputs=tf.gather(outputs, output_ids),
                band=tf.gather(left_table, tf.gather(left, step))
                + tf.gather(right_table, tf.gather(right, step)),
                noise=_other_words(output_ids, shape) if program.skip_targets else None,
                shared=shape.shared,
                alpha=alpha,
                with_loss=program.with_loss,
            )
            magnitude += add_updates(
                inputs, input_groups, step, _rows(gradients.inputs), program.max_norm
            )
            magnitude += add_updates(
                outputs, output_groups, step, _rows(gradients.outputs), program.max_norm
            )
            if program.with_loss:
                loss += gradients.loss
        return UnitResult(draws.kept, loss, magnitude)

    return train_unit


def concrete_unit_function(
    program: UnitProgram, inputs: tf.Variable, outputs: tf.Variable
) -> tf.types.experimental.ConcreteFunction:
    """The traced `unit_function`, for any number of entries.

    Parameters
    ----------
    inputs, outputs : Variable [None, D]
        Like the ones to be trained; with shape [None, D], no matter how many rows they have.
    """
    return unit_function(program).get_concrete_function(
        inputs,
        outputs,
        tf.TensorSpec([None], tf.float32),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )


def _rows(updates: tf.Tensor) -> tf.Tensor:
    """[N, R, D] -> [N * R, D]."""
    return tf.reshape(updates, [-1, updates.shape[-1]])


def _other_words(outputs: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """1 where a block's negative is another word than the block's position: [N, C - B, B]."""
    words, negatives = outputs[:, : shape.block], outputs[:, shape.block :]
    return tf.cast(negatives[:, :, None] != words[:, None, :], tf.float32)
