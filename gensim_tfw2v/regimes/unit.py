"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

import functools
from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives import Step
from gensim_tfw2v.objectives.blocks import StepShape
from gensim_tfw2v.objectives.draws import draw
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.regimes.packing import pack_steps
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
        Summed lengths of the updates before clipping: not finite if training has diverged.
    """

    kept: tf.Tensor
    loss: tf.Tensor
    magnitude: tf.Tensor


class StepPlan(NamedTuple):
    """What was drawn and computed beforehand for one step; `pack_steps` holds those of all.

    Attributes
    ----------
    windows : Tensor [T/B, O], int32
        The window of each centre; see `band`.
    inputs, outputs : RowGroups
        Of the blocks' input rows, and of their columns.
    alpha : Tensor []
        Step size.
    words : Tensor [T/B, C], int32, or ()
        Ids of the columns, where negatives are compared with targets.
    """

    windows: tf.Tensor
    inputs: RowGroups
    outputs: RowGroups
    alpha: tf.Tensor
    words: tf.Tensor | tuple[()]


@functools.lru_cache(maxsize=32)
def unit_function(program: UnitProgram) -> tf.types.experimental.PolymorphicFunction:
    """Build, once per program, the ``tf.function`` that trains a unit.

    Call it with tensors and variables of the shapes given (variables made with
    ``shape=[None, D]``), or through `concrete_unit_function`: then one trace serves all models.

    Returns
    -------
    function (inputs, outputs, keep_probability, words, entries, key, alphas) -> UnitResult
        inputs, outputs : Variable [V, D]
            Input rows (``wv.vectors``) and output rows (``syn1neg``), updated in place.
        keep_probability : Tensor [V], float32
        words : Tensor [V, 2], int32
            What negatives are drawn from: an `alias_table`.
        entries : Tensor [n], int32
            Token ids, -1 after each sentence; n at most ``program.max_entries``.
        key : Tensor [2], int32
            The unit's name.
        alphas : Tensor [2], float32
            Step size at the unit's first and last step.
    """
    shape, dtype = program.shape, tf.as_dtype(program.product_dtype)

    # written with tf.while_loop: converting Python loops would take as long as all the rest
    @tf.function(autograph=False)
    def train_unit(inputs, outputs, keep_probability, words, entries, key, alphas):  # type: ignore[no-untyped-def]
        with tf.name_scope("draw"), tf.device("CPU"):
            draws = draw(entries, key, keep_probability, words, shape, program.shrink_windows)
            steps = tf.shape(draws.windows)[0]
            (input_groups, input_ids), (output_groups, output_ids) = (
                group_rows(ids, program.id_bits, program.max_steps)
                for ids in (draws.inputs, draws.outputs)
            )
            part_done = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
            plan_of = pack_steps(
                StepPlan(
                    windows=draws.windows,
                    inputs=input_groups,
                    outputs=output_groups,
                    alpha=alphas[0] + (alphas[1] - alphas[0]) * part_done,
                    words=draws.outputs if program.skip_targets else (),
                )
            )

        def train_step(
            number: tf.Tensor, loss: tf.Tensor, magnitude: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            plan = plan_of(number)
            of_inputs = tf.slice(input_ids, plan.inputs.begin, plan.inputs.number)
            of_outputs = tf.slice(output_ids, plan.outputs.begin, plan.outputs.number)
            step = Step(
                shape,
                inputs=tf.gather(inputs, of_inputs),
                outputs=tf.gather(outputs, of_outputs),
                input_place=plan.inputs.place,
                output_place=plan.outputs.place,
                windows=plan.windows,
                noise=_other_words(plan.words, shape) if program.skip_targets else None,
                dtype=dtype,
            )
            gradients = program.objective(step, program.with_loss)
            for table, ids, groups, updates in (
                (inputs, of_inputs, plan.inputs, [gradients.inputs]),
                (outputs, of_outputs, plan.outputs, gradients.outputs),
            ):
                magnitude += add_updates(table, ids, groups, updates, plan.alpha, program.max_norm)
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
        tf.TensorSpec([None, 2], tf.int32),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )


def _other_words(outputs: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """1 where a block's negative is another word than its centre: [T/B, C - O, O]."""
    words, negatives = outputs[:, : shape.centres], outputs[:, shape.centres :]
    return tf.cast(negatives[:, :, None] != words[:, None, :], tf.float32)
