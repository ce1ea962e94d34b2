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
from gensim_tfw2v.parameter_server.jobs.job import ParameterServer, WorkerJob
from gensim_tfw2v.parameter_server.layouts import SlicedRows


class ColumnJob(WorkerJob):
    """Trains on tables in columns, of `ColumnLayout`; see `WorkerJob`.

    Seconds of fetching are those of drawing and planning, and what passes on the way to the ps and
    back is in those of training.

    Raises
    ------
    ValueError
        If steps have too many rows.
    """

    fetches_rows = False

    def __init__(self, program: Program, server: ParameterServer) -> None:
        shape = program.shape
        rows = shape.blocks * max(shape.columns, shape.inputs)
        if rows >= MOST_ROWS:
            raise ValueError(
                f"layout='columns' numbers {MOST_ROWS} rows of a step, and these have {rows}: give "
                f"fewer than negative={program.objective.negative}, or layout='rows'"
            )
        super().__init__(program, server)

    def fetch(self) -> list[tf.Tensor]:
        """Wait until all is planned."""
        return [unit.steps for unit in self.job.units]

    def train(self) -> list[UnitResult]:
        """Train where the columns are."""
        program, results, self._travelled = self.program, [], []
        for unit in self.job.units:
            link = self.server.tables.inputs.link(self.wire)
            tables = Tables(*(SlicedRows(table, link) for table in self.server.tables))
            *sums, travelled = unit.train_steps(
                program, tables, self.job.words, 0, unit.steps, unit.begin(program, tables)
            )
            results.append(UnitResult(unit.kept, *sums))
            self._travelled.append(travelled)
        return results

    def push(self) -> list[tf.Operation]:
        """Nothing is left to push."""
        return []

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Bytes of products, and of what rows are multiplied by."""
        fetched, pushed = tf.unstack(tf.add_n(self._travelled))
        return fetched, pushed
