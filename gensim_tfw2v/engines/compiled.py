"""Engine that trains by the compiled kernels, as ops of TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import LocalTasks
from gensim_tfw2v.compiled_library import OPS, Options
from gensim_tfw2v.engines.problem import Problem
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.sizes import choose_kernel_options, kernels_can_train
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.messages import require
from gensim_tfw2v.ops import library, texts
from gensim_tfw2v.ops.units import (
    CompiledUnit,
    draw_unit,
    number_rows,
    reuse_negatives,
    train_unit,
)
from gensim_tfw2v.parameter_server.engine import Engine
from gensim_tfw2v.parameter_server.scratch import PaddedScratch, Scratch, WorkerVariables
from gensim_tfw2v.parameter_server.shard_ops import CompiledShardOps, ShardOps


@dataclass(frozen=True)
class CompiledEngine(Engine):
    """Engine that trains by the compiled kernels, on CPUs; see `Engine`.

    Parameters
    ----------
    options : Options
    vector_size : int
    loss_every : int
        See `Problem`.
    """

    options: Options
    vector_size: int
    loss_every: int = 0

    @classmethod
    def can_train(cls, problem: Problem) -> bool:
        """Return whether the kernels can train: only whole rows and whole units, on CPUs.

        The tasks of a cluster use no GPU. For a local cluster, the check does not import
        TensorFlow, which only the cluster's own processes need; they have the ops if this process
        has the kernels.
        """
        options = problem.options
        if not options.regime_of_workers.has_kernels or options.layout != "rows":
            return False
        if not kernels_can_train(options.objective):
            return False
        if isinstance(options.cluster, LocalTasks) and by_ctypes.is_available() and OPS.exists():
            return True
        require(f"{library.why_not()}. Training without them", "tensorflow")
        uses_gpu = options.cluster is None and tf.config.list_physical_devices("GPU")
        return not uses_gpu and library.load_ops() is not None

    @classmethod
    def from_problem(cls, problem: Problem) -> CompiledEngine:
        """See `Engine.from_problem`."""
        return cls(choose_kernel_options(problem), problem.options.vector_size, problem.loss_every)

    @property
    def shape(self) -> Options:
        """Sizes of blocks, which are among the kernels' options."""
        return self.options

    def check(self) -> None:
        """See `Engine.check`."""
        if library.load_ops() is None:
            raise RuntimeError(library.why_not())

    def wire_dtype(self, wire: str) -> str:
        """Return `wire`, because the ops can convert rows to any of the types."""
        return wire

    def pack(self, entries: np.ndarray) -> bytes:
        """Encode entries; frequent words take one byte."""
        return texts.pack(entries)

    def unpack(self, text: tf.Tensor) -> tf.Tensor:
        """See `Engine.unpack`."""
        return texts.unpack(text)

    @property
    def draws_walks(self) -> bool:
        """Return True: the walks are drawn by an op."""
        return True

    @property
    def maps_arrays(self) -> bool:
        """Return True: an op maps arrays."""
        return True

    def shard_ops(self) -> ShardOps:
        """See `Engine.shard_ops`."""
        return CompiledShardOps()

    def scratch(self, variables: WorkerVariables, name: str, size: int) -> Scratch:
        """Add a variable whose rows are padded; see `Engine.scratch`."""
        return PaddedScratch(variables, name, size)

    def prepare(
        self,
        words: WordArrays,
        entries: tf.Tensor,
        key: tf.Tensor,
        alphas: tf.Tensor,
        max_entries: int,
    ) -> CompiledUnit:
        """See `Engine.prepare`."""
        return draw_unit(self.options, words, entries, key, alphas)

    def number_rows(
        self, units: list[CompiledUnit], words: WordArrays
    ) -> tuple[dict[str, tf.Tensor], list[CompiledUnit], WordArrays]:
        """Let units share negatives, see `reuse_negatives`; then see `Engine.number_rows`."""
        if words.noise.shape[0] != 0:
            units = reuse_negatives(units, words, self.options.shards)
        return number_rows(units, words)

    def train(self, unit: CompiledUnit, handles: Tables, words: WordArrays) -> UnitResult:
        """See `Engine.train`."""
        return train_unit(self.options, unit, handles, words, self.vector_size, self.loss_every)
