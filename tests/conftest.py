"""Settings and fixtures for all tests."""

import functools
import gc
import os
import shutil
import signal
from pathlib import Path

# Must precede the import of NumPy. OpenBLAS threads that wait for small products keep a core busy
# that other tests need.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import psutil
import pytest
import typer.testing

from gensim_tfw2v import _tensorflow, keys
from tests import forks
from tests.engines import train_by_graph

pytest_plugins = ["tests.cpu_seconds"]

# Checkpoints are flushed to disk, for which tests wait longer than for their computations. So files
# of tests are in memory, unless little is free there, as in most containers.
MEMORY_DISK = Path("/dev/shm")
if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > 6 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))

# Shells start background jobs with SIGINT ignored, which children inherit. Ctrl-C could not be
# tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# TensorFlow's tracing creates thousands of objects and keeps most of them. With Python's default, a
# collection per 700 new objects, garbage collection takes a quarter of the time.
gc.set_threshold(50_000, 20, 20)

# No deadline, because on shared cores the duration of an example means nothing. Examples are the
# same in each run; --hypothesis-profile=searching tries new ones.
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


def pytest_addoption(parser):
    parser.addoption(
        "--compact-keys", action="store_true", help="make the vocabularies of all models compact"
    )


def pytest_configure(config):
    if config.getoption("compact_keys", False):
        keys.MIN_WORDS = 1


@functools.cache
def load_without_optimizer(load=_tensorflow._load):
    """Load TensorFlow with its graph optimizer off: it takes as long as tracing, to no benefit."""
    tensorflow = load()
    tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    gc.freeze()  # exclude imported objects, which are kept, from garbage collections
    return tensorflow


_tensorflow._load = load_without_optimizer

# Parsers of the commands are made once. A run that is refused takes a fifth of that time.
typer.testing._get_command = functools.cache(typer.testing._get_command)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    """Check that a file's tests leave no process and no signal handler to the next file's tests."""
    yield
    gc.collect()
    gc.freeze()  # exclude remaining objects from later garbage collections
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
    """Let local clusters be forked by a process that is reused by later tests.

    They share this process's network, so that one fork server suffices for all tests.
    """
    launcher = functools.partial(forks.SharedLauncher, isolated=False)
    _launch_by(launcher, monkeypatch)
    return launcher


@pytest.fixture
def isolated_forks(kept_forks, monkeypatch):
    """Like `shared_forks`, but in networks of their own."""
    _launch_by(forks.SharedLauncher, monkeypatch)


@pytest.fixture
def own_forks(kept_forks, monkeypatch):
    """Let each cluster of this machine have a fork server of its own, without an import."""
    _launch_by(forks.OwnLauncher, monkeypatch)


def _launch_by(launcher, monkeypatch):
    for module in ("cluster.local_cluster", "cluster.launcher"):
        monkeypatch.setattr(f"gensim_tfw2v.{module}.ProcessLauncher", launcher)


@pytest.fixture
def light_forks(monkeypatch):
    """Let fork servers import an empty package in place of TensorFlow, which takes seconds.

    For tests of how processes start and exit, which don't use TensorFlow. The empty package comes
    first in ``sys.path``.
    """
    monkeypatch.syspath_prepend(Path(__file__).parent / "light")


@pytest.fixture(scope="session")
def split_once():
    """Return gensim's `simple_preprocess`, with a cache of the words of each text."""
    from gensim.utils import simple_preprocess

    cached = functools.cache(simple_preprocess)
    return lambda *arguments: list(cached(*arguments))


@pytest.fixture
def short_layouts(monkeypatch):
    """Use few t-SNE iterations; tests/monitor/test_tsne.py runs all of them."""
    for phase in ("N_EARLY_ITERATIONS", "N_LATE_ITERATIONS"):
        monkeypatch.setattr(f"gensim_tfw2v.monitor.tsne.{phase}", 2)


@pytest.fixture
def compact_keys(monkeypatch):
    """Make the vocabularies of all models compact, as ``--compact-keys`` does."""
    monkeypatch.setattr(keys, "MIN_WORDS", 1)


@pytest.fixture(params=["kernels", "graph"])
def each_engine(request, monkeypatch):
    """Run a test with the compiled kernels, and with the TensorFlow fallback."""
    if request.param == "graph":
        train_by_graph(monkeypatch)


def _is_of_this_package(process):
    try:
        return process.name().startswith("tfw2v")
    except psutil.NoSuchProcess:
        return False
