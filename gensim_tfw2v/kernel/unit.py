"""Training one work unit on a pair of tables: the program that every regime runs.

Its result is a pure function of the unit's key, its ids, its step sizes and the rows that it
reads, so a unit may be trained anywhere, and again.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.config import KernelConfig
from gensim_tfw2v.kernel.draws import draw
from gensim_tfw2v.kernel.native_unit import NativeUnit, draw_unit
from gensim_tfw2v.kernel.plan import StepPlan, plan_unit
from gensim_tfw2v.kernel.step import SCOPE, step_loss, train_step
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays


@functools.lru_cache(maxsize=32)
def unit_function(program: KernelConfig) -> tf.types.experimental.PolymorphicFunction:
    """Build, once per program, the ``tf.function`` that trains a unit.

    Call it with tensors and variables of the shapes given (variables made with
    ``shape=[None, D]``), or through `concrete_unit_function`: then one trace serves all models.

    Returns
    -------
    function (tables, words, entries, key, alphas) -> UnitResult
        tables : Tables of Variable
            Updated in place.
        words : WordArrays of tensors
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
        return prepared.train(program, Tables.of_handles(table.handle for table in tables), words)

    return train_unit


class PreparedUnit(NamedTuple):
    """A unit of which all is drawn and planned, and which has only to be trained.

    Attributes
    ----------
    kept, steps : Tensor [], int32
        Tokens trained on, after subsampling, and steps.
    plan : StepPlan
        Of all steps.
    unit : Tables of Tensor, int32
        The distinct ids of each table's rows, step after step; None of a table without use.
    """

    kept: tf.Tensor
    steps: tf.Tensor
    plan: StepPlan
    unit: Tables

    def train(self, program: KernelConfig, tables: Tables, words: WordArrays) -> UnitResult:
        """Train its steps, one after the other.

        Parameters
        ----------
        tables : Tables of WholeRows or SlicedRows
            Updated in place.
        """
        begin = self.begin(program, tables)
        sums = self.train_steps(program, tables, words, tf.constant(0), self.steps, begin)
        return UnitResult(self.kept, *sums[:3])

    def begin(self, program: KernelConfig, tables: Tables) -> tuple[tf.Tensor, ...]:
        """What `train_steps` sums, before the first step: see `train_step`."""
        begin = (tf.constant(0.0),) * 2
        if program.loss_of == "first":
            begin = tf.cond(
                self.steps > 0,
                lambda: step_loss(program, self.plan.of(0), self.unit, tables),
                lambda: (tf.constant(0.0),) * 2,
            )
        traffic = [] if tables.inputs.link is None else [tf.zeros([2])]
        return (*begin, tf.constant(0.0), *traffic)

    def train_steps(
        self,
        program: KernelConfig,
        tables: Tables,
        words: WordArrays,
        first: tf.Tensor,
        last: tf.Tensor,
        sums: tuple[tf.Tensor, ...],
        squares: Tables | None = None,
    ) -> tuple[tf.Tensor, ...]:
        """Train some of its steps, one after the other.

        Parameters
        ----------
        tables : Tables of WholeRows or SlicedRows
            Updated in place.
        first, last : Tensor [], int32
            The first step, and the one before which to stop.
        sums : tuple of Tensor []
            What was summed before, in the dtypes in which it is summed.
        squares : Tables of Tensor [], resource, optional
            As for `train_step`.
        """

        def train(number: tf.Tensor, sums: tuple[tf.Tensor, ...]) -> Any:
            with tf.name_scope(SCOPE):
                plan = self.plan.of(number)
                of_step = train_step(program, plan, self.unit, tables, words, squares)
            both = zip(sums, of_step, strict=True)
            return number + 1, tuple(x + tf.cast(y, x.dtype) for x, y in both)

        _, summed = tf.while_loop(
            lambda number, sums: number < last, train, [first, sums], parallel_iterations=1
        )
        return tuple(summed)


def prepare_unit(
    program: KernelConfig, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> PreparedUnit | NativeUnit:
    """Draw a unit, and plan it where a graph trains; parameters as for `unit_function`."""
    if program.native:
        return draw_unit(program, words, entries, key, alphas)
    return plan_steps(program, words, entries, key, alphas)


def plan_steps(
    program: KernelConfig, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> PreparedUnit:
    """Draw and plan a unit that a graph trains; parameters as for `unit_function`."""
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
            program.negative_shards,
            program.widest_window,
        )
        plan, unit = plan_unit(program, draws, words, alphas)
        return PreparedUnit(draws.kept, tf.shape(draws.windows)[0], plan, unit)


def concrete_unit_function(
    program: KernelConfig, tables: Tables
) -> tf.types.experimental.ConcreteFunction:
    """The traced `unit_function`, for any vocabulary and any number of entries.

    Parameters
    ----------
    tables : Tables of Variable [None, D]
        Like the ones to be trained; with shape [None, D], no matter how many rows they have.
    """
    return unit_function(program).get_concrete_function(
        tables,
        WordArrays.spec(),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], tf.float32),
    )
