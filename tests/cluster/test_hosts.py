"""Clusters on several hosts, with links that are measured, slowed down, or cut."""

import json
import time

import numpy as np
import pytest
from gensim.test.utils import datapath

from tests.cluster.hosts import HostCluster, Hosts, why_not

LEE = datapath("lee_background.cor")

#: Trains; before each epoch except the first, waits for a line of input.
TRAIN = """
import dataclasses, json, logging, sys, time
from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v import unit_sizes
from gensim_tfw2v.training import regime_of_workers
told = json.loads(sys.argv[2])
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
if told.get("entries"):
    unit_sizes.UNIT_ENTRIES = unit_sizes.CLUSTER_ENTRIES = told["entries"]
    unit_sizes.MIN_ENTRIES = told["entries"]
regime_of_workers.READY_SECONDS = told.get("ready", 60)

def say(model, **more):
    traffic = (model._state.training or model).traffic
    found = {f.name: getattr(traffic, f.name) for f in dataclasses.fields(traffic)}
    found["seconds"] = found["seconds"].tolist()
    print(json.dumps(more | {"traffic": found}), flush=True)

class Tell:
    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...
    def on_epoch_begin(self, model):
        if model._state.training is not None:
            say(model, epoch=model._state.training.position.epoch)
            if sys.stdin.readline().strip() == "end":
                sys.exit()

began = time.time()
model = TFWord2Vec(
    corpus_file=sys.argv[1], sg=1, cluster="TF_CONFIG", compute_loss=True, callbacks=[Tell()],
    **told["options"],
)
say(model, losses=model.mean_losses, words=len(model.wv), seconds=time.time() - began)
"""

D, TABLES = 100, 2
WORKERS = ["worker0", "worker1"]


@pytest.fixture(scope="module", autouse=True)
def networks():
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def hosts():
    with Hosts("chief", "ps", *WORKERS) as made:
        yield made


@pytest.fixture
def train(hosts, tmp_path):
    """Return a function that starts tasks and a training program on them; print logs at the end."""
    clusters = []

    def start(epochs, **more):
        clusters.append(HostCluster(hosts, ["ps"], WORKERS, tmp_path))
        options = {"vector_size": D, "epochs": epochs, "workers": 1, "seed": 1} | more
        told = {"entries": 4096, "options": options}
        return clusters[-1].train(TRAIN, LEE, json.dumps(told))

    yield start
    for cluster in clusters:
        print(cluster.log())


def travelled(before, after):
    """Return (received, sent) bytes of each host between two snapshots."""
    return {name: np.subtract(after[name], before[name]) for name in after}


def close(found, expected, share):
    return abs(found / expected - 1) < share


@pytest.mark.slow  # counted bytes are always compared with formulas
def test_counted_bytes_equal_the_network_traffic(hosts, train):
    # requests and headers are not counted: beside rows of int8 they are 15 to 20 %
    training, epochs, seen = train(epochs=6, wire="bfloat16"), [], None
    while (found := training.hear(120)).get("words") is None:
        # nothing is sent now: workers wait for jobs, the program for a line
        epochs.append((found["traffic"], {name: hosts.bytes(name) for name in hosts.names}))
        training.say()
    (before, seen_before), (after, seen_after) = epochs[0], epochs[-1]
    counted = {name: after[name] - before[name] for name in before if name.endswith("_bytes")}
    seen = travelled(seen_before, seen_after)
    # at the end of each epoch the program fetches the model, which is not counted as training
    # traffic
    exported = (len(epochs) - 1) * 4 * found["words"] * D * TABLES
    # each byte is counted once, by the host that sends it
    sent = sum(int(sent) for _, sent in seen.values())
    assert close(sent, sum(counted.values()) + exported, 0.15), (seen, counted, exported)
    received_by_ps, sent_by_ps = seen["ps"]
    assert close(sent_by_ps, counted["fetched_bytes"] + exported, 0.10)
    assert close(received_by_ps, counted["pushed_bytes"], 0.10)
    received, _ = sum(seen[name] for name in WORKERS)
    assert close(received, counted["fetched_bytes"] + counted["corpus_bytes"], 0.10)
    assert training.end(30) == (0, None)


@pytest.mark.slow
def test_slow_link_does_not_change_the_loss(hosts, train):
    losses = []
    for limit in (None, "5mbit"):
        if limit:
            hosts.limit("worker1", limit)
        training, seconds = train(epochs=8), []
        while "losses" not in (found := training.hear(180)):
            seconds.append(time.monotonic())
            training.say()
        losses.append(found["losses"])
        assert found["traffic"]["repeated"] == 0
        assert training.end(30) == (0, None)
        for process in hosts.processes:
            process.kill()
            process.wait(10)
    np.testing.assert_allclose(*losses, rtol=0.05)


@pytest.mark.slow
def test_training_continues_while_a_worker_is_disconnected(hosts, train):
    training = train(epochs=100_000)

    def epoch(seconds):
        found = training.hear(seconds)
        training.say()
        return found["epoch"]

    while epoch(120) < 3:
        pass
    time.sleep(0.05)
    hosts.plug("worker1", False)  # while it has a job
    cut = time.monotonic()
    first = epoch(60)
    while epoch(100) < first + 3:
        pass
    stood_still = time.monotonic() - cut
    before, _ = hosts.bytes("worker1")
    hosts.plug("worker1", True)
    plugged = time.monotonic()
    while hosts.bytes("worker1")[0] - before < 10_000_000:
        assert time.monotonic() - plugged < 120, "a reconnected worker must get jobs"
        epoch(100)
    print(f"stood still for {stood_still:.0f} s, back after {time.monotonic() - plugged:.0f} s")
    hosts.plug("worker1", False)
    time.sleep(1)
    while training.hear(100)["epoch"] < first + 10:
        training.say()
    training.say("end")
    status, _ = training.end(60)
    assert status == 0
