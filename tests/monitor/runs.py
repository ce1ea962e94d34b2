"""Runs as TensorBoard reads them."""

from pathlib import Path

from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.util import tensor_util

EVERYTHING = {"tensors": 0, "graph": 1}


class Runs:
    """The runs below a folder."""

    def __init__(self, folder: Path) -> None:
        self._events = EventMultiplexer(size_guidance=EVERYTHING)
        self._events.AddRunsFromDirectory(str(folder)).Reload()

    def names(self) -> set[str]:
        return set(self._events.Runs())

    def tags(self, run: str) -> set[str]:
        return set(self._events.Runs()[run]["tensors"])

    def points(self, run: str, tag: str) -> list[tuple[int, float]]:
        """Steps and values of a curve."""
        return [(step, value.item()) for step, value in self._values(run, tag)]

    def texts(self, run: str, tag: str) -> list[str]:
        return [value.item().decode() for _, value in self._values(run, tag)]

    def _values(self, run, tag):
        for event in self._events.Tensors(run, tag):
            yield event.step, tensor_util.make_ndarray(event.tensor_proto)

    def graph(self, run: str):
        return self._events.Graph(run)

    def hyperparameters(self, run: str) -> dict:
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

        metadata = self._events.SummaryMetadata(run, "_hparams_/session_start_info")
        data = HParamsPluginData.FromString(metadata.plugin_data.content)
        return {
            name: getattr(value, value.WhichOneof("kind"))
            for name, value in data.session_start_info.hparams.items()
        }
