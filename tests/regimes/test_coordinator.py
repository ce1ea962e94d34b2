"""Handling of a coordinator's answers in the user's process."""

import contextlib
import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.ops import library
from gensim_tfw2v.regimes import coordinated_regime, coordinator
from gensim_tfw2v.regimes.coordinated_regime import CoordinatedRegime

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
    messages.send(("alive", 1, None))
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
    clock = SimpleNamespace(monotonic=lambda: 0.05 * next(looks))  # read twice per poll
    monkeypatch.setattr(coordinated_regime, "time", clock)


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
PROGRESSING = LIVING.replace("for _ in", "for step in").replace("None))", "step))", 1)


@pytest.mark.usefixtures("by_looks")
def test_coordinator_without_progress_is_cluster_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinated_regime, "ANSWER_SECONDS", 1.0)
    opened(PROGRESSING.format('messages.send(("done", 1, None))'), tmp_path).close()
    with pytest.raises(ClusterLost, match="has not answered for 1 s"):
        opened(LIVING.format("time.sleep(600)"), tmp_path)


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
