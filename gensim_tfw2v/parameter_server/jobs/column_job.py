"""Jobs where columns are spread over the ps: rows are never fetched.

The worker draws, plans, and decides how wrong each product is; the ps tasks compute their part of
the products, and update their columns (see `gensim_tfw2v.kernel.slices`). The threads of a worker
train their units side by side, so one computes while another waits for the network.
"""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.slices import MOST_ROWS
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.jobs.job import Job, JobProgram, ParameterServer, job_program
from gensim_tfw2v.parameter_server.layouts import SlicedRows


def column_job(program: Program, server: ParameterServer) -> JobProgram:
    """Build the program that trains a job on tables in columns; see `job_program`.

    Parameters
    ----------
    program : Program
    server : ParameterServer
        Its tables are of `ColumnLayout`. Seconds of fetching are those of drawing and planning, and
        what passes on the way to the ps and back is in those of training.

    Raises
    ------
    ValueError
        If steps have too many rows.
    """
    shape = program.shape
    rows = shape.blocks * max(shape.columns, shape.inputs)
    if rows >= MOST_ROWS:
        raise ValueError(
            f"layout='columns' numbers {MOST_ROWS} rows of a step, and these have {rows}: give "
            f"fewer than negative={program.objective.negative}, or layout='rows'"
        )
    return job_program(
        program, server, lambda job: _ColumnPhases(program, server, job), fetches_rows=False
    )


class _ColumnPhases:
    """See `column_job`."""

    def __init__(self, program: Program, server: ParameterServer, job: Job) -> None:
        self._program, self._tables, self._job = program, server.tables, job

    def fetch(self) -> list[tf.Tensor]:
        return [unit.steps for unit in self._job.units]

    def train(self) -> list[UnitResult]:
        program, wire = self._program, tf.as_dtype(self._program.wire_dtype)
        results, self._travelled = [], []
        for unit in self._job.units:
            link = self._tables.inputs.link(wire)
            tables = Tables(*(SlicedRows(table, link) for table in self._tables))
            *sums, travelled = unit.train_steps(
                program, tables, self._job.words, 0, unit.steps, unit.begin(program, tables)
            )
            results.append(UnitResult(unit.kept, *sums))
            self._travelled.append(travelled)
        return results

    def push(self) -> list[tf.Operation]:
        return []

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        fetched, pushed = tf.unstack(tf.add_n(self._travelled))
        return fetched, pushed
