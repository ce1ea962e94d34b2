"""Rounds: all workers train from one snapshot of the rows, and what they change meets at a barrier.

With one ps it is the design of a single parameter actor. What comes out of a round does not depend
on which worker was faster, nor on how often a job was run.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import UnitReport, UnitTask
from gensim_tfw2v.parameter_server.combining import adasum
from gensim_tfw2v.parameter_server.job import JobResult
from gensim_tfw2v.parameter_server.liveness import naming_lost_tasks
from gensim_tfw2v.parameter_server.rows import StagedJob, adder_of_staged
from gensim_tfw2v.parameter_server.tickets import runs_of
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.hazards import holding_interrupts
from gensim_tfw2v.regimes import never
from gensim_tfw2v.regimes.dealer import Dealer
from gensim_tfw2v.regimes.options import Synchronous
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime, Setup


class SynchronousRegime(ParameterServerRegime):
    """A round is a job for each worker; see `ParameterServerRegime`."""

    def __init__(self, setup: Setup, workers: Workers, options: Synchronous) -> None:
        super().__init__(setup, workers)
        self._dealer = Dealer(
            workers.number,
            self.run_job,
            self._take,
            self._repeated,
            lambda: workers.intact(self.server.tables),
            patient=True,
        )
        wire = tf.as_dtype(self.program.wire_dtype)
        combine = adasum if options.combining == "adasum" else tf.add
        self._add_staged = adder_of_staged(self.server.tables, wire, combine)

    def _make_job(self) -> StagedJob:
        return StagedJob(self.program, self.server)

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once; see `Regime`. Units are reported at the end of their round.

        Raises
        ------
        ClusterLost
            If a ps has ended, or no worker is left.
        """
        self.begin_epoch()
        jobs = runs_of(tasks, self.program.threads)
        alone = -(-self.alone(tasks) // self.program.threads)
        for of_round in [*runs_of(jobs[:alone], 1), *runs_of(jobs[alone:], self.workers.number)]:
            if stop():
                break
            self._replicas = len(of_round)
            self._taken: dict[int, tuple[int, list[UnitReport]]] = {}  # by a job's first unit
            self._dealer.deal(of_round, never)
            # in the order of the jobs, whichever came first
            taken = [self._taken[job[0].unit.index] for job in of_round]
            with naming_lost_tasks(), holding_interrupts():
                self._add_staged(tf.constant([number for number, _ in taken], tf.int64))
            for _, reports in taken:
                for trained in reports:
                    report(trained)
        self.end_epoch()

    def _take(self, tasks: Sequence[UnitTask], number: int, packed: np.ndarray) -> None:
        self._taken[tasks[0].unit.index] = number, self.reported(packed, tasks)

    def _repeated(self, tasks: Sequence[UnitTask], packed: np.ndarray) -> None:
        self.counted(JobResult.unpacked(packed), tasks)

    def close(self) -> None:
        """Free the tables."""
        self._dealer.close()
        super().close()
