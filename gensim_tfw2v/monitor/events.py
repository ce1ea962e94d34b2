"""A run's file for TensorBoard.

TensorBoard orders groups of curves, what is before the ``/`` of their tags, by the alphabet.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

#: A file without events, which makes a folder a run.
EMPTY = "events.out.tfevents.0.projector"

#: Seconds until what was written is in the file.
FLUSH_SECONDS = 2


class EventLog:
    """Writes scalars, texts, hyperparameters and a graph into a new file of a run.

    Parameters
    ----------
    folder : str
        The run's; TensorBoard shows the files of one folder as one run.
    suffix : str
        Of the file's name.
    """

    def __init__(self, folder: str, suffix: str = "") -> None:
        # a process that is started anew within a second must not write over its first file
        self._writer = EventFileWriter(
            folder,
            flush_secs=FLUSH_SECONDS,
            filename_suffix=f".{time.time_ns() % 10**9:09d}{suffix}",
        )

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write a point of each curve."""
        for tag, value in values.items():
            self._summary(scalar_pb(tag, value), step)

    def histograms(self, values: Mapping[str, Any], step: int) -> None:
        """Write an array of each histogram."""
        for tag, array in values.items():
            self._summary(histogram_pb(tag, array), step)

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Write a text."""
        self._summary(text_pb(tag, markdown), step)

    def hyperparameters(self, values: Mapping[str, bool | int | float | str]) -> None:
        """Write what a run was made with."""
        # without an id of its own, it goes by the name of the run
        self._summary(hparams_pb(dict(values), trial_id=""), None)

    def graph(self, graph: bytes) -> None:
        """Write a serialized ``GraphDef``."""
        self._add(Event(graph_def=graph), 0)

    def _summary(self, summary: Any, step: int | None) -> None:
        # TensorFlow and TensorBoard each have a class of this message
        event = Event()
        event.summary.ParseFromString(summary.SerializeToString())
        self._add(event, step)

    def _add(self, event: Event, step: int | None) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = step
        self._writer.add_event(event)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


def has_events(folder: str) -> bool:
    """Whether a folder holds a training's run already."""
    try:
        return any("tfevents" in name and name != EMPTY for name in os.listdir(folder))
    except OSError:
        return False
