"""Sandblaster on real ps and worker processes, with a killed and a stopped worker."""

import os
import signal

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import Sandblaster, TFWord2Vec
from gensim_tfw2v.cluster import local_cluster as local_module
from tests.cluster.test_training import likeness, servers

EPOCHS = 9


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


class Disturbance:
    """Kills a worker in one pass, and stops the other one during a range of passes."""

    def __init__(self, monkeypatch, killed_in, still_in):
        self.killed_in, self.still_in = killed_in, still_in
        self.killed = self.still = None
        start = local_module.LocalCluster.__enter__

        def noted(cluster):
            self.local = start(cluster)
            return self.local

        monkeypatch.setattr(local_module.LocalCluster, "__enter__", noted)

    def pid(self, index):
        return self.local.pid(self.local.cluster.task("worker", index))

    def on_train_begin(self, model): ...
    def on_epoch_end(self, model): ...

    def on_epoch_begin(self, model):
        if model._state.training is None:
            return
        epoch = model._state.training.position.epoch
        if epoch == self.killed_in:
            self.killed = self.pid(0)
            os.kill(self.killed, signal.SIGKILL)
        if epoch == self.still_in.start:
            self.still = self.pid(1)
            os.kill(self.still, signal.SIGSTOP)
        if epoch == self.still_in.stop:
            self.on_train_end(model)

    def on_train_end(self, model):
        os.kill(self.still, signal.SIGCONT)


def trained(**options):
    return TFWord2Vec(
        corpus_file=datapath("lee_background.cor"), vector_size=16, epochs=EPOCHS, sg=1, workers=1,
        seed=3, compute_loss=True, regime=Sandblaster(history=3), **options,
    )  # fmt: skip


@pytest.mark.slow  # items run twice are always tested without a cluster
def test_each_item_counts_once_with_killed_and_hung_workers(monkeypatch, caplog):
    disturbance = Disturbance(monkeypatch, 2, range(5, 7))
    model = trained(cluster="local:ps=1,worker=2", callbacks=[disturbance])
    assert disturbance.killed and disturbance.still
    assert caplog.text.count("ended with signal 9") == 1
    alone = trained()
    # a missing or duplicate item would change the loss
    np.testing.assert_allclose(model.mean_losses, alone.mean_losses, rtol=1e-4)
    assert likeness(model, alone) > 0.999
    traffic = model.traffic
    assert (
        traffic.units - traffic.repeated
        == alone.traffic.units
        == EPOCHS * (alone.traffic.units // EPOCHS)
    )
    assert not servers()


@pytest.mark.slow
def test_lost_ps_restarts_the_search_from_the_checkpoint(monkeypatch, caplog):
    class Killer(Disturbance):
        def on_epoch_begin(self, model):
            if model._state.training is not None and model._state.training.position.epoch == 4:
                if self.killed is None:
                    self.killed = self.local.pid(self.local.cluster.task("ps", 1))
                    os.kill(self.killed, signal.SIGKILL)

        def on_train_end(self, model): ...

    model = trained(cluster="local:ps=2,worker=1", callbacks=[Killer(monkeypatch, None, range(0))])
    assert caplog.text.count("going back to the last checkpoint") >= 1
    losses = model.mean_losses
    assert len(losses) == EPOCHS and losses[4] == pytest.approx(min(losses[:4]), rel=1e-5)
    assert min(losses) < 0.95 * losses[0]
    assert not servers()
