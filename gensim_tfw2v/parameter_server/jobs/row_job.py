"""Jobs on rows: fetched once, trained on in a copy, and pushed once as what has changed."""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.curvature import DirectedShare, larger_step_sizes
from gensim_tfw2v.parameter_server.jobs.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch


class RowJob(WorkerJob):
    """Adds the changes of rows to the ps, each its share; see `WorkerJob`."""

    #: Of the rows of a shard, so that one part travels while others are gathered or laid down.
    parts = 4

    def __init__(self, program: Program, server: ParameterServer) -> None:
        super().__init__(program, server)
        self._scratch = {
            name: Scratch(server.of_workers, name, program.vector_size, program.native)
            for name in Tables._fields
        }

    def step_sizes(self, alphas: tf.Tensor, replicas: tf.Tensor) -> tf.Tensor:
        """Larger ones of more workers."""
        return larger_step_sizes(self.program.largest_growth, alphas, replicas)

    def fetch(self) -> list[tf.Operation]:
        """Fetch the rows; what travelled is kept, to say later what has changed."""
        self._tables = {name: getattr(self.server.tables, name) for name in self.job.used}
        self._splits = {
            name: table.split(self.job.used[name], self.parts)
            for name, table in self._tables.items()
        }
        self._fetched = {
            name: table.fetch_parts(self._splits[name], self.wire)
            for name, table in self._tables.items()
        }
        # beside what is trained
        self._shares = self._measure_shares()
        return [
            self._scratch[name].place(self._splits[name].places, parts)
            for name, parts in self._fetched.items()
        ]

    def train(self) -> list[UnitResult]:
        """Train the units side by side."""
        # each thread has handles of its own: with the same they would take turns
        return [
            unit.train(
                self.program,
                Tables.of_handles(rows.handle() for rows in self._scratch.values()),
                self.job.words,
            )
            for unit in self.job.units
        ]

    def push(self) -> list[tf.Operation]:
        """Push each table's changes."""
        return [
            self._push(
                name,
                self._scratch[name].changes(split.places, self._fetched[name], self._shares[name]),
            )
            for name, split in self._splits.items()
        ]

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].push_parts(self._splits[name], changes)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        """Measure the share of each table's changes that is pushed."""
        if self.program.workers == 1:
            return dict.fromkeys(self._tables)
        rates, size = self.rates(), self.job.alpha * self.job.tokens
        of_parts = {
            name: [tf.gather(rates[name], at) for at in split.places]
            for name, split in self._splits.items()
        }
        steepest = self.directions(self._fetched, of_parts)
        return {name: steepest[name].of_rows(size * rate) for name, rate in rates.items()}


class StagedJob(RowJob):
    """Lays changes down at the ps under the job's number, as they are, to be combined later.

    See `RowLayout.stage`.
    """

    parts = 1

    def step_sizes(self, alphas: tf.Tensor, replicas: tf.Tensor) -> tf.Tensor:
        """As they are: changes are combined."""
        return alphas

    def staleness(self, others: tf.Tensor) -> tf.Tensor:
        """0: all start from the same rows."""
        return tf.zeros_like(others)

    def _push(self, name: str, changes: list[tf.Tensor]) -> tf.Operation:
        return self._tables[name].stage(self._splits[name], changes, self.job.number)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        return dict.fromkeys(self._tables)
