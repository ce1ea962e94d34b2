"""Models that are trained as sub-models, and merged, are whole models."""

import numpy as np
import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.regimes.sub_models import SubModelsRegime

TEXTS = common_texts * 40


@pytest.mark.parametrize("output", [{"negative": 0, "hs": 1}, {"negative": 5, "hs": 1}], ids=str)
def test_merged_output_layers_are_those_of_the_sub_models(output):
    options = {"sg": 1, "vector_size": 4, "min_count": 1, "sample": 0, "alpha": 0.1, "epochs": 3}
    model = TFWord2Vec(**options, **output, workers=1, regime="submodels:models=2")
    model.build_vocab(TEXTS)
    untrained = model.held_out_loss(common_texts)
    model.train(TEXTS, total_examples=len(TEXTS), epochs=model.epochs)
    assert np.any(model.syn1[:-1], axis=1).all()  # a tree of V words has V - 1 inner nodes
    assert not output["negative"] or np.any(model.syn1neg, axis=1).all()
    assert model.held_out_loss(common_texts) < 0.9 * untrained


def test_cluster_may_be_lost_once_per_sub_model(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.training.cluster_losses.MAX_LOSSES", 1)
    train_epoch = SubModelsRegime.train_epoch
    n_remaining = []

    def train_one_and_lose(regime, tasks, report, stop):
        n_remaining.append(len(tasks))
        train_epoch(regime, tasks[:1], report, stop)
        if len(tasks) > 1:
            raise ClusterLost("ps 0 was lost")

    monkeypatch.setattr(SubModelsRegime, "train_epoch", train_one_and_lose)
    options = {"sg": 1, "vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1}
    model = TFWord2Vec(TEXTS, regime="submodels:models=4", **options)
    assert n_remaining == [4, 3, 2, 1]
    assert model.merge_report
