"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

import functools
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives import Step
from gensim_tfw2v.objectives.blocks import StepShape, reach_tables
from gensim_tfw2v.objectives.draws import draw
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.updates import RowGroups, add_updates, group_rows


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
    shape, dtype = program.shape, tf.as_dtype(program.product_dtype)
    tables = tuple(tf.constant(table) for table in reach_tables(shape))
    first_rows = tf.range(shape.block) * (shape.window + 1)

    def reach_rows(reach: tf.Tensor) -> tf.Tensor:  # [steps, T/B, B] -> [steps, T/B, C]
        return tf.pad(reach + first_rows, [[0, 0], [0, 0], [0, shape.shared]])

    def groups_of(ids: tf.Tensor) -> RowGroups:  # [steps, T/B, r], of T/B * r rows a step
        rows = tf.reshape(ids, [-1, ids.shape[1] * ids.shape[2]])
        return group_rows(rows, program.id_bits, program.max_steps)

    def of_step(x: tf.Tensor, number: tf.Tensor, width: int) -> tf.Tensor:  # -> [T/B, width]
        # tf.gather takes a step out of the unit in one op, indexing would take three
        return tf.reshape(tf.gather(x, number), [shape.blocks, width])

    # written with tf.while_loop: converting Python loops would take as long as all the rest
    @tf.function(autograph=False)
    def train_unit(inputs, outputs, keep_probability, cum_table, entries, key, alphas):  # type: ignore[no-untyped-def]
        with tf.name_scope("draw"), tf.device("CPU"):
            draws = draw(entries, key, keep_probability, cum_table, shape, program.shrink_windows)
            left, right = reach_rows(draws.left), reach_rows(draws.right)
            input_groups, output_groups = groups_of(draws.inputs), groups_of(draws.outputs)
        steps = tf.shape(left)[0]

        def train_step(
            number: tf.Tensor, loss: tf.Tensor, magnitude: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            done = tf.cast(number, tf.float32) / tf.cast(steps, tf.float32)
            step = Step(
                shape,
                inputs=tf.cast(tf.gather(inputs, input_groups.distinct_ids(number)), dtype),
                outputs=tf.cast(tf.gather(outputs, output_groups.distinct_ids(number)), dtype),
                input_place=of_step(input_groups.place, number, shape.halo),
                output_place=of_step(output_groups.place, number, shape.columns),
                left=of_step(left, number, shape.columns),
                right=of_step(right, number, shape.columns),
                reach_tables=tables,
                noise=(
                    _other_words(of_step(draws.outputs, number, shape.columns), shape)
                    if program.skip_targets
                    else None
                ),
                alpha=alphas[0] + (alphas[1] - alphas[0]) * done,
            )
            gradients = program.objective(step, program.with_loss)
            for table, groups, updates in (
                (inputs, input_groups, [gradients.inputs]),
                (outputs, output_groups, gradients.outputs),
            ):
                magnitude += add_updates(table, groups, number, updates, program.max_norm)
            return number + 1, loss + gradients.loss, magnitude

        _, loss, magnitude = tf.while_loop(
            lambda number, loss, magnitude: number < steps,
            train_step,
            [tf.constant(0), tf.constant(0.0), tf.constant(0.0)],
            parallel_iterations=1,
        )
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


def _other_words(outputs: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """1 where a block's negative is another word than the block's position: [T/B, C - B, B]."""
    words, negatives = outputs[:, : shape.block], outputs[:, shape.block :]
    return tf.cast(negatives[:, :, None] != words[:, None, :], tf.float32)
