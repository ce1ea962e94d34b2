"""Rounds: all workers train from one snapshot of the rows, and what they change meets at a barrier.

With one ps it is the design of a single parameter actor. What comes out of a round does not depend
on which worker was faster, nor on how often a job was run.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.parameter_server.combining import adasum
from gensim_tfw2v.parameter_server.jobs.job import JobProgram
from gensim_tfw2v.parameter_server.jobs.row_job import row_job
from gensim_tfw2v.parameter_server.liveness import naming_lost_tasks
from gensim_tfw2v.parameter_server.tickets import runs_of
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.hazards import holding_interrupts
from gensim_tfw2v.regimes.options import Synchronous
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime, Setup
from gensim_tfw2v.regimes.regime import never

#: A job is run again elsewhere when it takes this many times as long as the median of its round,
#: and at least so many seconds.
STRAGGLER_TIMES, STRAGGLER_SECONDS = 3.0, 1.0


@dataclass
class _Slot:
    """One of a round's jobs, and its attempts."""

    tasks: Sequence[UnitTask]
    attempts: dict["Future[list[UnitReport]]", int] = field(default_factory=dict)
    number: int | None = None  # of the attempt that counts
    reports: list[UnitReport] = field(default_factory=list)


class SynchronousRegime(ParameterServerRegime):
    """A round is a job for each worker; see `ParameterServerRegime`."""

    def __init__(self, setup: Setup, workers: Workers, options: Synchronous) -> None:
        super().__init__(setup, workers)
        self._numbers = itertools.count(1)
        # a straggler's job may be waited for beyond its round
        self._waiting = ThreadPoolExecutor(4 * workers.number, "tfw2v-round")
        wire = tf.as_dtype(self.program.wire_dtype)
        tables = [table for table in self.server.tables if table.rows]
        combine = adasum if options.combining == "adasum" else tf.add

        @tf.function(autograph=False)  # traced for each number of jobs, of which there are three
        def add_staged(numbers):  # type: ignore[no-untyped-def]
            added = [table.add_staged(numbers, wire, combine) for table in tables]
            with tf.control_dependencies(added):
                return tf.size(numbers)

        self._add_staged = add_staged

    def _job_program(self) -> JobProgram:
        return row_job(self.program, self.server, staged=True)

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
            slots = [_Slot(of_job) for of_job in of_round]
            self._train(slots)
            with naming_lost_tasks(), holding_interrupts():
                self._add_staged(tf.constant([slot.number for slot in slots], tf.int64))
            for slot in slots:
                for trained in slot.reports:
                    report(trained)
        self.end_epoch()

    def _train(self, slots: list[_Slot]) -> None:
        """Train a round's jobs, until each has changes that are laid down at the ps."""

        def begin(slot: _Slot) -> None:
            number = next(self._numbers)
            job = self.schedule(slot.tasks, len(slots), number)
            future = self._waiting.submit(self.reports, job, slot.tasks)
            slot.attempts[future] = number

        began, seconds = time.monotonic(), []
        for slot in slots:
            begin(slot)
        while missing := [slot for slot in slots if slot.number is None]:
            running = [future for slot in missing for future in slot.attempts]
            done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            passed = time.monotonic() - began
            for slot in missing:
                for future in done & slot.attempts.keys():
                    number = slot.attempts.pop(future)
                    try:
                        reports = future.result()
                    except ClusterLost:
                        if not self.workers.intact(self.server.tables):
                            raise
                        begin(slot)
                        continue
                    if slot.number is None:
                        slot.number, slot.reports = number, reports
                        seconds.append(passed)
            if 2 * len(seconds) >= len(slots):
                late = max(STRAGGLER_SECONDS, STRAGGLER_TIMES * statistics.median(seconds))
                for slot in missing:
                    if slot.number is None and len(slot.attempts) == 1 and passed > late:
                        begin(slot)

    def close(self) -> None:
        """Free the tables."""
        self._waiting.shutdown(wait=False, cancel_futures=True)
        super().close()
