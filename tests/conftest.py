"""For all tests."""

import functools
import gc
import os
import signal
from pathlib import Path

# Before NumPy is imported: threads that wait for small products take a core from other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import psutil
import pytest

from gensim_tfw2v import _tensorflow
from tests import forks
from tests.engines import train_by_graph

pytest_plugins = ["tests.cpu_seconds"]

# Shells start background jobs with SIGINT ignored, and children inherit that: Ctrl-C could not be
# tested there.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tracing makes objects by the thousand, most of which stay: a search for garbage after each 700, as
# Python has it, takes a quarter of the time.
gc.set_threshold(50_000, 20, 20)

# Where cores are shared, the time of an example says nothing. Examples are the same each time; by
# others faults are looked for: --hypothesis-profile=searching
for profile, is_steady in (("steady", True), ("searching", False)):
    hypothesis.settings.register_profile(
        profile,
        deadline=None,
        derandomize=is_steady,
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.function_scoped_fixture,
        ],
    )
hypothesis.settings.load_profile("steady")


@functools.cache
def load_without_optimizer(load=_tensorflow._load):
    """TensorFlow, whose optimizer of graphs takes as long as tracing them, and gains nothing."""
    tensorflow = load()
    tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    gc.freeze()  # what is imported stays: no search for garbage need look at it
    return tensorflow


_tensorflow._load = load_without_optimizer


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    """What a file's tests start and change ends with them: the next file's would meet it."""
    yield
    gc.collect()
    gc.freeze()  # or each search of later files would look at all that stays
    children = psutil.Process().children(recursive=True)
    started = [child for child in children if child.pid not in forks.shared()]
    _, left = psutil.wait_procs(filter(_is_of_this_package, started), 60)
    assert not left
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture(scope="session")
def kept_forks():
    yield
    forks.close()


@pytest.fixture
def shared_forks(kept_forks, monkeypatch):
    """Let clusters of this machine be forked by a process that stays for other tests."""
    _launch_by(forks.SharedLauncher, monkeypatch)
    return forks.SharedLauncher


@pytest.fixture
def own_forks(kept_forks, monkeypatch):
    """Let each cluster of this machine have a fork server of its own, without an import."""
    _launch_by(forks.OwnLauncher, monkeypatch)


def _launch_by(launcher, monkeypatch):
    for module in ("processes.launcher", "cluster.local_cluster"):
        monkeypatch.setattr(f"gensim_tfw2v.{module}.ProcessLauncher", launcher)


@pytest.fixture
def light_forks(monkeypatch):
    """Let processes that fork others do without TensorFlow, which takes seconds to import.

    That is for tests of how processes start and end, in which none uses it: first in their path is
    another package of its name.
    """
    monkeypatch.syspath_prepend(Path(__file__).parent / "light")


@pytest.fixture
def short_layouts(monkeypatch):
    """Lay words out in few iterations; tests/monitor/test_tsne.py tests all of them."""
    for phase in ("EARLY", "LATE"):
        monkeypatch.setattr(f"gensim_tfw2v.monitor.tsne.{phase}", 2)


@pytest.fixture(params=["kernels", "graph"])
def each_engine(request, monkeypatch):
    """Let compiled kernels train a model, and the graph, as where there are none."""
    if request.param == "graph":
        train_by_graph(monkeypatch)


def _is_of_this_package(process):
    try:
        return process.name().startswith("tfw2v")
    except psutil.NoSuchProcess:
        return False
