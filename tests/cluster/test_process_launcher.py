"""Start of processes after their fork server is killed."""

import contextlib
import signal
import sys
import time

import psutil
import pytest

from gensim_tfw2v.cluster.launcher import ProcessLauncher
from tests import forks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking is safe only on Linux")


def fork_servers():
    """Return the running fork servers, except those shared with other tests."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has exited meanwhile
            if "gensim_tfw2v.cluster.forkserver" in child.cmdline():
                found.append(child)
    return [child for child in found if child.pid not in forks.shared()]


def wait_for_fork_servers():
    """Wait for fork servers and return them: a process has no command during its exec."""
    deadline = time.monotonic() + 60
    while not (found := fork_servers()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


@pytest.mark.usefixtures("light_forks")
def test_killed_fork_server_is_replaced(caplog):
    process_launcher, started = ProcessLauncher(isolated=False), []
    for _ in range(2):  # killed while it imports, and after it has forked
        (process,) = wait_for_fork_servers()
        process.send_signal(signal.SIGKILL)
        process_launcher._fork_server.process.wait(60)
        forked = process_launcher.start_module("tests.forked", "wait")
        assert forked.poll() is None and psutil.pid_exists(forked.pid)
        started.append(forked)
    process_launcher.close()
    assert [forked.wait(60) for forked in started] == 2 * [-signal.SIGKILL] and not fork_servers()
    assert caplog.text.count("it is started again") == 2


def test_fork_server_with_failing_imports_is_not_restarted(monkeypatch, tmp_path):
    (tmp_path / "grpc.py").write_text("raise ImportError('no grpc here')")
    monkeypatch.syspath_prepend(tmp_path)
    process_launcher = ProcessLauncher(isolated=False)
    (process,) = wait_for_fork_servers()
    for _ in range(2):
        with pytest.raises(ConnectionError, match="no grpc here"):
            process_launcher.start_module("tests.forked", "wait")
    assert not fork_servers() and not psutil.pid_exists(process.pid)
    process_launcher.close()
