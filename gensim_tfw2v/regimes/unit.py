"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

import functools
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives import Step
from gensim_tfw2v.objectives.blocks import StepShape
from gensim_tfw2v.objectives.draws import Draws, draw
from gensim_tfw2v.objectives.hierarchical_softmax import TreeStep, deep_nodes
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.regimes.packing import pack_steps
from gensim_tfw2v.updates import RowGroups, add_rows, add_updates, group_rows

#: Nodes on a path, at most: gensim's counts are below 2**63, and each level adds to them.
LONGEST_PATH = 128


class Tables(NamedTuple):
    """What is trained, by the names of gensim's attributes; a table without use has no rows.

    Attributes
    ----------
    inputs : Variable or ndarray [V, D]
        ``wv.vectors``
    outputs : [V, D]
        ``syn1neg``: of negative sampling.
    nodes : [V, D]
        ``syn1``: of hierarchical softmax.
    """

    inputs: tf.Variable
    outputs: tf.Variable
    nodes: tf.Variable


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
    alpha : Tensor []
        Step size.
    windows : Tensor [T/B, O], int32
        The window of each centre; see `band`.
    inputs : RowGroups
        Of the blocks' input rows.
    outputs : RowGroups, or ()
        Of their columns in negative sampling.
    words : Tensor [T/B, C], int32, or ()
        Ids of those columns, where negatives are compared with targets.
    leaves, sources, nodes
        See `TreeStep`, and the RowGroups of the deep nodes; or ().
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    leaves: Any = ()
    sources: Any = ()
    nodes: Any = ()


class Ids(NamedTuple):
    """The distinct ids of every table's rows, step after step; None for a table without use."""

    inputs: tf.Tensor
    outputs: tf.Tensor | None
    nodes: tf.Tensor | None


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
        with tf.name_scope("draw"), tf.device("CPU"):
            noise = words.noise if program.objective.negative else None
            draws = draw(entries, key, words.keep, noise, program.shape, program.shrink_windows)
            steps = tf.shape(draws.windows)[0]
            plan, ids = _plan(program, draws, words, alphas)
            plan_of = pack_steps(plan)

        def train_step(
            number: tf.Tensor, loss: tf.Tensor, magnitude: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            lost, moved = _train_step(program, plan_of(number), ids, tables, words)
            return number + 1, loss + lost, magnitude + moved

        _, loss, magnitude = tf.while_loop(
            lambda number, loss, magnitude: number < steps,
            train_step,
            [tf.constant(0), tf.constant(0.0), tf.constant(0.0)],
            parallel_iterations=1,
        )
        return UnitResult(draws.kept, loss, magnitude)

    return train_unit


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


def _plan(
    program: UnitProgram, draws: Draws, words: Words, alphas: tf.Tensor
) -> tuple[StepPlan, Ids]:
    """What all steps need, computed for the whole unit at once."""
    shape, objective = program.shape, program.objective

    def groups_of(ids: tf.Tensor, columns: int) -> tuple[RowGroups, tf.Tensor]:
        return group_rows(ids, program.id_bits, program.max_steps, shape.blocks * columns)

    steps = tf.shape(draws.windows)[0]
    part_done = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
    inputs, input_ids = groups_of(draws.inputs, shape.inputs)
    plan = StepPlan(alphas[0] + (alphas[1] - alphas[0]) * part_done, draws.windows, inputs)
    ids = Ids(input_ids, None, None)
    if objective.negative:
        columns = tf.concat([draws.centres, draws.negatives], 2)
        outputs, output_ids = groups_of(columns, shape.columns)
        plan = plan._replace(outputs=outputs, words=columns if program.skip_targets else ())
        ids = ids._replace(outputs=output_ids)
    if objective.hierarchical:
        deep = deep_nodes(draws.centres, words.tree, shape)
        nodes, node_ids = groups_of(deep.nodes, shape.centres * LONGEST_PATH)
        leaves = tf.gather(words.tree.leaf, draws.centres)
        plan = plan._replace(leaves=leaves, sources=deep.sources, nodes=nodes)
        ids = ids._replace(nodes=node_ids)
    return plan, ids


def _train_step(
    program: UnitProgram, plan: StepPlan, ids: Ids, tables: Tables, words: Words
) -> tuple[tf.Tensor, tf.Tensor]:
    """Train one step; return its loss and the lengths of its updates."""
    input_ids = _ids_of_step(ids.inputs, plan.inputs)
    output_ids = None if ids.outputs is None else _ids_of_step(ids.outputs, plan.outputs)
    node_ids = None if ids.nodes is None else _ids_of_step(ids.nodes, plan.nodes)
    step = Step(
        program.shape,
        inputs=tf.gather(tables.inputs, input_ids),
        input_place=plan.inputs.place,
        windows=plan.windows,
        dtype=tf.as_dtype(program.product_dtype),
    )
    if output_ids is not None:
        step = step._replace(
            outputs=tf.gather(tables.outputs, output_ids),
            output_place=plan.outputs.place,
            noise=_other_words(plan.words, program.shape) if program.skip_targets else None,
        )
    if node_ids is not None:
        step = step._replace(
            tree=TreeStep(
                top=tf.gather(tables.nodes, words.tree.top),
                signs=words.tree.signs,
                leaves=plan.leaves,
                deep=tf.gather(tables.nodes, node_ids),
                place=plan.nodes.place,
                sources=plan.sources,
            )
        )
    gradients = program.objective(step, program.with_loss)
    size = plan.alpha, program.max_norm
    lock = words.lock if program.locked else None
    moved = add_updates(tables.inputs, input_ids, plan.inputs, [gradients.inputs], *size, lock)
    if output_ids is not None:
        moved += add_updates(tables.outputs, output_ids, plan.outputs, gradients.outputs, *size)
    if node_ids is not None:
        assert gradients.tree is not None
        moved += add_updates(tables.nodes, node_ids, plan.nodes, [gradients.tree.deep], *size)
        moved += add_rows(tables.nodes, words.tree.top, gradients.tree.top, *size)
    return gradients.loss, moved


def _ids_of_step(distinct: tf.Tensor, groups: RowGroups) -> tf.Tensor:
    return tf.slice(distinct, groups.begin, groups.number)


def _other_words(outputs: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """1 where a block's negative is another word than its centre: [T/B, C - O, O]."""
    words, negatives = outputs[:, : shape.centres], outputs[:, shape.centres :]
    return tf.cast(negatives[:, :, None] != words[:, None, :], tf.float32)
