"""Result of a worker's job, which travels as one tensor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import UnitResult

#: Number of elements of a packed `JobResult` that follow the results of its units.
N_JOB_FIELDS = 8


class JobResult(NamedTuple):
    """Result of a job.

    Attributes
    ----------
    units : UnitResult of Tensor [n]
        Result of each unit.
    texts : Tensor []
        Bytes of text received from the coordinator.
    fetched, pushed : Tensor []
        Bytes received from the ps tasks for training, and bytes sent to them.
    staleness : Tensor []
        Number of units that other workers pushed between this job's fetch and its push.
    times : Tensor [4], float64
        Start of the job, and end of its fetching, training and pushing: seconds since 1970 by the
        worker's clock. Drawing and planning count as fetching, unless they were done ahead.
    """

    units: UnitResult
    texts: tf.Tensor
    fetched: tf.Tensor
    pushed: tf.Tensor
    staleness: tf.Tensor
    times: tf.Tensor

    def packed(self) -> tf.Tensor:
        """Concatenate all fields, as float64: each returned tensor costs a call to the worker."""
        return tf.concat(
            [tf.reshape(tf.cast(part, tf.float64), [-1]) for part in tf.nest.flatten(self)], 0
        )

    @classmethod
    def unpacked(cls, packed: np.ndarray) -> JobResult:
        """Split a packed result into its fields, as arrays."""
        n_fields = len(UnitResult._fields)
        *units, job_fields = np.split(
            packed, np.arange(1, n_fields + 1) * ((len(packed) - N_JOB_FIELDS) // n_fields)
        )
        return cls._make((UnitResult(*units), *job_fields[:4], job_fields[4:]))


def packed_size(threads: int) -> int:
    """Return the number of elements in a packed `JobResult`."""
    return len(UnitResult._fields) * threads + N_JOB_FIELDS
