"""Event files as TensorBoard's pages read them; CPU, memory and network use of processes."""

import json
import socket
import sys
import threading
import time

import pytest
from gensim.test.utils import datapath
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.monitor import task_log
from gensim_tfw2v.monitor.events import EventLog
from gensim_tfw2v.monitor.task_log import TaskLog
from gensim_tfw2v.processes.connections import TcpBytes
from tests.monitor.runs import Runs


def test_hyperparameters_are_listed_by_run_name(tmp_path):
    for name, size in (("sizes/50", 50), ("sizes/100", 100), ("again/100", 100)):
        log = EventLog(str(tmp_path / name))
        log.hyperparameters({"vector_size": size, "sg": True})
        curves = ("workers/staleness", "loss/epoch", "training/alpha", "quality/ws353")
        log.scalars(dict.fromkeys(curves, 0.5), 1)
        log.close()
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
    # by default, the page shows only the first metrics
    metrics = [value.name.tag for value in groups["sizes/50"].metric_values]
    assert metrics[:2] == ["loss/epoch", "quality/ws353"]


CURVES = {
    *("usage/cpu_percent", "usage/memory_MiB"),
    *("usage/sent_MB_per_second", "usage/received_MB_per_second"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's bytes")
def test_tcp_bytes_are_counted():
    counted = TcpBytes()
    before = counted.look()
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as near, server.accept()[0] as far:
            got = []

            def read():
                while len(got) < 3_000_000:
                    got.extend(far.recv(1 << 16))

            reader = threading.Thread(target=read)
            reader.start()
            near.sendall(bytes(3_000_000))
            reader.join(60)
            deadline = time.monotonic() + 60
            while (sent := counted.look()[0] - before[0]) < 3_000_000:
                assert time.monotonic() < deadline, f"{sent} bytes were confirmed"
                time.sleep(0.01)
            received = counted.look()[1] - before[1]
            # opening a connection counts as one byte
            assert sent - 3_000_000 < 10
            assert received == 3_000_000
        # bytes of closed connections stay counted
        assert counted.look()[0] - before[0] == sent


def test_process_logs_its_cpu_time_and_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(task_log, "MIN_INTERVAL", 0.2)
    written, point = [], TaskLog._write_point
    monkeypatch.setattr(TaskLog, "_write_point", lambda log: written.append(point(log)))
    log = TaskLog(str(tmp_path), "worker-0")
    began, used = time.monotonic(), time.process_time()
    while time.monotonic() - began < 1.0 or len(written) < 4:
        assert time.monotonic() - began < 60
    share = 100 * (time.process_time() - used) / (time.monotonic() - began)  # cores are shared
    log.close()
    again = TaskLog(str(tmp_path), "worker-0")
    until = len(written) + 4
    while len(written) < until:
        assert time.monotonic() - began < 120
        time.sleep(0.05)
    again.close()
    runs = Runs(tmp_path)
    assert runs.names() == {"tasks/worker-0"}
    cpu = runs.points("tasks/worker-0", "usage/cpu_percent")
    assert sum(value for _, value in cpu[:4]) > 4 * share / 3
    assert cpu[-2][1] < 50
    # the second log continues where the first ended
    assert [step for step, _ in cpu] == sorted(step for step, _ in cpu)
    assert cpu[-1][0] >= 1
    memory = [value for _, value in runs.points("tasks/worker-0", "usage/memory_MiB")]
    assert memory and all(10 < value < 10_000 for value in memory)


@pytest.mark.usefixtures("shared_forks")
def test_every_task_of_a_cluster_writes_a_run(tmp_path, short_layouts):
    model = TFWord2Vec(
        corpus_file=datapath("lee_background.cor"),
        sg=1,
        epochs=15,
        workers=2,
        cluster="local:ps=1,worker=2",
        log_dir=tmp_path,
    )
    runs = Runs(tmp_path)
    tasks = {f"tasks/{name}" for name in ("ps-0", "worker-0", "worker-1", "chief")}
    assert runs.names() == {".", *tasks}
    for name in tasks:
        assert runs.tags(name) == CURVES
    assert runs.graph(".").node
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in trace) == 3 * len(model.traffic.jobs)
    assert len(model.traffic.jobs) == len(model.traffic.staleness) > 0

    wanted = {"bytes_per_token", "staleness", "units_repeated"}
    wanted |= {f"share_of_time_{what}" for what in ("fetching", "training", "pushing")}
    assert {f"workers/{name}" for name in wanted} <= runs.tags(".")
    bytes_per_token = [value for _, value in runs.points(".", "workers/bytes_per_token")]
    assert bytes_per_token == pytest.approx(
        [model.traffic.bytes_per_token] * len(bytes_per_token), rel=0.2
    )
    shares = [
        sum(values)
        for values in zip(
            *(
                [value for _, value in runs.points(".", f"workers/share_of_time_{what}")]
                for what in ("fetching", "training", "pushing")
            ),
            strict=True,
        )
    ]
    assert shares == pytest.approx([1.0] * len(bytes_per_token)) and shares
    # the operating system's counters include the bytes of the fetched rows
    seconds = task_log.MIN_INTERVAL
    sent = seconds * 1e6 * sum(value for _, value in runs.points("tasks/ps-0", CURVES_SENT))
    assert sent > 0.5 * model.traffic.fetched_bytes


CURVES_SENT = "usage/sent_MB_per_second"
