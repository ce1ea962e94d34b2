"""Jobs on rows: fetched once, trained on in a copy, and pushed once as what has changed."""

from __future__ import annotations

from functools import partial

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.combining import averaged_words
from gensim_tfw2v.parameter_server.curvature import DirectedShare, directions, larger_step_sizes
from gensim_tfw2v.parameter_server.jobs.job import (
    Job,
    JobProgram,
    ParameterServer,
    job_program,
    row_traffic,
)
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch

#: Of the rows of a shard, so that one part travels while others are gathered or laid down.
PARTS = 4


def row_job(program: Program, server: ParameterServer, staged: bool = False) -> JobProgram:
    """Build the program that trains a job on rows; see `job_program`.

    Parameters
    ----------
    program : Program
    server : ParameterServer
    staged : bool
        Whether changes are laid down at the ps under the job's number, as they are, to be combined
        with others later; see `RowLayout.stage`. Else they are added, each its share.
    """
    scratch = {
        name: Scratch(server.of_workers, name, program.vector_size, program.native)
        for name in Tables._fields
    }
    return job_program(
        program,
        server,
        lambda job: _RowPhases(program, server, scratch, job, staged),
        step_sizes=None if staged else partial(larger_step_sizes, program.largest_growth),
        staleness=lambda _, others: tf.zeros_like(others) if staged else others,
    )


class _RowPhases:
    """See `row_job`."""

    def __init__(
        self,
        program: Program,
        server: ParameterServer,
        scratch: dict[str, Scratch],
        job: Job,
        staged: bool,
    ) -> None:
        self._program, self._scratch, self._job, self._staged = program, scratch, job, staged
        self._wire = tf.as_dtype(program.wire_dtype)
        self._tables = {name: getattr(server.tables, name) for name in job.used}
        self._splits = {
            name: table.split(getattr(job.ids, name), 1 if staged else PARTS)
            for name, table in self._tables.items()
        }

    def fetch(self) -> list[tf.Operation]:
        # what travelled is kept, to say later what has changed
        self._fetched = {
            name: table.fetch_parts(self._splits[name], self._wire)
            for name, table in self._tables.items()
        }
        # beside what is trained
        self._shares = self._measure_shares()
        return [
            self._scratch[name].place(self._splits[name].places, parts)
            for name, parts in self._fetched.items()
        ]

    def train(self) -> list[UnitResult]:
        # each thread has handles of its own: with the same they would take turns
        return [
            unit.train(
                self._program,
                Tables.of_handles(rows.handle() for rows in self._scratch.values()),
                self._job.words,
            )
            for unit in self._job.units
        ]

    def push(self) -> list[tf.Operation]:
        pushed = []
        for name, table in self._tables.items():
            split = self._splits[name]
            changes = self._scratch[name].changes(
                split.places, self._fetched[name], self._shares[name]
            )
            if self._staged:
                pushed.append(table.stage(split, changes, self._job.number))
            else:
                pushed.append(table.push_parts(split, changes))
        return pushed

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        return row_traffic(self._program, self._job.rows, self._job.rows)

    def _measure_shares(self) -> dict[str, DirectedShare | None]:
        """Measure the share of each table's changes that is pushed."""
        if self._staged or self._program.workers == 1:
            return dict.fromkeys(self._tables)
        job, rates = self._job, self._job.rates
        steepest = directions(
            self._fetched,
            {
                name: [tf.gather(rates[name], at) for at in split.places]
                for name, split in self._splits.items()
            },
            job.number,
            job.replicas,
            averaged_words(self._program),
        )
        return {
            name: steepest[name].of_rows(job.alpha * job.tokens * rates[name]) for name in rates
        }
