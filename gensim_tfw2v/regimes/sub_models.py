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
from gensim_tfw2v.regimes.asynchronous import GRACE_SECONDS
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime

#: Number of retries, per worker of the cluster, to reach the worker that holds a sub-model. If all
#: retries fail, the sub-model counts as lost.
RETRIES_PER_WORKER = 50

#: Seconds from a first try to the first retry. Each later wait is 1.1 times the previous one.
FIRST_WAIT_SECONDS = 0.001

#: Maximum number of seconds from a retry to the next one.
MAX_WAIT_SECONDS = 0.1


class _Lost(Exception):
    """Raised if no worker holds the sub-model any longer."""


class SubModelsRegime(ParameterServerRegime):
    """Trains one sub-model per worker at a time. Each starts from the rows on the ps tasks."""

    #: The coordinator sends each worker the sample of its sub-model.
    reads_units = False

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        super().__init__(setup, workers, options)
        self._folder = setup.folder
        self._n_words = setup.words.keep.shape[0]
        self._attempts = itertools.count(1)
        self._current: dict[int, int] = {}  # running attempt of each sub-model, by its number
        self._local = threading.local()  # `_local.slot` is the index of the worker of a thread
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
            Called after each unit and after each sub-model, from any thread. The report of a unit
            contains only a part of the unit's words and sentences, so that the sums over all
            sub-models are the numbers of words and sentences of the corpus.
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
        remaining_tasks = deque(tasks)
        slots = itertools.count()

        def work(end_event: threading.Event) -> None:
            self._local.slot = next(slots)

            def must_stop() -> bool:
                return end_event.is_set() or stop()

            while not must_stop():
                try:
                    task = remaining_tasks.popleft()
                except IndexError:  # no task is left
                    break
                try:
                    if self._train_model(task, report, must_stop):
                        report(SubModelDone(task.number))
                except _Lost:
                    remaining_tasks.append(task)  # train this sub-model again, from its start
                finally:
                    del self._current[task.number]

        n_threads = min(self.workers.number, len(tasks))
        run_threads(work, n_threads, "tfw2v-sub-model", ending_seconds=GRACE_SECONDS)

    def _train_model(
        self,
        task: SubModelTask,
        report: Callable[[UnitReport | SubModelDone], None],
        must_stop: Callable[[], bool],
    ) -> bool:
        """Train a sub-model, and write its files; return False if it was stopped.

        Raises
        ------
        _Lost
            If no worker holds the sub-model any longer.
        """
        attempt = next(self._attempts)
        self._current[task.number] = attempt
        word_counts = np.zeros(self._n_words, np.int64)
        job_index = 0
        n_units = 0
        jobs = task.jobs(self.config, self._seed, word_counts)
        next_job = next(jobs, None)
        try:
            while next_job is not None:
                if must_stop():
                    return False
                epoch, units, arguments = next_job
                schedule = functools.partial(self._schedule, attempt, job_index, arguments)
                start_time = time.monotonic()
                job = schedule()
                next_job = next(jobs, None)  # drawn while the worker trains
                # no limit for the first job: it may have to wait until a worker is free
                max_retries = self._max_retries if job_index else math.inf
                result = results_of(
                    self._run_on_holder(job, schedule, lambda packed: packed[0], max_retries)
                )
                self.workers.liveness.progress(time.monotonic() - start_time)
                if not np.isfinite(result.magnitude).all():
                    alpha = float(arguments[2][0, 0])
                    window = self.config.window
                    negative = self.config.objective.negative
                    raise Divergence.at(f"sub-model {task.number + 1}", window, negative, alpha)
                n_units += len(units)
                n_bytes = sum(len(entries) for entries in arguments[0].numpy())
                n_tokens = int(result.kept.sum())
                with self._traffic_lock:
                    self.traffic += Traffic(units=len(units), tokens=n_tokens, corpus_bytes=n_bytes)
                for unit_report in result.reports(units, arguments[2][:, 1].numpy(), epoch):
                    report(unit_report)
                job_index += 1
            return self._write(task.number, attempt, word_counts, must_stop)
        except _Lost:
            with self._traffic_lock:
                self.traffic.repeated += n_units
            raise

    def _schedule(self, attempt: int, job_index: int, arguments: tuple[Any, ...]) -> Job:
        current_attempts = tuple(self._current.values())
        other_attempts = [other for other in current_attempts if other != attempt]
        return self.workers.schedule(
            self._functions.train,
            *arguments,
            tf.constant(attempt, tf.int64),
            tf.constant(job_index, tf.int64),
            tf.constant(other_attempts, tf.int64),
            slot=self._local.slot,
        )

    def _run_on_holder(
        self,
        job: Job,
        schedule: Callable[[], Job],
        is_result: Callable[[np.ndarray], object],
        max_retries: float,
    ) -> np.ndarray:
        """Retry a job until the worker that holds its sub-model runs it; return its result.

        `schedule` starts a retry. A worker that does not hold the sub-model returns an array for
        which `is_result` is false.

        Raises
        ------
        _Lost
            If `max_retries` retries were not enough.
        """
        seconds = FIRST_WAIT_SECONDS
        for n_tries in itertools.count(1):
            result = job.result()
            if is_result(result):
                return result
            if n_tries > max_retries:
                break
            time.sleep(seconds)
            seconds = min(MAX_WAIT_SECONDS, 1.1 * seconds)
            job = schedule()
        raise _Lost

    def _write(
        self, number: int, attempt: int, word_counts: np.ndarray, must_stop: Callable[[], bool]
    ) -> bool:
        """Fetch the rows of sub-model `number`, and write its files; return False if stopped."""
        size = self.config.vector_size
        for name, layout in self.server.tables._asdict().items():
            path = file_of(self._folder, number, name)
            if not layout.n_rows:
                continue
            rows = new_array(path, (layout.n_rows, size))
            n_read = 0
            while n_read < layout.n_rows:
                if must_stop():
                    return False
                part = self._read(name, attempt, n_read)
                rows[n_read : n_read + len(part)] = part
                n_read += len(part)
            rows.flush()
            with self._traffic_lock:
                self.traffic.fetched_bytes += rows.nbytes
        save_array(file_of(self._folder, number, "seen"), word_counts)
        return True

    def _read(self, name: str, attempt: int, begin: int) -> np.ndarray:
        """Fetch rows of a table of a sub-model, from the row `begin` on, as many as are sent."""
        function = getattr(self._functions.read, name)
        arguments = tf.constant(attempt, tf.int64), tf.constant(begin, tf.int64)
        schedule = functools.partial(
            self.workers.schedule, function, *arguments, slot=self._local.slot
        )
        return self._run_on_holder(schedule(), schedule, len, self._max_retries)

    @property
    def _max_retries(self) -> int:
        return RETRIES_PER_WORKER * self.workers.number
