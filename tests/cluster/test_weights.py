"""Sentences with weights on clusters: the coordinator draws their repetitions and sends them."""

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec, WeightedSentences
from tests.cluster.test_deterministic import assert_same, ended_in_the_second_epoch
from tests.cluster.test_faults import Killer
from tests.cluster.test_training import servers
from tests.training.test_weighted_training import make_pairs

pytestmark = pytest.mark.usefixtures("shared_forks")


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 4096)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 4096)


def trained(cluster, **options):
    options = dict(vector_size=16, window=5, epochs=3, sg=1, workers=1, seed=3, sample=0) | options
    sentences = WeightedSentences(make_pairs(3000))
    return TFWord2Vec(sentences, cluster=cluster, compute_loss=True, **options)


@pytest.mark.parametrize(
    "regime",
    [
        "asynchronous",
        pytest.param("synchronous", marks=pytest.mark.slow),
        pytest.param("downpour", marks=pytest.mark.slow),
        pytest.param("sandblaster", marks=pytest.mark.slow),
    ],
)
def test_workers_train_repeated_sentences(regime):
    expected = sum(len(words) * weight for words, weight in make_pairs(3000))
    local = trained(None)
    on_cluster = trained("local:ps=1,worker=2", regime=regime)
    assert on_cluster.corpus_total_words == local.corpus_total_words == round(expected)
    assert on_cluster.wv.index_to_key == local.wv.index_to_key
    traffic = on_cluster.traffic
    assert traffic.corpus_bytes > 0
    if regime == "sandblaster":
        assert on_cluster.mean_losses[-1] < on_cluster.mean_losses[0]
        return
    assert abs(traffic.tokens - 3 * expected) < 0.03 * expected
    np.testing.assert_allclose(on_cluster.mean_losses[-1], local.mean_losses[-1], rtol=0.1)


@pytest.mark.slow  # walks have the same test, and units of both are drawn by the same calls
def test_deterministic_result_does_not_depend_on_tasks_or_kills(tmp_path, monkeypatch):
    options = dict(deterministic=True, checkpoint_minutes=1e-6)
    whole = trained("local:ps=1,worker=1", **options)
    options["checkpoint_dir"] = tmp_path / "checkpoints"
    killer = Killer(monkeypatch, ("worker", 1))
    with ended_in_the_second_epoch(monkeypatch):
        trained("local:ps=2,worker=2", callbacks=[killer], **options)
    assert len(killer.killed) == 1
    assert_same(whole, trained("local:ps=1,worker=3", **options))
    assert not servers()
