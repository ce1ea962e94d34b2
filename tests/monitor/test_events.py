"""What TensorBoard's pages make of the files."""

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

from gensim_tfw2v.monitor.events import EventLog


def test_hyperparameters_go_by_the_names_of_runs(tmp_path):
    for name, size in (("sizes/50", 50), ("sizes/100", 100), ("again/100", 100)):
        events = EventLog(str(tmp_path / name))
        events.hyperparameters({"vector_size": size, "sg": True})
        curves = ("workers/staleness", "loss/epoch", "training/alpha", "quality/ws353")
        events.scalars(dict.fromkeys(curves, 0.5), 1)
        events.close()
    runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    context = Context(TBContext(data_provider=MultiplexerDataProvider(runs, "")))
    request = api_pb2.ListSessionGroupsRequest(
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_RUNNING],
        start_index=0,
        slice_size=10,
    )
    found = list_session_groups.Handler(RequestContext(), context, "", request).run()
    groups = {group.name: group for group in found.session_groups}
    assert set(groups) == {"sizes/50", "sizes/100", "again/100"}
    assert groups["sizes/50"].hparams["vector_size"].number_value == 50
    # the page shows the first metrics unless asked for more
    metrics = [value.name.tag for value in groups["sizes/50"].metric_values]
    assert metrics[:2] == ["loss/epoch", "quality/ws353"]
