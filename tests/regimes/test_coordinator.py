"""Handling of a coordinator's answers in the user's process."""

import contextlib
import itertools
import os
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from types import SimpleNamespace

import pytest

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.ops import library
from gensim_tfw2v.processes import running_clock
from gensim_tfw2v.regimes import coordinated_regime, coordinator
from gensim_tfw2v.regimes.coordinated_regime import CoordinatedRegime
from gensim_tfw2v.regimes.coordinator_pipe import ProgramEnd

#: Answers the first request like a coordinator with a full disk.
FULL = """
from multiprocessing.connection import Connection
Connection(0, writable=False).recv_bytes()
Connection(1, readable=False).send(("error", 1, OSError(28, "No space left on device")))
"""

#: Sends signs of life for 1.5 s, then runs {}.
LIVING = """
import time
from multiprocessing.connection import Connection
messages = Connection(1, readable=False)
for _ in range(15):
    time.sleep(0.1)
    messages.send(("alive", 1, (0.0, 0.0)))
{}
"""

#: Answers the first request, and then neither reads nor writes.
DEAF = """
import time
from multiprocessing.connection import Connection
requests, messages = Connection(0, writable=False), Connection(1, readable=False)
requests.recv_bytes()
messages.send(("done", 1, None))
time.sleep(600)
"""


def opened(config, folder):
    """Return a regime whose coordinator process runs `config`, a script."""

    def start(module, environment, **streams):
        return subprocess.Popen([sys.executable, "-c", config], stdin=subprocess.PIPE, **streams)

    asked = SimpleNamespace(setup=SimpleNamespace(folder=folder), cluster=None)
    return CoordinatedRegime(asked, lambda: None, start)


@pytest.fixture
def by_looks(monkeypatch):
    """Use a clock that advances 0.1 s per poll for answers; a real poll takes at least as long.

    A machine that hangs for seconds does not count as silence then.
    """
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.1 * next(looks))  # read once per poll
    monkeypatch.setattr(running_clock, "time", clock)


def test_os_error_of_the_coordinator_names_the_folder(tmp_path):
    with pytest.raises(OSError, match="No space left on device") as refused:
        opened(FULL, tmp_path)
    assert refused.value.filename == str(tmp_path)


@pytest.mark.usefixtures("by_looks")
def test_silent_coordinator_is_cluster_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinated_regime, "SILENT_SECONDS", 1.0)
    opened(LIVING.format('messages.send(("done", 1, None))'), tmp_path).close()
    with pytest.raises(ClusterLost, match="has not answered for 1 s"):
        opened(LIVING.format("time.sleep(600)"), tmp_path)


#: Reports progress for 1.5 s, then runs {}.
PROGRESSING = LIVING.replace("for _ in", "for step in").replace("(0.0,", "(step,")


@pytest.mark.usefixtures("by_looks")
def test_coordinator_without_progress_is_cluster_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinated_regime, "REPORT_SECONDS", 1.0)
    opened(PROGRESSING.format('messages.send(("done", 1, None))'), tmp_path).close()
    with pytest.raises(ClusterLost, match="has not answered for 1 s"):
        opened(LIVING.format("time.sleep(600)"), tmp_path)


@pytest.mark.usefixtures("by_looks")
def test_coordinator_may_wait_as_long_as_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinated_regime, "REPORT_SECONDS", 1.0)
    patient = LIVING.replace("0.0))", "2.0))")
    with pytest.raises(ClusterLost, match="has not answered for 3 s"):
        opened(patient.format("time.sleep(600)"), tmp_path)


@pytest.mark.usefixtures("by_looks")
def test_time_in_which_the_program_is_stopped_is_not_silence(tmp_path, monkeypatch):
    clock = running_clock.time.monotonic
    receive = ProgramEnd.receive
    hours = []

    def stop_and_receive(pipe, seconds):
        if len(hours) < 3:
            hours.append(3600.0)
        return receive(pipe, seconds)

    monkeypatch.setattr(ProgramEnd, "receive", stop_and_receive)
    stopping = SimpleNamespace(monotonic=lambda: clock() + sum(hours))
    monkeypatch.setattr(running_clock, "time", stopping)
    opened(LIVING.format('messages.send(("done", 1, None))'), tmp_path).close()
    assert len(hours) == 3


#: Sends many messages, whether they are read or not, and then shows that it has done so.
TALKATIVE = """
import sys
from pathlib import Path
from gensim_tfw2v.regimes.coordinator_pipe import CoordinatorEnd
pipe = CoordinatorEnd()
request = pipe.next_request()
for number in range(3000):
    pipe.send("report", "x" * 1000)
pipe.send("done", 7)
Path(request.method).touch()
pipe.next_request()
"""


def test_coordinator_goes_on_while_the_program_is_stopped(tmp_path):
    sent = tmp_path / "sent"
    process = subprocess.Popen(
        [sys.executable, "-c", TALKATIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    requests = Connection(os.dup(process.stdin.fileno()), readable=False)
    messages = Connection(os.dup(process.stdout.fileno()), writable=False)
    with process, requests, messages:
        requests.send((1, str(sent), ()))
        deadline = time.monotonic() + 120
        while not sent.exists():  # nothing is read yet
            assert time.monotonic() < deadline
            time.sleep(0.1)
        received = [messages.recv() for _ in range(3001)]
        process.kill()
    assert received[:3000] == [("report", 1, "x" * 1000)] * 3000
    assert received[3000] == ("done", 1, 7)


def test_coordinator_that_stops_reading_is_cluster_lost(tmp_path, monkeypatch):
    regime = opened(DEAF, tmp_path)
    monkeypatch.setattr(coordinated_regime, "SILENT_SECONDS", 1.0)
    with contextlib.closing(regime), pytest.raises(ClusterLost, match="not answered for 1 s"):
        regime.train_epoch([bytes(1 << 20)], print)  # exceeds the buffer of a pipe


def test_kernels_that_tensorflow_cannot_load_raise_with_advice(monkeypatch):
    monkeypatch.setattr(library, "load_ops", lambda: None)
    engine = CompiledEngine(None, 10)
    asked = SimpleNamespace(setup=SimpleNamespace(config=SimpleNamespace(engine=engine)))
    with pytest.raises(RuntimeError, match="cannot be loaded into TensorFlow .* Install"):
        coordinator.make_regime(asked, None)
