"""Result of a worker's job, which is sent as a single tensor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import UnitResult

#: Number of elements in a packed `JobResult` after the results of the units: three counts of bytes,
#: the staleness, and four times.
N_JOB_FIELDS = 8


class JobResult(NamedTuple):
    """Result of a job.

    Attributes
    ----------
    units : UnitResult of Tensor [n]
        Result of each unit.
    text_bytes : Tensor []
        Bytes of text received from the coordinator.
    fetched_bytes, pushed_bytes : Tensor []
        Bytes received from the ps tasks for training, and bytes sent to them.
    staleness : Tensor []
        Number of units that other workers pushed between this job's fetch and its push.
    times : Tensor [4], float64
        Start of the job, and ends of its fetching, training and pushing, in seconds since 1970 by
        the worker's clock. Fetching includes drawing and planning the units, unless this was done
        while the previous job ran.
    """

    units: UnitResult
    text_bytes: tf.Tensor
    fetched_bytes: tf.Tensor
    pushed_bytes: tf.Tensor
    staleness: tf.Tensor
    times: tf.Tensor

    def pack(self) -> tf.Tensor:
        """Concatenate all fields, as float64: each tensor would cost a call to the worker."""
        return tf.concat(
            [tf.reshape(tf.cast(part, tf.float64), [-1]) for part in tf.nest.flatten(self)], 0
        )

    @classmethod
    def unpack(cls, packed: np.ndarray) -> JobResult:
        """Split a packed result into its fields, which are arrays."""
        n_fields = len(UnitResult._fields)
        *units, job_fields = np.split(
            packed, np.arange(1, n_fields + 1) * ((len(packed) - N_JOB_FIELDS) // n_fields)
        )
        return cls._make((UnitResult(*units), *job_fields[:4], job_fields[4:]))


def packed_size(threads: int) -> int:
    """Return the number of elements in the packed `JobResult` of a job with `threads` units."""
    return len(UnitResult._fields) * threads + N_JOB_FIELDS
