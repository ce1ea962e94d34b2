"""Sub-models on real tasks, with killed tasks and interrupted programs."""

import logging
import os
import signal
import threading
import time

import numpy as np
import pytest

from gensim_tfw2v import SubModels
from gensim_tfw2v.cluster import local_cluster as local_module
from gensim_tfw2v.processes.threads import interrupt_is_pending
from tests.cluster.test_training import servers, trained

REGIME = SubModels(models=4, rate=0.5, sampling="random")


def train(cluster, **options):
    return trained(cluster, epochs=4, regime=REGIME, **options)


@pytest.fixture(scope="module")
def undisturbed():
    return train(None)


class Watch(logging.Handler):
    """Log handler that calls `act` once `number` sub-models are trained."""

    def __init__(self, number, act):
        super().__init__(logging.INFO)
        self.number, self.act, self.seen = number, act, 0

    def emit(self, record):
        self.seen += record.getMessage().endswith("is trained")
        if self.seen == self.number and self.act:
            act, self.act = self.act, None
            act()


@pytest.fixture
def watch():
    """Return a function that adds a `Watch` to the log of sub-models."""
    logger, watches = logging.getLogger("gensim_tfw2v.training.sub_model_training"), []

    def begin(number, act):
        watches.append(Watch(number, act))
        logger.addHandler(watches[-1])
        logger.setLevel(logging.INFO)

    yield begin
    for one in watches:
        logger.removeHandler(one)
    logger.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("shared_forks")
def test_cluster_gives_the_result_of_threads(undisturbed):
    model = train("local:ps=1,worker=2")
    np.testing.assert_allclose(model.wv.vectors, undisturbed.wv.vectors, atol=1e-4)
    np.testing.assert_allclose(model.syn1neg, undisturbed.syn1neg, atol=1e-4)
    assert model.traffic.pushed_bytes == 0
    assert model.traffic.fetched_bytes == 4 * 2 * model.wv.vectors.nbytes
    assert not servers()


@pytest.mark.slow  # workers that lose sub-models are always tested without a cluster
@pytest.mark.parametrize("role", ["worker", "ps"])
def test_killed_task_does_not_change_the_result(monkeypatch, watch, undisturbed, role):
    locals_ = []
    enter = local_module.LocalCluster.__enter__
    monkeypatch.setattr(
        local_module.LocalCluster, "__enter__", lambda c: (locals_.append(c), enter(c))[1]
    )
    killed = []

    def kill():
        task = locals_[-1].cluster.task(role, 0)
        killed.append(locals_[-1].pid(task))
        threading.Timer(0.05, os.kill, (killed[-1], signal.SIGKILL)).start()

    watch(1, kill)
    model = train("local:ps=1,worker=2")
    assert len(killed) == 1
    np.testing.assert_allclose(model.wv.vectors, undisturbed.wv.vectors, atol=1e-4)
    assert not servers()


def test_interrupted_training_resumes(tmp_path, watch, undisturbed, caplog):
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)  # to the main thread, as Ctrl-C
        deadline = time.monotonic() + 60
        while not interrupt_is_pending():  # blocks training until the signal arrives
            assert time.monotonic() < deadline
            time.sleep(0.01)

    watch(2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(None, checkpoint_dir=tmp_path)
    kept = sorted(path.name for path in tmp_path.glob("sub-model-*"))
    assert 2 <= len(kept) < 5
    with caplog.at_level(logging.INFO, "gensim_tfw2v.training.sub_model_training"):
        model = train(None, checkpoint_dir=tmp_path)
    assert 2 <= caplog.text.count("is restored from its checkpoint") < 4
    np.testing.assert_allclose(model.wv.vectors, undisturbed.wv.vectors, atol=1e-5)
