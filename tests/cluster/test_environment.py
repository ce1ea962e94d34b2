"""Clusters in an environment that sets a proxy, and other variables."""

import contextlib
import os
import re
import select
import socket
import threading

import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster import readers, server
from gensim_tfw2v.cluster.launcher import ProcessLauncher
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.ops.library import load_ops
from tests.cluster.test_readers import tasks
from tests.forks import SharedLauncher

LEE = datapath("lee_background.cor")

#: Variables from which gRPC reads a proxy.
PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


@pytest.fixture(params=PROXIES)
def asked(request, monkeypatch):
    """Addresses requested from a proxy that this variable names; it makes the connections."""
    addresses = []
    for name in (*PROXIES, "no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv(request.param, "http://{}:{}".format(*listening.getsockname()))

        def serve():
            with contextlib.suppress(OSError):  # the test has ended
                while True:
                    threading.Thread(
                        target=tunnel, args=(listening.accept()[0], addresses), daemon=True
                    ).start()

        threading.Thread(target=serve, daemon=True).start()
        yield addresses


def tunnel(client, addresses):
    """Serve one CONNECT request."""
    with client, contextlib.suppress(OSError):
        host, port = re.match(rb"CONNECT (\S+):(\d+)", client.recv(4096)).groups()
        addresses.append((host.decode(), int(port)))
        with socket.create_connection(addresses[-1]) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                for one in select.select([client, server], [], [])[0]:
                    if not (read := one.recv(1 << 16)):
                        return
                    (client if one is server else server).sendall(read)


@pytest.mark.parametrize("asked", ["http_proxy"], indirect=True)
def test_local_cluster_ignores_proxy_and_tensorflow_variables(asked, monkeypatch):
    def launcher():  # without isolation, the proxy is reachable
        return ProcessLauncher(isolated=False)

    monkeypatch.setattr("gensim_tfw2v.cluster.launcher.ProcessLauncher", launcher)
    monkeypatch.setenv("GRPC_FAIL_FAST", "true")
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")
    options = dict(vector_size=4, workers=1, epochs=1)
    assert len(TFWord2Vec(corpus_file=LEE, cluster="local:ps=1,worker=1", **options).wv)
    assert not asked


@pytest.mark.skipif(load_ops() is None, reason="the compiled kernels are missing")
def test_only_addresses_of_the_cluster_bypass_the_proxy(asked, kept_forks, monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "example.org")
    monkeypatch.setattr(readers, "MIN_BYTES", 1)
    before = set(os.environ.items())
    with (
        contextlib.closing(SharedLauncher(isolated=False)) as launcher,
        tasks(launcher) as (cluster, _),
    ):
        readers.find_readers(cluster, [LEE], tmp_path)
        assert not asked
    assert set(os.environ.items()) ^ before == {("no_grpc_proxy", "example.org,127.0.0.1")}


def test_tasks_use_no_gpu(monkeypatch):
    """TensorFlow refuses workers with different numbers of GPUs, and kernels run on CPUs."""

    class Checked(Exception):
        pass

    def check_port(task):
        raise Checked(os.environ["CUDA_VISIBLE_DEVICES"])

    cluster = Cluster(("127.0.0.1:1",), ("127.0.0.1:2",))
    monkeypatch.setenv("TF_CONFIG", cluster.tf_config("worker", 0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(server, "check_port", check_port)
    for name in "name_process", "prepare_environment", "handle_exit_signals":
        monkeypatch.setattr(server, name, lambda *_: None)
    with pytest.raises(Checked, match="^$"):
        server.serve()
