"""What each process of a training took of its machine, read from its run for TensorBoard."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.monitor.events import TASKS

#: Of the curves that tell of a process.
PREFIX = "usage/"

#: What the process is called that calls `train`, whose run is the training's own.
PROGRAM = "program"


class Usage(NamedTuple):
    """Points over time.

    Attributes
    ----------
    times : ndarray [n]
        Seconds since 1970.
    cores : ndarray [n]
        In use since the point before, on average.
    memory : ndarray [n]
        Bytes.
    sent, received : ndarray [n]
        Bytes/s since the point before; 0 where the system does not say.
    """

    times: np.ndarray
    cores: np.ndarray
    memory: np.ndarray
    sent: np.ndarray
    received: np.ndarray


def process_runs(folder: Path) -> dict[str, Path]:
    """The folders of processes' runs in a training's folder, by their names."""
    tasks = sorted(folder.glob(f"{TASKS}/*/"))
    return {PROGRAM: folder} | {path.name: path for path in tasks}


def read_usage(folder: Path) -> dict[str, Usage]:
    """Read the runs of processes in a training's folder, by their names."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    found = {}
    for name, run in process_runs(folder).items():
        events = EventAccumulator(str(run), size_guidance={"tensors": 0})
        events.Reload()
        tags = [tag for tag in events.Tags()["tensors"] if tag.startswith(PREFIX)]
        if not tags:
            continue
        points = {
            tag.removeprefix(PREFIX): np.array(
                [
                    (one.wall_time, make_ndarray(one.tensor_proto).item())
                    for one in events.Tensors(tag)
                ]
            )
            for tag in tags
        }
        found[name] = _usage(points)
    return found


def _usage(points: dict[str, np.ndarray]) -> Usage:
    times = points["cpu_percent"][:, 0]

    def values(tag: str, unit: float) -> np.ndarray:
        if tag not in points:
            return np.zeros(len(times))
        return np.interp(times, *points[tag].T) * unit

    return Usage(
        times,
        values("cpu_percent", 0.01),
        values("memory_MiB", 2.0**20),
        values("sent_MB_per_second", 1e6),
        values("received_MB_per_second", 1e6),
    )
