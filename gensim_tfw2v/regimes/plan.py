"""What is drawn and computed for a whole unit before its first step."""

from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import RowGroups, group_entries, group_rows, sort_rows
from gensim_tfw2v.objectives.deep_nodes import deep_nodes, shared_nodes
from gensim_tfw2v.objectives.draws import Draws
from gensim_tfw2v.objectives.tree import Tree
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.ragged import Span

#: Nodes on a path, at most: gensim's counts are below 2**63, and each level adds to them.
LONGEST_PATH = 128


class TreePlan(NamedTuple):
    """Of one step of hierarchical softmax; the spans say where the step lies in `UnitPlan`.

    Attributes
    ----------
    leaves : Tensor [T/B, O], int32
        See `TreeStep`.
    order, place : Tensor [T], int32, or ()
        See `TreeStep`.
    slots, entries, distinct : Span
        Of the slots and entries of `DeepNodes`, and of their distinct nodes.
    """

    leaves: tf.Tensor
    order: Any
    place: Any
    slots: Span
    entries: Span
    distinct: Span


class StepPlan(NamedTuple):
    """Of one step; of all steps, each tensor has them as its first dimension.

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
    tree : TreePlan, or ()
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    tree: Any = ()


class UnitPlan(NamedTuple):
    """What has another length in each step, step after step; None without use.

    Attributes
    ----------
    inputs, outputs, nodes : Tensor, int32
        The distinct ids of each table's rows.
    columns, sources : Tensor [all slots], int32
        See `TreeStep`.
    slot, segment : Tensor [all entries], int32
        See `EntryGroups`.
    """

    inputs: tf.Tensor
    outputs: tf.Tensor | None = None
    nodes: tf.Tensor | None = None
    columns: tf.Tensor | None = None
    sources: tf.Tensor | None = None
    slot: tf.Tensor | None = None
    segment: tf.Tensor | None = None


def plan_unit(
    program: UnitProgram, draws: Draws, words: Words, alphas: tf.Tensor
) -> tuple[StepPlan, UnitPlan]:
    """Plan all steps of a unit.

    Parameters
    ----------
    alphas : Tensor [2], float32
        Step size at the unit's first and last step.
    """
    shape, objective = program.shape, program.objective

    def groups_of(ids: tf.Tensor, columns: int) -> tuple[RowGroups, tf.Tensor]:
        return group_rows(ids, program.id_bits, program.max_steps, shape.blocks * columns)

    steps = tf.shape(draws.windows)[0]
    part_done = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
    inputs, input_ids = groups_of(draws.inputs, shape.inputs)
    plan = StepPlan(alphas[0] + (alphas[1] - alphas[0]) * part_done, draws.windows, inputs)
    unit = UnitPlan(input_ids)
    if objective.negative:
        columns = tf.concat([draws.centres, draws.negatives], 2)
        outputs, output_ids = groups_of(columns, shape.columns)
        plan = plan._replace(outputs=outputs, words=columns if program.selects_negatives else ())
        unit = unit._replace(outputs=output_ids)
    if objective.hierarchical:
        tree, unit = _plan_tree(program, draws.centres, words.tree, unit)
        plan = plan._replace(tree=tree)
    return plan, unit


def _plan_tree(
    program: UnitProgram, centres: tf.Tensor, tree: Tree, unit: UnitPlan
) -> tuple[TreePlan, UnitPlan]:
    order, place = (), ()
    leaves = tf.gather(tree.leaf, centres)
    if program.objective.tree_block:
        tokens, width = program.shape.tokens, program.tree_block
        centres = tf.reshape(centres, [-1, tokens])
        ranks = tf.gather(tree.rank, centres)
        order, place, _ = sort_rows(ranks, program.id_bits, program.max_steps, tokens)
        order, place = (tf.ensure_shape(x, [None, tokens]) for x in (order, place))
        centres = tf.gather(centres, order, batch_dims=1)
        centres = tf.reshape(centres, [-1, tokens // width, width])
        deep = shared_nodes(centres, tree)
    else:
        deep = deep_nodes(centres, tree)
    groups, distinct = group_entries(
        deep.nodes,
        deep.steps,
        deep.slots,
        deep.entries.end,
        program.id_bits,
        program.max_steps,
        centres.shape[1] * centres.shape[2] * LONGEST_PATH,
    )
    plan = TreePlan(
        leaves=leaves,
        order=order,
        place=place,
        slots=deep.used,
        entries=deep.entries,
        distinct=groups.distinct,
    )
    unit = unit._replace(
        nodes=distinct,
        columns=deep.in_slots(groups.segment, groups.slot, padding=0),
        sources=deep.sources,
        slot=groups.slot,
        segment=groups.segment,
    )
    return plan, unit
