"""``tfw2v tensorboard``: its answers, and its exit."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import psutil
import pytest
from gensim.models import KeyedVectors
from tensorboard import program

from gensim_tfw2v.monitor import serving
from gensim_tfw2v.monitor.projector import write_projector
from tests.served import tensorboard


@pytest.fixture
def folder(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], [[1, 2], [3, 4]])
    write_projector(vectors, tmp_path / "run")
    return tmp_path


def alive(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
)
def test_tensorboard_serves_until_a_signal(folder, sent, status):
    with tensorboard(folder) as served:
        assert served.line == f"TensorBoard on {folder}: {served.url} (Ctrl-C ends it)\n"
        assert b"<title>TensorBoard</title>" in served.get("")
        served.wait_for(["run"])
        assert served.json("data/plugins_listing")["projector"]["enabled"]
        process = psutil.Process(served.process.pid)
        family = [process, *process.children(recursive=True)]
        served.process.send_signal(sent)
        began = time.monotonic()
        out, err = served.process.communicate(timeout=300)
        assert (served.process.returncode, out, err) == (status, "", "")
        while any(map(alive, family)):
            assert time.monotonic() - began < 60, [process for process in family if alive(process)]
            time.sleep(0.05)


def test_tensorboard_listens_only_on_loopback(folder):
    with tensorboard(folder) as served:
        process = psutil.Process(served.process.pid)
        family = [process, *process.children(recursive=True)]
        found = [each for process in family for each in process.net_connections("tcp")]
        listening = [each.laddr for each in found if each.status == psutil.CONN_LISTEN]
        assert urllib.parse.urlsplit(served.url).port in {address.port for address in listening}
        assert {address.ip for address in listening} <= {"127.0.0.1", "::1"}


def test_tensorboard_loads_no_tensorflow(folder):
    with tensorboard(folder) as served:
        served.projector("runs")
        maps = psutil.Process(served.process.pid).memory_maps()
        assert not [each.path for each in maps if "libtensorflow" in os.path.basename(each.path)]


def test_concurrent_servers_choose_different_ports(folder):
    command = [sys.executable, "-m", "gensim_tfw2v", "tensorboard", str(folder)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        lines = {process.stdout.readline() for process in processes}
    finally:
        for process in processes:
            process.terminate()
            process.communicate(timeout=300)
    assert len(lines) == 2 and all("http://127.0.0.1:60" in line for line in lines)


@pytest.mark.parametrize(("port", "tries"), [(None, serving.MAX_ATTEMPTS), (6006, 1)])
def test_only_automatically_chosen_ports_are_retried(folder, monkeypatch, port, tries):
    tried = []

    def launch(board):
        tried.append(board)
        sys.exit(1)

    monkeypatch.setattr(program.TensorBoard, "launch", launch)
    with pytest.raises(RuntimeError, match=r"TensorBoard cannot listen on 127\.0\.0\.1"):
        serving.serve(folder, port=port)
    assert len(tried) == tries


@pytest.mark.parametrize(
    ("name", "message"), [("missing", "no such folder"), ("file", "is a file")]
)
def test_bad_folders_are_rejected(tfw2v, folder, name, message):
    (folder / "file").touch()
    result = tfw2v("tensorboard", folder / name, status=2)
    cure = "give the --log-dir of a training run"
    assert result.stderr == f"tfw2v: {folder / name}: {message}; {cure}\n"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_bad_hosts_are_rejected(process, folder, host):
    result = process("tensorboard", folder / "run", "--host", host)
    assert result.returncode == 2
    assert result.stderr.startswith("tfw2v: ") and result.stderr.count("\n") == 1
    assert f"cannot listen on {host}: " in result.stderr


def test_port_in_use_is_reported_with_its_process(process, folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = process("tensorboard", folder, "--port", port)
    assert result.returncode == 2
    (error,) = result.stderr.splitlines()
    assert f"port {port}, it was already in use" in error
    assert f"(process {os.getpid()}, user " in error
