"""Downpour on real ps and worker processes, with killed workers."""

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.options.regimes import Downpour
from tests.cluster.test_faults import Killer
from tests.cluster.test_training import servers

LEE = datapath("lee_background.cor")
EPOCHS = 12


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


@pytest.mark.parametrize(
    ("regime", "alpha"),
    [
        pytest.param(Downpour(2, 4, warm_start=0.3), 0.05, marks=pytest.mark.slow),
        pytest.param(Downpour(2, 2, adagrad=True), 0.1, marks=pytest.mark.slow),
    ],
    ids=["plain", "adagrad"],
)
def test_killed_workers_do_not_lose_units(monkeypatch, caplog, regime, alpha):
    killer = Killer(monkeypatch, ("worker", 0), ("worker", 1))
    model = TFWord2Vec(
        corpus_file=LEE, vector_size=24, epochs=EPOCHS, sg=1, workers=1, alpha=alpha, seed=3,
        cluster="local:ps=2,worker=2", regime=regime, compute_loss=True, callbacks=[killer],
    )  # fmt: skip
    assert len(set(killer.killed)) == 2
    assert caplog.text.count("ended with signal 9") == 2
    assert len(model.mean_losses) == EPOCHS
    assert model.mean_losses[-1] < 0.95 * model.mean_losses[0]
    assert np.isfinite(model.wv.vectors).all()
    traffic = model.traffic
    assert traffic.units - traffic.repeated == EPOCHS * (traffic.units // EPOCHS)
    assert traffic.pushed_bytes > 0 and min(traffic.staleness) < 1
    assert not servers()
