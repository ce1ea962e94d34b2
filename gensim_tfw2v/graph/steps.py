"""Training of one work unit: the unit is drawn, its steps are planned, then trained one by one.

The result is a pure function of the unit's key, its entries, its learning rates and the rows that
it reads. So a unit may be trained on any worker, and retried.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.draws import Draws, draw, weigh_negatives
from gensim_tfw2v.graph.objectives import Step, StepPlan, gradients
from gensim_tfw2v.graph.paths import look_up_paths
from gensim_tfw2v.graph.slices import as_is, as_uint16
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.updates import (
    adagrad,
    add_rows,
    clip_changes,
    group_rows,
    read_rows,
    sum_rows,
)
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays

#: Maximum number of nodes on a path. Paths cannot be longer, because gensim's counts are below
#: 2**63, and towards the root of a Huffman tree, counts at least double every two levels.
MAX_PATH = 128


def prepare_unit(
    options: StepOptions,
    words: WordArrays,
    entries: tf.Tensor,
    key: tf.Tensor,
    alphas: tf.Tensor,
    max_entries: int,
) -> PreparedUnit:
    """Draw a unit, and plan its steps. For the arguments, see `Engine.prepare`."""
    return _planning(options, max_entries)(words, entries, key, alphas)


@functools.lru_cache(maxsize=32)
def _planning(options: StepOptions, max_entries: int) -> tf.types.experimental.PolymorphicFunction:
    """Return the function that draws and plans units with these options.

    The functions are cached, so that each is traced only once.
    """

    @tf.function(autograph=False)
    def plan_unit(words, entries, key, alphas):  # type: ignore[no-untyped-def]
        with tf.device("CPU"):
            draws = draw(options, words, entries, key)
            return _plan_unit(options, draws, words, alphas, max_entries)

    return plan_unit


class PreparedUnit(NamedTuple):
    """Unit whose draws are done and whose steps are planned."""

    kept: tf.Tensor  # [], number of tokens to train on, after subsampling
    steps: tf.Tensor  # [], number of steps
    plan: StepPlan  # draws of all steps
    ids: Tables  # per table: the distinct row ids of each step, concatenated; None if unused

    def train(self, options: StepOptions, tables: Tables, words: WordArrays) -> UnitResult:
        """Train all steps sequentially. For the arguments, see `train_steps`."""
        zeros = self.begin(tables)
        sums = self.train_steps(options, tables, words, tf.constant(0), self.steps, zeros)
        return UnitResult(self.kept, *sums[:3])

    def begin(self, tables: Tables) -> tuple[tf.Tensor, ...]:
        """Return the initial sums of `train_steps`: a 0 for each result of `train_step`."""
        traffic = [] if tables.inputs.link is None else [tf.zeros([2])]
        return (*[tf.constant(0.0)] * 3, *traffic)

    def train_steps(
        self,
        options: StepOptions,
        tables: Tables,
        words: WordArrays,
        first: tf.Tensor,
        last: tf.Tensor,
        sums: tuple[tf.Tensor, ...],
        squares: Tables | None = None,
    ) -> tuple[tf.Tensor, ...]:
        """Train the steps [first, last) sequentially, and return `sums` plus their results.

        Parameters
        ----------
        tables : Tables of WholeRows or SlicedRows
            Rows, which are updated in place.
        first, last : Tensor [], int32
            Index of the first step, and of the step after the last one.
        sums : tuple of Tensor
            Sums of the results of `train_step` over the preceding steps; `begin` for none. The
            returned sums have the same dtypes.
        squares : Tables of Tensor [], resource, optional
            Handles of variables [V, 1] with Adagrad's sums of squared updates, which are updated in
            place. None without Adagrad.
        """

        def train(step: tf.Tensor, sums: tuple[tf.Tensor, ...]) -> Any:
            plan = self.plan.of(step)
            step_sums = train_step(options, plan, self.ids, tables, words, squares)
            pairs = zip(sums, step_sums, strict=True)
            return step + 1, tuple(x + tf.cast(y, x.dtype) for x, y in pairs)

        _, total_sums = tf.while_loop(
            lambda step, sums: step < last, train, [first, sums], parallel_iterations=1
        )
        return tuple(total_sums)


def number_rows(
    units: list[PreparedUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[PreparedUnit], WordArrays]:
    """Replace the row ids in prepared units by indices into the distinct ids.

    For the results, see `Engine.number_rows`.
    """
    ids = {}
    for name in Tables._fields:
        parts = [getattr(unit.ids, name) for unit in units]
        if parts[0] is None:
            continue
        ids[name], indices = tf.unique(tf.concat(parts, 0))
        unit_indices = tf.split(indices, [tf.size(part) for part in parts], num=len(parts))
        if name == "inputs" and words.lock.shape[0] != 0:
            words = words._replace(lock=tf.gather(words.lock, ids[name]))
        units = [
            unit._replace(ids=unit.ids._replace(**{name: rows}))
            for unit, rows in zip(units, unit_indices, strict=True)
        ]
    return ids, units, words


def _plan_unit(
    options: StepOptions,
    draws: Draws,
    words: WordArrays,
    alphas: tf.Tensor,
    max_entries: int,
) -> PreparedUnit:
    """Plan the steps of a drawn unit: group each step's rows, and compute its learning rate."""
    shape = options.shape
    objective = options.objective
    # per table: ids of each block's rows, and the maximum number of rows per block
    rows = {"inputs": (draws.inputs, shape.inputs)}
    columns: Any = ()
    signs: Any = ()
    if objective.negative:
        columns = tf.concat([draws.centres, draws.negatives], 2)
        rows["outputs"] = columns, shape.columns
    if objective.hierarchical:
        nodes, signs = look_up_paths(draws.centres, words.tree)
        rows["nodes"] = nodes, shape.centres * MAX_PATH
    groups = {}
    ids = dict.fromkeys(Tables._fields)
    for name, (row_ids, n_rows) in rows.items():
        limits = options.id_bits, options.max_steps(max_entries), shape.blocks * n_rows
        groups[name], ids[name] = group_rows(row_ids, *limits)
    steps = tf.shape(draws.windows)[0]
    progress = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
    plan = StepPlan(
        alphas[0] + (alphas[1] - alphas[0]) * progress,
        draws.windows,
        words=columns if options.selects_negatives else (),
        signs=signs,
        **groups,
    )
    return PreparedUnit(draws.kept, steps, plan, Tables(**ids))


def train_step(
    options: StepOptions,
    plan: StepPlan,
    unit_ids: Tables,
    tables: Tables,
    words: WordArrays,
    squares: Tables | None = None,
) -> tuple[tf.Tensor, ...]:
    """Train one step of a `PreparedUnit`; for most arguments, see `PreparedUnit.train_steps`.

    `plan` contains the draws of this step, and `unit_ids` the unit's `PreparedUnit.ids`. Returns
    the fields loss, predictions and magnitude of a `UnitResult`, then `Link.traffic` if rows are in
    slices.
    """
    # distinct row ids [U] of each table in use
    ids = {
        name: getattr(plan, name).distinct.of(table_ids)
        for name, table_ids in unit_ids._asdict().items()
        if table_ids is not None
    }
    if (link := tables.inputs.link) is not None:
        link.begin()
        groups = [getattr(plan, name) for name in ids]
        indices = [
            as_uint16(x) for group in groups for x in (group.inverse, group.rank, group.segment)
        ]
        link.send_together([*map(as_is, ids.values()), *indices])
    rows = {name: getattr(tables, name).read(row_ids) for name, row_ids in ids.items()}
    selects_negatives = "outputs" in ids and options.selects_negatives
    noise = weigh_negatives(options, plan.words) if selects_negatives else None
    step = Step(options.shape, tf.as_dtype(options.product_dtype), plan, rows, noise)
    step_gradients = gradients(options.objective, step, options.with_loss)
    sums = {
        name: sum_rows(getattr(plan, name), parts) for name, parts in step_gradients.updates.items()
    }
    magnitude = tf.constant(0.0)  # sum of the norms of all row updates before clipping
    for name, row_sums in sums.items():
        row_ids = ids[name]
        alphas = plan.alpha
        if squares is not None:
            table_squares = getattr(squares, name)
            alphas, growth = adagrad(row_sums, read_rows(table_squares, row_ids), plan.alpha)
            add_rows(table_squares, row_ids, growth)
        changes, table_magnitude = clip_changes(row_sums, alphas, options.max_norm)
        is_locked = options.locked and name == "inputs"
        getattr(tables, name).add(row_ids, changes, words.lock if is_locked else None)
        magnitude += table_magnitude
    result = (step_gradients.loss, step_gradients.predictions, magnitude)
    return result if link is None else (*result, link.traffic())
