"""Jobs of a batch objective: the loss of a few units, and its gradient.

The rows are fetched once and stay as they are; what the steps would add to them, at the step size
1 and unclipped, is summed beside them. That is minus the gradient of the loss, where the objective
computes it: see `Objective`. The sum is laid down at the ps under the attempt's number.
"""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.slices import Slices, whole
from gensim_tfw2v.kernel.tables import Tables, UnitResult, WholeRows
from gensim_tfw2v.parameter_server.jobs.job import (
    Job,
    JobProgram,
    ParameterServer,
    job_program,
    row_traffic,
)
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch
from gensim_tfw2v.parameter_server.layouts.row_layout import parts_of


class FixedRows(WholeRows):
    """Rows [n, D] that a step reads; what it would add to them is summed in a variable [n, D]."""

    def __init__(self, rows: tf.Tensor, sums: tf.Tensor) -> None:
        super().__init__(sums)
        self._rows = rows

    def read(self, ids: tf.Tensor) -> Slices:
        """Rows [ids, D], float32."""
        return whole(tf.gather(self._rows, ids))


def portion_job(
    program: Program, server: ParameterServer, point: Tables, gradient: Tables
) -> JobProgram:
    """Build the program that evaluates a portion of a batch; see `job_program`.

    Parameters
    ----------
    program : Program
        Of which no update is clipped. Each alpha of its jobs has to be 1.
    server : ParameterServer
    point : Tables of RowLayout
        Where it is evaluated.
    gradient : Tables of RowLayout
        At which the sum of the updates is laid down; see `RowLayout.stage`.
    """
    used = [name for name, table in point._asdict().items() if table.rows]
    # threads that added to the same sum would lose what others add
    sums = [
        {name: Scratch(server.of_workers, name, program.vector_size) for name in used}
        for _ in range(program.threads)
    ]
    return job_program(
        program,
        server,
        lambda job: _PortionPhases(program, point, gradient, sums, job),
        staleness=lambda _, others: tf.zeros_like(others),
        counts=False,
    )


class _PortionPhases:
    """See `portion_job`."""

    def __init__(
        self,
        program: Program,
        point: Tables,
        gradient: Tables,
        sums: list[dict[str, Scratch]],
        job: Job,
    ) -> None:
        self._program, self._gradient, self._sums, self._job = program, gradient, sums, job
        self._point = {name: getattr(point, name) for name in job.used}
        self._splits = {
            name: table.split(getattr(job.ids, name)) for name, table in self._point.items()
        }

    def fetch(self) -> list[tf.Operation]:
        self._rows = {
            name: table.fetch(self._splits[name], tf.float32) for name, table in self._point.items()
        }
        cleared = [
            of_thread[name].assign(tf.zeros_like(rows))
            for of_thread in self._sums
            for name, rows in self._rows.items()
        ]
        return [*cleared, *self._rows.values()]

    def train(self) -> list[UnitResult]:
        results = []
        for unit, sums in zip(self._job.units, self._sums, strict=True):
            rows = {name: FixedRows(rows, sums[name].handle()) for name, rows in self._rows.items()}
            tables, zeros = Tables(*map(rows.get, Tables._fields)), (tf.zeros([], tf.float64),) * 3
            summed = unit.train_steps(self._program, tables, self._job.words, 0, unit.steps, zeros)
            results.append(UnitResult(unit.kept, *summed))
        return results

    def push(self) -> list[tf.Operation]:
        return [
            getattr(self._gradient, name).stage(
                split,
                parts_of(split, tf.add_n([sums[name].read() for sums in self._sums])),
                self._job.number,
            )
            for name, split in self._splits.items()
        ]

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        return row_traffic(self._program, self._job.rows, self._job.rows)
