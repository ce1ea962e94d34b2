"""Engine that trains by TensorFlow's own operations: the fallback."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.engines.problem import Problem
from gensim_tfw2v.graph import steps
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.step_shape import (
    StepShape,
    choose_max_norm,
    choose_product_dtype,
    problem_step_shape,
)
from gensim_tfw2v.graph.steps import PreparedUnit
from gensim_tfw2v.graph.updates import whole_rows
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.ops import library
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.parameter_server.engine import Engine
from gensim_tfw2v.parameter_server.scratch import Scratch, WorkerVariables
from gensim_tfw2v.parameter_server.shard_ops import ShardOps, TensorFlowShardOps


@dataclass(frozen=True)
class TensorFlowEngine(Engine):
    """Engine that trains by TensorFlow's own operations, step by step; see `Engine`.

    Only this engine can train tables in columns, and by the regimes Downpour and Sandblaster, which
    read and change rows between the steps of a unit.

    Parameters
    ----------
    options : StepOptions
    """

    options: StepOptions

    @classmethod
    def can_train(cls, problem: Problem) -> bool:
        """Return True. This is the last engine, so `from_problem` raises an error if it cannot."""
        return True

    @classmethod
    def from_problem(cls, problem: Problem) -> TensorFlowEngine:
        """See `Engine.from_problem`."""
        options = problem.options
        if options.kernels_class or options.deterministic or not options.learn_hidden:
            raise RuntimeError(_why_no_kernels(options))
        objective = options.objective
        step_options = StepOptions(
            objective,
            problem_step_shape(problem),
            id_bits=max(2, (problem.n_words - 1).bit_length()),
            shrink_windows=options.shrink_windows,
            max_window=options.window if options.shrink_windows else None,
            with_loss=problem.loss_every > 0,
            skip_targets=sizes.must_skip_targets(objective, problem.n_words),
            locked=problem.locked,
            negative_shards=options.negative_shards,
            product_dtype=choose_product_dtype(),
            max_norm=choose_max_norm(objective),
        )
        return cls(step_options)

    @property
    def shape(self) -> StepShape:
        """Sizes of a step."""
        return self.options.shape

    def check(self) -> None:
        """Do nothing: TensorFlow's own operations are always available."""

    def wire_dtype(self, wire: str) -> str:
        """Return `wire`, or bfloat16 for int8: only the compiled ops can convert rows to int8."""
        return "bfloat16" if wire == "int8" else wire

    def pack(self, entries: np.ndarray) -> bytes:
        """Encode entries as little-endian int32."""
        return entries.astype("<i4").tobytes()

    def unpack(self, text: tf.Tensor) -> tf.Tensor:
        """See `Engine.unpack`."""
        return tf.io.decode_raw(text, tf.int32)

    def shard_ops(self) -> ShardOps:
        """See `Engine.shard_ops`."""
        return TensorFlowShardOps()

    def scratch(self, variables: WorkerVariables, name: str, size: int) -> Scratch:
        """See `Engine.scratch`."""
        return Scratch(variables, name, size)

    def prepare(
        self,
        words: WordArrays,
        entries: tf.Tensor,
        key: tf.Tensor,
        alphas: tf.Tensor,
        max_entries: int,
    ) -> PreparedUnit:
        """See `Engine.prepare`."""
        return steps.prepare_unit(self.options, words, entries, key, alphas, max_entries)

    def number_rows(
        self, units: list[PreparedUnit], words: WordArrays
    ) -> tuple[dict[str, tf.Tensor], list[PreparedUnit], WordArrays]:
        """See `Engine.number_rows`."""
        return steps.number_rows(units, words)

    def train(self, unit: PreparedUnit, handles: Tables, words: WordArrays) -> UnitResult:
        """See `Engine.train`."""
        return unit.train(self.options, whole_rows(handles), words)


def _why_no_kernels(options: TrainingConfig) -> str:
    """Return the message of the error that training needs the kernels, but cannot use them."""
    name = options.kernels_class
    option = "deterministic=True" if options.deterministic else "learn_hidden=False"
    subject = f"{name} is" if name else f"{option} models are"
    gpu_reason = "TensorFlow uses a GPU. Hide it by CUDA_VISIBLE_DEVICES=-1"
    reason = gpu_reason if library.load_ops() is not None else library.why_not()
    return f"{subject} trained only by the compiled kernels, on CPUs, but {reason}"
