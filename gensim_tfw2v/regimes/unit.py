"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import EntryGroups
from gensim_tfw2v.objectives import Step
from gensim_tfw2v.objectives.blocks import StepShape
from gensim_tfw2v.objectives.draws import draw
from gensim_tfw2v.objectives.hierarchical_softmax import TreeStep
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.regimes.packing import pack_steps
from gensim_tfw2v.regimes.plan import StepPlan, TreePlan, UnitPlan, plan_unit
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.updates import add_rows, clipped, read_rows, sum_entries, sum_rows


class UnitResult(NamedTuple):
    """What training a unit reports.

    Attributes
    ----------
    kept : Tensor [], int32
        Tokens trained on, after subsampling.
    loss, predictions : Tensor [], float32
        Summed loss, and of how many predictions, of the steps whose loss is computed.
    magnitude : Tensor [], float32
        Summed lengths of the updates before clipping: not finite if training has diverged.
    """

    kept: tf.Tensor
    loss: tf.Tensor
    predictions: tf.Tensor
    magnitude: tf.Tensor


@functools.lru_cache(maxsize=32)
def unit_function(program: UnitProgram) -> tf.types.experimental.PolymorphicFunction:
    """Build, once per program, the ``tf.function`` that trains a unit.

    Call it with tensors and variables of the shapes given (variables made with
    ``shape=[None, D]``), or through `concrete_unit_function`: then one trace serves all models.

    Returns
    -------
    function (tables, words, entries, key, alphas) -> UnitResult
        tables : Tables of Variable
            Updated in place.
        words : Words of tensors
        entries : Tensor [n], int32
            Token ids, -1 after each sentence; n at most ``program.max_entries``.
        key : Tensor [2], int32
            The unit's name.
        alphas : Tensor [2], float32
            Step size at the unit's first and last step.
    """

    # written with tf.while_loop: converting Python loops would take as long as all the rest
    @tf.function(autograph=False)
    def train_unit(tables, words, entries, key, alphas):  # type: ignore[no-untyped-def]
        prepared = prepare_unit(program, words, entries, key, alphas)
        return prepared.train(program, Tables(*(table.handle for table in tables)), words)

    return train_unit


class PreparedUnit(NamedTuple):
    """A unit of which all is drawn and planned, and which has only to be trained.

    Attributes
    ----------
    kept, steps : Tensor [], int32
        Tokens trained on, after subsampling, and steps.
    plan_of : function (step) -> StepPlan
    unit : UnitPlan
    """

    kept: tf.Tensor
    steps: tf.Tensor
    plan_of: Callable[[tf.Tensor], StepPlan]
    unit: UnitPlan

    def train(self, program: UnitProgram, tables: Tables, words: Words) -> UnitResult:
        """Train its steps, one after the other.

        Parameters
        ----------
        tables : Tables of Tensor [], resource
            Handles of the variables, updated in place.
        """

        def train_step(number: tf.Tensor, sums: tuple[tf.Tensor, ...]) -> Any:
            of_step = _train_step(program, number, self.plan_of(number), self.unit, tables, words)
            return number + 1, tuple(x + y for x, y in zip(sums, of_step, strict=True))

        _, sums = tf.while_loop(
            lambda number, sums: number < self.steps,
            train_step,
            [tf.constant(0), (tf.constant(0.0),) * 3],
            parallel_iterations=1,
        )
        return UnitResult(self.kept, *sums)


def prepare_unit(
    program: UnitProgram, words: Words, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> PreparedUnit:
    """Draw and plan a unit; parameters as for `unit_function`."""
    with tf.name_scope("draw"), tf.device("CPU"):
        noise = words.noise if program.objective.negative else None
        draws = draw(
            entries,
            key,
            words.keep,
            noise,
            program.shape,
            program.shrink_windows,
            program.noise_reuse,
        )
        plan, unit = plan_unit(program, draws, words, alphas)
        return PreparedUnit(draws.kept, tf.shape(draws.windows)[0], pack_steps(plan), unit)


def concrete_unit_function(
    program: UnitProgram, tables: Tables
) -> tf.types.experimental.ConcreteFunction:
    """The traced `unit_function`, for any vocabulary and any number of entries.

    Parameters
    ----------
    tables : Tables of Variable [None, D]
        Like the ones to be trained; with shape [None, D], no matter how many rows they have.
    """
    return unit_function(program).get_concrete_function(
        tables,
        Words.spec(),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )


def _train_step(
    program: UnitProgram,
    number: tf.Tensor,
    plan: StepPlan,
    unit: UnitPlan,
    tables: Tables,
    words: Words,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Train one step; return what a `UnitResult` sums."""
    input_ids = plan.inputs.distinct.of(unit.inputs)
    output_ids = plan.outputs.distinct.of(unit.outputs) if plan.outputs else None
    node_ids = plan.tree.distinct.of(unit.nodes) if plan.tree else None
    step = Step(
        program.shape,
        inputs=read_rows(tables.inputs, input_ids),
        input_place=plan.inputs.place,
        windows=plan.windows,
        dtype=tf.as_dtype(program.product_dtype),
    )
    if output_ids is not None:
        step = step._replace(
            outputs=read_rows(tables.outputs, output_ids),
            output_place=plan.outputs.place,
            noise=_other_words(plan.words, program.shape) if program.skip_targets else None,
        )
    if node_ids is not None:
        step = step._replace(tree=_tree_step(program, plan, unit, node_ids, tables, words))
    gradients = program.objective(step, program.with_loss(number))
    parts = [(tables.inputs, input_ids, sum_rows(plan.inputs, [gradients.inputs]))]
    if output_ids is not None:
        parts.append((tables.outputs, output_ids, sum_rows(plan.outputs, gradients.outputs)))
    if gradients.tree is not None:
        groups = EntryGroups(
            plan.tree.entries.of(unit.slot), plan.tree.entries.of(unit.segment), plan.tree.distinct
        )
        slots = tf.reshape(gradients.tree.deep, [-1, program.vector_size])
        parts.append((tables.nodes, node_ids, sum_entries(groups, slots)))
    moved = tf.constant(0.0)
    for table, ids, sums in parts:
        changes, magnitude = clipped(sums, plan.alpha, program.max_norm)
        locked = program.locked and table is tables.inputs
        add_rows(table, ids, changes, words.lock if locked else None)
        moved += magnitude
    if gradients.tree is not None:
        add_rows(tables.nodes, words.tree.top, gradients.tree.top)
        moved += tf.reduce_sum(tf.abs(gradients.tree.top))
    return gradients.loss, gradients.predictions, moved


def _tree_step(
    program: UnitProgram,
    plan: StepPlan,
    unit: UnitPlan,
    node_ids: tf.Tensor,
    tables: Tables,
    words: Words,
) -> TreeStep:
    tree: TreePlan = plan.tree
    own_order = program.objective.tree_block is not None
    blocks = program.shape.tokens // program.tree_block if own_order else program.shape.blocks
    return TreeStep(
        top=read_rows(tables.nodes, words.tree.top),
        signs=words.tree.signs,
        leaves=tree.leaves,
        deep=read_rows(tables.nodes, node_ids),
        columns=tf.reshape(tree.slots.of(unit.columns), [blocks, -1]),
        sources=tf.reshape(tree.slots.of(unit.sources), [blocks, -1]),
        alpha=plan.alpha,
        max_norm=program.max_norm,
        order=tree.order if own_order else None,
        place=tree.place if own_order else None,
    )


def _other_words(outputs: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """1 where a block's negative is another word than its centre: [T/B, C - O, O]."""
    words, negatives = outputs[:, : shape.centres], outputs[:, shape.centres :]
    return tf.cast(negatives[:, :, None] != words[:, None, :], tf.float32)
