"""Interface of an engine, which draws and trains the work units of jobs by TensorFlow functions."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.parameter_server.scratch import Scratch, WorkerVariables
from gensim_tfw2v.parameter_server.shard_ops import ShardOps


@dataclass(frozen=True)
class Engine(abc.ABC):
    """Base class of the engines.

    Training on workers has one engine, which `gensim_tfw2v.engines.choose_engine` chooses. The
    engine is pickled and sent to the coordinator process, so it contains options only, no tensors.

    To add an engine, write a subclass in a module of `gensim_tfw2v.engines`, and add it to the list
    ``ENGINES`` there. The subclass implements all abstract methods: the choice (`can_train`,
    `from_problem`, `check`), the types and codes in which rows and texts are sent (`wire_dtype`,
    `pack`, `unpack`), access to the rows on the ps tasks and on a worker (`shard_ops`, `scratch`),
    and the functions of a unit (`prepare`, `number_rows`, `train`).

    The functions of a unit are called while the function of a job is traced. Each engine has its
    own type of prepared unit: a structure of tensors with an attribute ``kept``, the number of
    positions to train on.

    Parameters
    ----------
    options : Any
        The engine's own options.
    """

    options: Any

    @classmethod
    @abc.abstractmethod
    def can_train(cls, problem: Any) -> bool:
        """Return whether the engine can train a `gensim_tfw2v.engines.problem.Problem`."""

    @classmethod
    @abc.abstractmethod
    def from_problem(cls, problem: Any) -> Engine:
        """Make the engine for a `Problem`.

        Raises
        ------
        RuntimeError
            If the training needs a different engine, and none is available.
        """

    @property
    @abc.abstractmethod
    def shape(self) -> Any:
        """Sizes of blocks, with the attributes ``block`` and ``shared``.

        These are the numbers of positions in a block, and of negatives that its pairs share.
        """

    @abc.abstractmethod
    def check(self) -> None:
        """Raise a RuntimeError if this process cannot run the engine."""

    @abc.abstractmethod
    def wire_dtype(self, wire: str) -> str:
        """Return the type in which rows are sent: `wire` if the engine supports it."""

    @abc.abstractmethod
    def pack(self, entries: np.ndarray) -> bytes:
        """Encode the entries of a unit [n], int32, to send them to a worker."""

    @abc.abstractmethod
    def unpack(self, text: tf.Tensor) -> tf.Tensor:
        """Decode entries from `pack`, a string []: [n], int32."""

    @property
    def draws_walks(self) -> bool:
        """True if workers can draw walks with this engine; otherwise, walks are sent to them."""
        return False

    @property
    def maps_arrays(self) -> bool:
        """True if workers can map arrays from files with this engine; see `map_array`."""
        return False

    @abc.abstractmethod
    def shard_ops(self) -> ShardOps:
        """Return the ops that read and change rows on the ps tasks."""

    @abc.abstractmethod
    def scratch(self, variables: WorkerVariables, name: str, size: int) -> Scratch:
        """Add a variable to a worker's `variables`, for the rows that units train.

        The rows have D = `size` elements.
        """

    @abc.abstractmethod
    def prepare(
        self,
        words: WordArrays,
        entries: tf.Tensor,
        key: tf.Tensor,
        alphas: tf.Tensor,
        max_entries: int,
    ) -> Any:
        """Draw and plan a unit.

        Parameters
        ----------
        words : WordArrays
        entries : Tensor [n], int32
            Token ids, with -1 after each sentence.
        key : Tensor [2], int32
            Key of the unit's random draws.
        alphas : Tensor [2], float32
            Learning rates at the unit's start and at its end.
        max_entries : int
            Maximum of n.
        """

    @abc.abstractmethod
    def number_rows(
        self, units: list[Any], words: WordArrays
    ) -> tuple[dict[str, tf.Tensor], list[Any], WordArrays]:
        """Replace the row ids in the units of a job by indices into the job's distinct ids.

        Returns
        -------
        ids : dict of Tensor [n], int32
            Distinct ids of each table in use, by its name.
        units, words
            Copies of the arguments, with indices instead of ids.
        """

    @abc.abstractmethod
    def train(self, unit: Any, handles: Tables, words: WordArrays) -> UnitResult:
        """Train a unit on the variables of `scratch`, which have these handles, in place."""
