"""Regimes whose vectors contain only whole epochs, resumed with different work units."""

import json
import logging

import numpy as np
import pytest
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.training.checkpoints import DESCRIPTION, Checkpoints
from gensim_tfw2v.training.session import Training

SENTENCES = list(LineSentence(datapath("lee_background.cor")))[:100]
N_WORDS = sum(map(len, SENTENCES))
OPTIONS = {"vector_size": 8, "sg": 1, "min_count": 1, "seed": 3, "epochs": 3, "workers": 1}
ENTRIES = "gensim_tfw2v.unit_sizes.MIN_ENTRIES"


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr(ENTRIES, 500)


class Ended(Exception):
    """Stands for the end of the user's program."""


def read_state(folder):
    return json.loads((max(folder.glob("checkpoint-*")) / DESCRIPTION).read_text())["state"]


@pytest.mark.parametrize("n_units", [8, 5])
def test_sandblaster_begins_an_epoch_again(n_units, tmp_path, monkeypatch, caplog):
    """Its step follows from all units, and the gradients of earlier ones are lost."""
    options = OPTIONS | {"regime": "sandblaster", "checkpoint_dir": tmp_path, "compute_loss": True}
    save = Training.save
    count = Training.count
    trained = []

    def save_and_end(training):
        save(training)
        if training.position.epoch == 1 and training.position.done:
            raise Ended

    def count_and_note(training, log, report):
        trained.append((training.position.epoch, *training.corpus.unit_ranges([report.unit])))
        count(training, log, report)

    with monkeypatch.context() as patch, pytest.raises(Ended):
        patch.setattr(Training, "save", save_and_end)
        TFWord2Vec(SENTENCES, **options, checkpoint_minutes=1e-9)
    state = read_state(tmp_path)
    assert state["epoch"] == 1 and state["done"] and state["cut"]["ranges"] == []
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNITS_PER_THREAD", n_units)
    monkeypatch.setattr(Training, "count", count_and_note)
    with caplog.at_level(logging.INFO):
        model = TFWord2Vec(SENTENCES, **options)
    assert "epoch 1 begins again" in caplog.text
    has_changed = read_state(tmp_path)["cut"]["units"] != state["cut"]["units"]
    assert has_changed == (n_units != 8)
    for epoch in 1, 2:
        stops = sorted(entries for number, entries in trained if number == epoch)
        assert stops[0][0] == 0
        assert all(stop == start for (_, stop), (start, _) in zip(stops, stops[1:], strict=False))
    assert [raw_words for _, raw_words, _ in read_state(tmp_path)["finished"]] == [N_WORDS] * 3
    assert model.mean_losses[2] < model.mean_losses[1]  # a step was made after epoch 1


def test_finished_sub_models_are_kept_if_the_cut_has_changed(tmp_path, monkeypatch, caplog):
    options = OPTIONS | {"regime": "submodels:models=2", "checkpoint_dir": tmp_path}
    save = Checkpoints.save
    count = Training.count
    n_saved = []
    n_units = set()

    def save_and_note(checkpoints, arrays, state, is_last=False):
        save(checkpoints, arrays, state, is_last)
        if is_last:
            n_saved.append(1)

    def count_or_end(training, log, report):
        if n_saved:
            raise Ended
        count_and_note(training, log, report)

    def count_and_note(training, log, report):
        n_units.add(len(training.units))
        count(training, log, report)

    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNITS_PER_THREAD", 12)
    with monkeypatch.context() as patch, pytest.raises(Ended):
        patch.setattr(Checkpoints, "save", save_and_note)
        patch.setattr(Training, "count", count_or_end)
        TFWord2Vec(SENTENCES, **options)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNITS_PER_THREAD", 5)
    monkeypatch.setattr(Training, "count", count_and_note)
    with caplog.at_level(logging.INFO):
        model = TFWord2Vec(SENTENCES, **options)
    assert len(n_units) == 2  # the cut has changed
    assert caplog.text.count("is restored from its checkpoint") == 1
    assert model.wv.vectors.any(axis=1).all()


def test_partial_epoch_is_resumed_under_another_regime(tmp_path, monkeypatch):
    """A training run that has begun on shared tables continues with workers that have copies."""
    options = OPTIONS | {"checkpoint_dir": tmp_path, "compute_loss": True}
    save = Training.save

    def save_and_end(training):
        save(training)
        if training.position.epoch == 1 and len(training.position.done) > 3:
            raise Ended

    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 1000)
    monkeypatch.setattr(ENTRIES, 1300)
    with monkeypatch.context() as patch, pytest.raises(Ended):
        patch.setattr(Training, "save", save_and_end)
        TFWord2Vec(SENTENCES, **options, checkpoint_minutes=1e-9)
    n_earlier_units = len(read_state(tmp_path)["done"])
    model = TFWord2Vec(SENTENCES, **options, regime="synchronous")
    units = [n_units for _, _, n_units in read_state(tmp_path)["finished"]]
    assert units[0] != units[1] != units[2] and n_earlier_units < units[1] < sum(units[::2])
    whole = TFWord2Vec(SENTENCES, **OPTIONS, compute_loss=True)
    np.testing.assert_allclose(model.mean_losses, whole.mean_losses, rtol=0.02)
