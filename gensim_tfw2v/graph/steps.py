"""Training of one work unit on tables: drawn, planned, then trained step by step.

The result is a pure function of the unit's key, its ids, its learning rates and the rows that it
reads. So a unit may be trained anywhere, and retried.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.draws import Draws, counted_negatives, draw
from gensim_tfw2v.graph.objectives import Step, StepPlan, gradients
from gensim_tfw2v.graph.paths import look_up_paths
from gensim_tfw2v.graph.slices import as_is, as_uint16
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.updates import (
    adagrad,
    add_rows,
    clipped,
    group_rows,
    read_rows,
    sum_rows,
)
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays

#: Maximum number of nodes on a path. gensim's counts are below 2**63, and towards the root of a
#: Huffman tree they at least double every two levels.
MAX_PATH = 128


def prepare_unit(
    options: StepOptions,
    words: WordArrays,
    entries: tf.Tensor,
    key: tf.Tensor,
    alphas: tf.Tensor,
    max_entries: int,
) -> PreparedUnit:
    """Draw a unit, and plan its steps; arguments as in `Engine.prepare`."""
    return _planning(options, max_entries)(words, entries, key, alphas)


@functools.lru_cache(maxsize=32)
def _planning(options: StepOptions, max_entries: int) -> tf.types.experimental.PolymorphicFunction:
    """Return the planning function of a unit's options; cached, so that it is traced only once."""

    @tf.function(autograph=False)
    def plan_unit(words, entries, key, alphas):  # type: ignore[no-untyped-def]
        with tf.device("CPU"):
            draws = draw(options, words, entries, key)
            return _plan_unit(options, draws, words, alphas, max_entries)

    return plan_unit


class PreparedUnit(NamedTuple):
    """Unit whose draws are done and whose steps are planned."""

    kept: tf.Tensor  # number of tokens trained on, after subsampling
    steps: tf.Tensor  # number of steps
    plan: StepPlan  # draws of all steps
    unit: Tables  # per table: the distinct ids of each step, concatenated; None if unused

    def train(self, options: StepOptions, tables: Tables, words: WordArrays) -> UnitResult:
        """Train all steps sequentially; arguments as for `train_steps`."""
        begin = self.begin(tables)
        sums = self.train_steps(options, tables, words, tf.constant(0), self.steps, begin)
        return UnitResult(self.kept, *sums[:3])

    def begin(self, tables: Tables) -> tuple[tf.Tensor, ...]:
        """Return the initial sums of `train_steps`, which are 0; see `train_step`."""
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
        """Train the steps [first, last) sequentially, and return `sums` including these steps.

        Parameters
        ----------
        tables : Tables of WholeRows or SlicedRows
            Updated in place.
        sums : tuple of Tensor
            Sums over the preceding steps of what `train_step` returns. Their dtypes are kept.
        squares : Tables of Tensor [], resource, optional
            Handles of variables [V, 1] with Adagrad's sums, which are updated. None without
            Adagrad.
        """

        def train(step: tf.Tensor, sums: tuple[tf.Tensor, ...]) -> Any:
            plan = self.plan.of(step)
            step_sums = train_step(options, plan, self.unit, tables, words, squares)
            both = zip(sums, step_sums, strict=True)
            return step + 1, tuple(x + tf.cast(y, x.dtype) for x, y in both)

        _, summed = tf.while_loop(
            lambda step, sums: step < last, train, [first, sums], parallel_iterations=1
        )
        return tuple(summed)


def number_rows(
    units: list[PreparedUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[PreparedUnit], WordArrays]:
    """Renumber the rows that prepared units use; see `Engine.number_rows`."""
    ids = {}
    for name in Tables._fields:
        parts = [getattr(unit.unit, name) for unit in units]
        if parts[0] is None:
            continue
        ids[name], numbers = tf.unique(tf.concat(parts, 0))
        unit_numbers = tf.split(numbers, [tf.size(part) for part in parts], num=len(parts))
        if name == "inputs" and words.lock.shape[0] != 0:
            words = words._replace(lock=tf.gather(words.lock, ids[name]))
        units = [
            unit._replace(unit=unit.unit._replace(**{name: rows}))
            for unit, rows in zip(units, unit_numbers, strict=True)
        ]
    return ids, units, words


def _plan_unit(
    options: StepOptions,
    draws: Draws,
    words: WordArrays,
    alphas: tf.Tensor,
    max_entries: int,
) -> PreparedUnit:
    shape = options.shape
    objective = options.objective
    # per table: ids of each block's rows, and their (maximum) number per block
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
    part_done = tf.cast(tf.range(steps), tf.float32) / tf.cast(steps, tf.float32)
    plan = StepPlan(
        alphas[0] + (alphas[1] - alphas[0]) * part_done,
        draws.windows,
        words=columns if options.selects_negatives else (),
        signs=signs,
        **groups,
    )
    return PreparedUnit(draws.kept, steps, plan, Tables(**ids))


def train_step(
    options: StepOptions,
    plan: StepPlan,
    unit: Tables,
    tables: Tables,
    words: WordArrays,
    squares: Tables | None = None,
) -> tuple[tf.Tensor, ...]:
    """Train one step of a `PreparedUnit`; arguments as for its `train_steps`.

    Returns loss, predictions and magnitude, as in `UnitResult`, and `Link.traffic` if rows are
    sliced.
    """
    # distinct ids [U] of each table in use
    ids = {
        name: getattr(plan, name).distinct.of(unit_ids)
        for name, unit_ids in unit._asdict().items()
        if unit_ids is not None
    }
    if (link := tables.inputs.link) is not None:
        link.begin()
        groups = [getattr(plan, name) for name in ids]
        indices = [
            as_uint16(x) for group in groups for x in (group.inverse, group.rank, group.segment)
        ]
        link.send_together([*map(as_is, ids.values()), *indices])
    rows = {name: getattr(tables, name).read(row_ids) for name, row_ids in ids.items()}
    selects = "outputs" in ids and options.selects_negatives
    noise = counted_negatives(options, plan.words) if selects else None
    step = Step(options.shape, tf.as_dtype(options.product_dtype), plan, rows, noise)
    step_gradients = gradients(options.objective, step, options.with_loss)
    sums = {
        name: sum_rows(getattr(plan, name), parts) for name, parts in step_gradients.updates.items()
    }
    update_norms = tf.constant(0.0)  # summed norms of the updates before clipping
    for name, row_sums in sums.items():
        rows = ids[name]
        sizes = plan.alpha
        if squares is not None:
            so_far = getattr(squares, name)
            sizes, growth = adagrad(row_sums, read_rows(so_far, rows), plan.alpha)
            add_rows(so_far, rows, growth)
        changes, magnitude = clipped(row_sums, sizes, options.max_norm)
        locked = options.locked and name == "inputs"
        getattr(tables, name).add(rows, changes, words.lock if locked else None)
        update_norms += magnitude
    result = (step_gradients.loss, step_gradients.predictions, update_norms)
    return result if link is None else (*result, link.traffic())
