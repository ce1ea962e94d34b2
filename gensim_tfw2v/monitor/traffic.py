"""Counts of a cluster's work, and a timeline of its jobs in Chrome's trace format.

The timeline can be opened in Perfetto and in chrome://tracing. Its format is described here:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

#: Names of the phases of a job. Phase i lasts from ``JobTrace.times[i]`` to ``times[i + 1]``.
PHASES = ("fetch", "train", "push")


class JobTrace(NamedTuple):
    """Times and traffic of a worker's job.

    Attributes
    ----------
    times : sequence of float
        Start of the job, and ends of its fetching, training and pushing, in seconds since 1970.
    units : int
        Number of work units.
    fetched_bytes, pushed_bytes : int
        Bytes of the rows that were sent to the worker, and of the changes that it sent back.
    staleness : float
        See `Traffic`.
    """

    times: Sequence[float]
    units: int
    fetched_bytes: int
    pushed_bytes: int
    staleness: float


@dataclass
class Traffic:
    """Counts of a cluster's work. ``str(traffic)`` is a summary with a line for each of `rows`.

    Attributes
    ----------
    units, repeated : int
        Number of work units trained, including repetitions, and number of these repetitions. A unit
        is repeated if a worker exits before it reports the unit, if a second worker trains a copy
        of it, or if parameters are lost.
    tokens : int
        Number of words trained on, after subsampling.
    fetched_bytes, pushed_bytes, corpus_bytes : int
        Bytes of rows that were sent to workers, of changes (with row ids) that workers sent back,
        and of word ids that were sent to workers without access to the corpus.
    staleness : list of float
        For each job, the number of work units whose changes other workers pushed between the fetch
        and the push of the job. The job computed its own changes without them.
    seconds : ndarray [3]
        Total seconds that workers spent fetching, training and pushing.
    jobs : list of JobTrace
        Trace of each job; empty while an epoch is trained on a cluster.
    """

    units: int = 0
    repeated: int = 0
    tokens: int = 0
    fetched_bytes: int = 0
    pushed_bytes: int = 0
    corpus_bytes: int = 0
    staleness: list[float] = field(default_factory=list, repr=False)
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(3))
    jobs: list[JobTrace] = field(default_factory=list, repr=False)

    def __add__(self, increment: "Traffic") -> "Traffic":
        """Return the sums of all counts, and the concatenated lists."""
        names = [field.name for field in fields(self)]
        return Traffic(*(getattr(self, name) + getattr(increment, name) for name in names))

    def __sub__(self, earlier: "Traffic") -> "Traffic":
        """Return the work since `earlier`, an earlier state of these counts; without `jobs`."""
        names = [field.name for field in fields(self) if field.name not in ("staleness", "jobs")]
        counts = {name: getattr(self, name) - getattr(earlier, name) for name in names}
        return Traffic(**counts, staleness=self.staleness[len(earlier.staleness) :])

    def __str__(self) -> str:
        return "\n".join(f"{name:<11}{value}" for name, value in self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """Return a summary of the counts: pairs of a name and a phrase."""
        size = _format_bytes(self.total_bytes)
        rows = [("network", f"{size}, {self.bytes_per_token:,.0f} bytes per trained word")]
        total_seconds = self.seconds.sum()
        if total_seconds:  # 0 for sub-models, which are neither fetched nor pushed
            fetching, training, pushing = self.seconds / total_seconds
            shares = (
                f"{training:.0%} of their time training, {fetching:.0%} fetching rows, "
                f"{pushing:.0%} pushing changes"
            )
            rows.append(("workers", shares))
        rows.append(("work units", f"{self.units:,}, {self.repeated:,} of them repeated"))
        if self.staleness:
            mean = sum(self.staleness) / len(self.staleness)
            rows.append(("staleness", f"{mean:.1f} concurrent updates per work unit"))
        return rows

    @property
    def total_bytes(self) -> int:
        """Sum of the bytes of fetched rows, pushed changes and the corpus."""
        return self.fetched_bytes + self.pushed_bytes + self.corpus_bytes

    @property
    def bytes_per_token(self) -> float:
        """Number of bytes (`total_bytes`) per word trained on."""
        return self.total_bytes / max(1, self.tokens)


def _format_bytes(n_bytes: int) -> str:
    """Format a number of bytes in the largest unit (GB, MB, kB or bytes) that it reaches."""
    for unit_bytes, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit_bytes:
            return f"{n_bytes / unit_bytes:,.1f} {unit}"
    return f"{n_bytes} bytes"


def write_trace(folder: str | os.PathLike[str], jobs: Sequence[JobTrace]) -> None:
    """Write the phases of all jobs to ``trace.json`` in a folder.

    Times in the file are microseconds since the start of the first job. A trace does not contain
    the worker of its job. So the timeline has slots instead of workers, and jobs are put into slots
    so that the jobs of a slot do not overlap. The number of slots is the maximum number of jobs
    that ran in parallel. Jobs of hosts with different clocks are shifted, which can add slots.
    """
    first_start = min((job.times[0] for job in jobs), default=0.0)
    slot_ends: dict[int, float] = {}  # end of each slot's last job
    trace_events: list[dict[str, object]] = []
    for job in sorted(jobs, key=lambda job: job.times[0]):
        free_slots = [slot for slot, end in slot_ends.items() if end <= job.times[0]]
        # Choose the free slot whose last job ended last, or a new slot if none is free.
        slot = max(free_slots, key=slot_ends.__getitem__, default=len(slot_ends))
        if slot == len(slot_ends):
            trace_events.append(
                {
                    "name": "thread_name",
                    "ph": "M",
                    "pid": 0,
                    "tid": slot,
                    "args": {"name": f"job slot {slot}"},
                }
            )
        slot_ends[slot] = job.times[-1]
        phase_bytes = job.fetched_bytes, 0, job.pushed_bytes
        for phase, (start, end), n_bytes in zip(
            PHASES, pairwise(job.times), phase_bytes, strict=True
        ):
            trace_events.append(
                {
                    "name": phase,
                    "ph": "X",
                    "pid": 0,
                    "tid": slot,
                    "args": {"units": job.units, "bytes": n_bytes, "staleness": job.staleness},
                    "ts": 1e6 * (start - first_start),
                    "dur": 1e6 * (end - start),
                }
            )
    content = json.dumps({"traceEvents": trace_events})
    Path(folder, "trace.json").write_text(content, encoding="utf-8")
