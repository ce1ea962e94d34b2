"""A timeline of a cluster's jobs in Chrome's trace format, for Perfetto and chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

NAME = "trace.json"
PHASES = ("fetch", "train", "push")


class JobTrace(NamedTuple):
    """A job of a worker, with its times and traffic."""

    times: Sequence[float]  # seconds since 1970, when it began, and had fetched, trained and pushed
    units: int
    fetched_bytes: int
    pushed_bytes: int
    staleness: float


def write_trace(folder: str | os.PathLike[str], jobs: Sequence[JobTrace]) -> None:
    """Write the phases of all jobs, in microseconds since the first began, to a file of a folder.

    Nothing tells which worker does a job. Jobs are put into slots, in which they don't overlap: as
    many as were done at the same time. Clocks of hosts that differ shift jobs, and can add slots.
    """
    began = min((job.times[0] for job in jobs), default=0.0)
    ends: dict[int, float] = {}  # of each slot's last job
    events: list[dict[str, object]] = []
    for job in sorted(jobs, key=lambda job: job.times[0]):
        free = [slot for slot, end in ends.items() if end <= job.times[0]]
        slot = max(free, key=ends.__getitem__, default=len(ends))  # the one that waited least
        if slot == len(ends):
            name = {"name": f"job slot {slot}"}
            events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": slot, "args": name})
        ends[slot] = job.times[-1]
        sizes = job.fetched_bytes, 0, job.pushed_bytes
        for phase, (start, end), size in zip(PHASES, pairwise(job.times), sizes, strict=True):
            span = {"ts": 1e6 * (start - began), "dur": 1e6 * (end - start)}
            args = {"units": job.units, "bytes": size, "staleness": job.staleness}
            events.append({"name": phase, "ph": "X", "pid": 0, "tid": slot, "args": args} | span)
    Path(folder, NAME).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
