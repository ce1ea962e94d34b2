"""Jobs on tables in rows: fetch rows once, train on a copy of them, and push their changes once."""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.combining import DirectedShare
from gensim_tfw2v.parameter_server.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.scratch import join_parts


class RowJob(WorkerJob):
    """Job that adds its changes, or fractions of them, to the rows on the ps tasks.

    See `WorkerJob`.
    """

    #: Number of parts per shard. While one part is sent, the next is gathered or added.
    n_parts = 4
    by_direction = True

    def __init__(self, config: JobConfig, server: ParameterServer) -> None:
        super().__init__(config, server)
        self._scratch = {
            name: config.engine.scratch(server.worker_variables, name, config.vector_size)
            for name in Tables._fields
        }

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows. `push` computes changes as differences from the rows as received."""
        self._tables = self.server.tables._asdict()
        self._splits = {
            name: self._tables[name].split(ids, self.n_parts) for name, ids in self.job.ids.items()
        }
        self._fetched = {
            name: self._tables[name].fetch_parts(split, self.wire)
            for name, split in self._splits.items()
        }
        # The fractions are computed in parallel with training.
        self._shares = self._measure_shares()
        return [
            self._scratch[name].place(self._splits[name].indices, parts)
            for name, parts in self._fetched.items()
        ]

    def train(self) -> list[UnitResult]:
        """Train the units in parallel."""
        # Each unit gets new handles, because TensorFlow would run units that share a handle
        # sequentially.
        return [
            self.config.engine.train(
                unit,
                Tables(*(rows.make_handle() for rows in self._scratch.values())),
                self.job.words,
            )
            for unit in self.job.units
        ]

    def push(self) -> list[tf.Operation]:
        """Push the changes of each table."""
        return [
            self._push(
                name,
                self._scratch[name].changes(
                    split.indices,
                    self._fetched[name],
                    self._shares[name],
                    self.job.key + [0, index],
                ),
            )
            for index, (name, split) in enumerate(self._splits.items())
        ]

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].push_parts(self._splits[name], changes)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        """Compute the fraction of each table's changes that is pushed; None to push all."""
        if self.config.workers == 1 or not self.by_direction:
            return dict.fromkeys(self._splits)
        rates = self.rates()
        # The effective step z of a row is alpha * tokens * rate.
        step_per_rate = self.job.alpha * self.job.tokens
        # Rows are joined in the order of the ids, so that random draws of rows do not depend on the
        # number of ps tasks.
        rows = {
            name: join_parts(split.indices, self._fetched[name])
            for name, split in self._splits.items()
        }
        steepest = self.directions(rows, rates)
        return {name: steepest[name].shares(step_per_rate * rate) for name, rate in rates.items()}


class StagedJob(RowJob):
    """Job that stages its changes on the ps tasks, under its number; see `RowLayout.stage`.

    If `by_direction` is False, the job stages whole changes rather than fractions. The changes of
    several jobs are combined when they are added.
    """

    n_parts = 1

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """Return 0, because no changes are added while the jobs of a round run."""
        return tf.zeros_like(others)

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].stage(self._splits[name], changes, self.job.number)
