"""Sub-models: N models, each trained by one worker on a sample of the corpus.

Anand et al. 2019, "Asynchronous Training of Word Embeddings for Large Text Corpora" (WSDM). No rows
are exchanged during training. The text is sent to the workers as word ids, and each finished
sub-model is fetched once.
"""

import functools
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.mapped import new_array, save_array
from gensim_tfw2v.kernel.tables import Divergence, UnitReport
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.parameter_server.sub_model import (
    SubModelDone,
    SubModelTask,
    file_of,
    results_of,
    sub_model_functions,
)
from gensim_tfw2v.parameter_server.workers import Job, Workers
from gensim_tfw2v.processes.threads import run_threads
from gensim_tfw2v.regimes import Setup, Stop, never
from gensim_tfw2v.regimes.asynchronous import ENDING_SECONDS
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

#: Number of retries to reach the worker that holds a sub-model, for each worker of the cluster.
#: After that many, the sub-model counts as lost.
TRIES_A_WORKER = 50

#: Seconds between the first two tries. Each wait is 1.1 times the previous one.
FIRST_WAIT = 0.001

#: Maximum number of seconds between two tries.
MAX_WAIT = 0.1


class _Lost(Exception):
    """Raised if no worker holds the sub-model any longer."""


class SubModelsRegime(ParameterServerRegime):
    """Trains one sub-model per worker at a time, each from the initial rows on the ps tasks."""

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        super().__init__(setup, workers, options)
        self._folder = setup.folder
        self._words = len(setup.words.keep)
        self._attempts = itertools.count(1)
        self._current: dict[int, int] = {}  # number of each sub-model's running attempt
        self._local = threading.local()  # `slot`: index of the worker that a thread uses
        self._functions = sub_model_functions(self.config, self.server)

    def train_epoch(
        self,
        tasks: Sequence[SubModelTask],
        report: Callable[[UnitReport | SubModelDone], None],
        stop: Stop = never,
    ) -> None:
        """Train sub-models, each through all of its epochs.

        Parameters
        ----------
        tasks : sequence of SubModelTask
        report : callable
            Called after each unit and after each sub-model, from any thread. Each report of a unit
            counts a part of the unit's words and sentences, so that the counts of all sub-models
            add up to those of the corpus.
        stop : callable
            Called before each job. Once it returns True, the remaining jobs are skipped.

        Raises
        ------
        Divergence
            If updates become non-finite.
        ClusterLost
            If the initial rows are lost.
        """
        self.workers.liveness.progress()
        todo = deque(tasks)
        slots = itertools.count()

        def work(ended: threading.Event) -> None:
            self._local.slot = next(slots)

            def stopped() -> bool:
                return ended.is_set() or stop()

            while not stopped():
                try:
                    task = todo.popleft()
                except IndexError:  # no task is left
                    break
                try:
                    if self._train_model(task, report, stopped):
                        report(SubModelDone(task.number))
                except _Lost:
                    todo.append(task)  # retrained from the start
                finally:
                    del self._current[task.number]

        threads = min(self.workers.number, len(tasks))
        run_threads(work, threads, "tfw2v-sub-model", ending_seconds=ENDING_SECONDS)

    def _train_model(
        self,
        task: SubModelTask,
        report: Callable[[UnitReport | SubModelDone], None],
        stopped: Callable[[], bool],
    ) -> bool:
        """Train a sub-model, and write its files; return False if it was stopped.

        Raises
        ------
        _Lost
        """
        number = task.number
        attempt = self._current[number] = next(self._attempts)
        seen = np.zeros(self._words, np.int64)
        job = units_so_far = 0
        jobs = task.jobs(self.config, self._seed, seen)
        following = next(jobs, None)
        try:
            while following is not None:
                if stopped():
                    return False
                epoch, units, arguments = following
                schedule = functools.partial(self._schedule, attempt, job, arguments)
                running = schedule()
                following = next(jobs, None)  # drawn while the worker trains
                # no limit for the first job: it may have to wait until a worker is free
                tries = self._tries if job else math.inf
                result = results_of(
                    self._run_on_holder(running, schedule, lambda packed: packed[0], tries)
                )
                if not np.isfinite(result.magnitude).all():
                    alpha = float(arguments[2][0, 0])
                    window = self.config.window
                    negative = self.config.objective.negative
                    raise Divergence.at(f"sub-model {number}", window, negative, alpha)
                units_so_far += len(units)
                sent = sum(len(entries) for entries in arguments[0].numpy())
                tokens = int(result.kept.sum())
                with self._counting:
                    self.traffic += Traffic(units=len(units), tokens=tokens, corpus_bytes=sent)
                for unit_report in result.reports(units, arguments[2][:, 1].numpy(), epoch):
                    report(unit_report)
                job += 1
            return self._write(number, attempt, seen, stopped)
        except _Lost:
            with self._counting:
                self.traffic.repeated += units_so_far
            raise

    def _schedule(self, attempt: int, job: int, arguments: tuple[Any, ...]) -> Job:
        others = [other for other in tuple(self._current.values()) if other != attempt]
        return self.workers.schedule(
            self._functions.train,
            *arguments,
            tf.constant(attempt, tf.int64),
            tf.constant(job, tf.int64),
            tf.constant(others, tf.int64),
            slot=self._local.slot,
        )

    def _run_on_holder(
        self,
        running: Job,
        again: Callable[[], Job],
        is_met: Callable[[np.ndarray], object],
        tries: float,
    ) -> np.ndarray:
        """Retry a job until the worker that holds its sub-model runs it; return its result.

        Raises
        ------
        _Lost
            If `tries` retries were not enough.
        """
        seconds = FIRST_WAIT
        for number in itertools.count(1):
            returned = running.result()
            if is_met(returned):
                return returned
            if number > tries:
                break
            time.sleep(seconds)
            seconds = min(MAX_WAIT, 1.1 * seconds)
            running = again()
        raise _Lost

    def _write(
        self, number: int, attempt: int, seen: np.ndarray, stopped: Callable[[], bool]
    ) -> bool:
        """Fetch a sub-model's rows, and write its files; return False if it was stopped."""
        size = self.config.vector_size
        for name, layout in self.server.tables._asdict().items():
            path = file_of(self._folder, number, name)
            if not layout.rows:
                continue
            rows = new_array(path, (layout.rows, size))
            first = 0
            while first < layout.rows:
                if stopped():
                    return False
                part = self._read(name, attempt, first)
                rows[first : first + len(part)] = part
                first += len(part)
            rows.flush()
            with self._counting:
                self.traffic.fetched_bytes += rows.nbytes
        save_array(file_of(self._folder, number, "seen"), seen)
        return True

    def _read(self, name: str, attempt: int, first: int) -> np.ndarray:
        read = getattr(self._functions.read, name)
        arguments = tf.constant(attempt, tf.int64), tf.constant(first, tf.int64)
        schedule = functools.partial(self.workers.schedule, read, *arguments, slot=self._local.slot)
        return self._run_on_holder(schedule(), schedule, len, self._tries)

    @property
    def _tries(self) -> int:
        return TRIES_A_WORKER * self.workers.number
