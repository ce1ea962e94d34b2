"""Relay of workers that train one at a time: the fastest worker starts, and a slow one hands over.

A worker that trains alone takes jobs until the queue is closed. Its turn then ends with its current
job. TensorFlow starts the next turn on the worker that has waited longest. `line_up` lets all
workers run a short function before, so that this is the fastest one.
"""

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.parameter_server.workers import Workers

logger = logging.getLogger(__name__)

#: A turn ends if its jobs take this many times as long as the fast ones.
SLOW_TIMES = 3.0

#: Minimum number of seconds that a turn must have lost to a slow worker. The next worker may have
#: to load the function, which takes about as long.
MIN_LOST_SECONDS = 2.0

#: Minimum number of jobs from which the duration of fast jobs is known.
MIN_JOBS = 4

#: Width of the matrices that `line_up` multiplies, and number of products: about 50 ms.
PROBE_WIDTH = 256
PROBE_PRODUCTS = 64


class Relay:
    """Decides when the worker that trains alone hands over to the next worker.

    Parameters
    ----------
    workers : Workers
        Threads are equally fast, so they never hand over.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._is_needed = workers.number > 1 and not workers.are_threads
        self._durations: list[float] = []  # of all jobs so far, in seconds
        self._turn_start = 0  # index of the first job of this turn in `_durations`
        self._result_time = 0.0  # time.monotonic() of the last result

    def begin_turn(self) -> None:
        """Let the fastest worker be the next to start a function."""
        self._turn_start = len(self._durations)
        if self._is_needed:
            line_up(self._workers)

    def must_hand_over(self, durations: Sequence[float]) -> bool:
        """Return whether the turn must end.

        The first job of a turn is always waited for, because a worker first loads the function.

        Parameters
        ----------
        durations : sequence of float
            Seconds of each of the jobs that have finished since the last call.
        """
        now = time.monotonic()
        if durations:
            self._durations.extend(durations)
            self._result_time = now
        turn_durations = self._durations[self._turn_start :]
        if not self._is_needed or not turn_durations or len(self._durations) < MIN_JOBS:
            return False
        # The lower quartile: a slow worker may have trained most of the jobs.
        fast_seconds = sorted(self._durations)[len(self._durations) // 4]
        turn_seconds = sum(turn_durations)
        n_jobs = len(turn_durations)
        running_seconds = now - self._result_time  # minimum duration of the running job
        if running_seconds > fast_seconds:
            turn_seconds += running_seconds
            n_jobs += 1
        expected_seconds = n_jobs * fast_seconds
        if turn_seconds < max(SLOW_TIMES * expected_seconds, expected_seconds + MIN_LOST_SECONDS):
            return False
        logger.info(
            "the worker that trains alone is slow, and hands over: %d jobs took %.1f s instead of "
            "%.1f s",
            n_jobs,
            turn_seconds,
            expected_seconds,
        )
        return True


def line_up(workers: Workers) -> None:
    """Let all workers run a short function, and wait until the fastest has finished it.

    It then waits longer for the next function than any other worker, so that TensorFlow starts that
    function on it.
    """
    pool = ThreadPoolExecutor(workers.number, "tfw2v-line-up")
    running = {pool.submit(workers.schedule(_make_probe()).result) for _ in range(workers.number)}
    pool.shutdown(wait=False)  # slow workers finish later
    while running:
        finished, running = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            with contextlib.suppress(ClusterLost):  # if all are lost, the next function fails
                future.result()
                return


@functools.cache
def _make_probe() -> Callable[[], Any]:
    """Return the function that all workers run, which multiplies matrices."""

    @tf.function(autograph=False, input_signature=[])
    def multiply() -> tf.Tensor:
        matrix = tf.fill([PROBE_WIDTH, PROBE_WIDTH], 1.0 / PROBE_WIDTH)
        _, product = tf.while_loop(
            lambda index, _: index < PROBE_PRODUCTS,
            lambda index, product: (index + 1, tf.matmul(product, matrix)),
            (tf.constant(0), matrix),
            parallel_iterations=1,
        )
        return tf.reduce_sum(product)

    return multiply
