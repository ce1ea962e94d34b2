"""What is drawn and computed for a whole unit before its first step."""

from __future__ import annotations

from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.config import KernelConfig
from gensim_tfw2v.kernel.draws import Draws
from gensim_tfw2v.kernel.grouping import RowGroups, group_rows
from gensim_tfw2v.kernel.objectives.tree import paths_of
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays

#: Nodes on a path, at most: gensim's counts are below 2**63, and each level adds to them.
LONGEST_PATH = 128


class StepPlan(NamedTuple):
    """The plan of one step; of all steps, each tensor has them as its first dimension.

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
    nodes : RowGroups, or ()
        Of the nodes on the paths of their centres, in hierarchical softmax.
    signs : Tensor [T/B, O * P], float32, or ()
        See `paths_of`.
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    nodes: Any = ()
    signs: Any = ()

    @scoped("plan")
    def of(self, step: tf.Tensor) -> StepPlan:
        """Take one step out of all."""
        plan: StepPlan = tf.nest.map_structure(lambda x: x[step], self)
        return plan


def plan_unit(
    program: KernelConfig, draws: Draws, words: WordArrays, alphas: tf.Tensor
) -> tuple[StepPlan, Tables]:
    """Plan all steps of a unit.

    Parameters
    ----------
    alphas : Tensor [2], float32
        Step size at the unit's first and last step.

    Returns
    -------
    plan : StepPlan
        Of all steps.
    ids : Tables of Tensor, int32
        The distinct ids of each table's rows, step after step; None of a table without use.
    """
    shape, objective = program.shape, program.objective

    def groups_of(ids: tf.Tensor, columns: int) -> tuple[RowGroups, tf.Tensor]:
        return group_rows(ids, program.id_bits, program.max_steps, shape.blocks * columns)

    steps = tf.shape(draws.windows)[0]
    part_done = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
    inputs, input_ids = groups_of(draws.inputs, shape.inputs)
    plan = StepPlan(alphas[0] + (alphas[1] - alphas[0]) * part_done, draws.windows, inputs)
    ids = Tables(input_ids, None, None)
    if objective.negative:
        columns = tf.concat([draws.centres, draws.negatives], 2)
        outputs, output_ids = groups_of(columns, shape.columns)
        plan = plan._replace(outputs=outputs, words=columns if program.selects_negatives else ())
        ids = ids._replace(outputs=output_ids)
    if objective.hierarchical:
        on_paths, signs = paths_of(draws.centres, words.tree)
        nodes, node_ids = groups_of(on_paths, shape.centres * LONGEST_PATH)
        plan = plan._replace(nodes=nodes, signs=signs)
        ids = ids._replace(nodes=node_ids)
    return plan, ids
