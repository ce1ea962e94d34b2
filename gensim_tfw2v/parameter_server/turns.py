"""Turns: jobs that a worker trains in one call, so that the coordinator has its work once."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Generic, TypeVar

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.parameter_server.jobs.job import job_signature, packed_size

Item = TypeVar("Item")

#: Entries of a turn of several jobs, at most: what has been handed out is trained to the end, also
#: after Ctrl-C.
TURN_ENTRIES = 1 << 17

#: So many leave the coordinator time enough: then the loop of a turn, in which ps tasks take part,
#: would cost more than it saves.
FEW_WORKERS = 8


def in_turn(
    job: tf.types.experimental.PolymorphicFunction, threads: int, most: int
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that trains jobs one after the other.

    Parameters
    ----------
    job : tf.function
        Of what `job_signature` says.
    threads : int
        Units of each job.
    most : int
        Jobs, at most; with one there is no loop, which the ps tasks would have to take part in.

    Returns
    -------
    function -> Tensor [jobs, 4 n + 6], packed `JobResult`
        Of the same, each with a first dimension of as many as there are jobs.
    """
    signature = [tf.TensorSpec([None, *spec.shape], spec.dtype) for spec in job_signature(threads)]

    def train_jobs(*arguments):  # type: ignore[no-untyped-def]
        if most == 1:
            return job.python_function(*(argument[0] for argument in arguments))[None]
        number = tf.shape(arguments[0])[0]
        empty = tf.TensorArray(tf.float64, number, element_shape=[packed_size(threads)])

        def train(place, results):  # type: ignore[no-untyped-def]
            of_job = (tf.gather(argument, place) for argument in arguments)
            return place + 1, results.write(place, job.python_function(*of_job))

        _, results = tf.while_loop(
            lambda place, _: place < number, train, [0, empty], parallel_iterations=1
        )
        return results.stack()

    return tf.function(train_jobs, autograph=False, input_signature=signature)


def most_in_turn(entries: int, workers: int) -> int:
    """How many jobs of so many entries one of so many workers is handed at a time, at most."""
    if workers <= FEW_WORKERS:
        return 1
    return max(1, TURN_ENTRIES // max(1, entries))


def turn_length(left: int, workers: int, most: int) -> int:
    """How many of the jobs that are left a worker is handed.

    So many that there is something to do for all of them until the end.
    """
    return max(1, min(left // (2 * workers), most))


def runs_of(items: Sequence[Item], length: int) -> list[Sequence[Item]]:
    """Runs of so many; the last may be shorter."""
    return [items[first : first + length] for first in range(0, len(items), length)]


class Turns(Generic[Item]):
    """What is left of the units that are handed out; for one thread at a time.

    Parameters
    ----------
    units : sequence
    threads : int
        Units of a job.
    workers : int
        For how many there should be something to do until the end.
    most : int
        Jobs of a turn, at most.
    """

    def __init__(self, units: Sequence[Item], threads: int, workers: int, most: int) -> None:
        self._left, self._threads, self._workers, self._most = units, threads, workers, most
        self._again: queue.SimpleQueue[Sequence[Item]] = queue.SimpleQueue()

    def take(self) -> Sequence[Item] | None:
        """The next units; None if there are none."""
        if not self._left:
            return None if self._again.empty() else self._again.get()
        jobs = turn_length(-(-len(self._left) // self._threads), self._workers, self._most)
        units = jobs * self._threads
        taken, self._left = self._left[:units], self._left[units:]
        return taken

    def again(self, units: Sequence[Item]) -> None:
        """Units that have to be trained again, when the others have been handed out: job by job."""
        for job in runs_of(units, self._threads):
            self._again.put(job)
