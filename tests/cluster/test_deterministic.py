"""``deterministic=True`` on clusters: a seed gives the same bits with any tasks."""

import contextlib

import numpy as np
import pytest
from gensim.models.word2vec import LineSentence

from gensim_tfw2v import TFFastText
from gensim_tfw2v.training.session import Training
from tests.cluster.test_faults import Killer
from tests.cluster.test_training import LEE, servers, trained

pytestmark = pytest.mark.usefixtures("shared_forks")


class Ended(Exception):
    """Stands for the end of the user's program."""


def results(model):
    names = ("syn1neg", "syn1")
    return [model.wv.vectors, *(getattr(model, name) for name in names if hasattr(model, name))]


def assert_same(one, other):
    for rows, others in zip(results(one), results(other), strict=True):
        np.testing.assert_array_equal(rows, others)
    assert list(one.mean_losses) == list(other.mean_losses)


@contextlib.contextmanager
def ended_in_the_second_epoch(monkeypatch):
    """End training after a checkpoint in the middle of its second epoch."""
    save = Training.save

    def save_and_end(training):
        save(training)
        if training.position.epoch == 1 and training.position.done:
            raise Ended

    with monkeypatch.context() as patch, pytest.raises(Ended):
        patch.setattr(Training, "save", save_and_end)
        yield


def test_result_does_not_depend_on_tasks_or_kills(tmp_path, monkeypatch):
    """Tables of both objectives, with 1 + 1, 2 + 2 and 1 + 4 tasks, from a file and a list."""
    options = dict(epochs=2, deterministic=True, hs=1, workers=1, checkpoint_minutes=1e-6)
    whole = trained("local:ps=1,worker=1", **options)
    assert len(whole.mean_losses) == 2 and np.isfinite(whole.wv.vectors).all()

    options["checkpoint_dir"] = tmp_path / "checkpoints"
    killer = Killer(monkeypatch, ("worker", 1))
    sentences = list(LineSentence(LEE))
    given = dict(sentences=sentences, corpus_file=None, callbacks=[killer]) | options
    with ended_in_the_second_epoch(monkeypatch):
        trained("local:ps=2,worker=2", **given | {"workers": 2})
    assert len(killer.killed) == 1
    assert_same(whole, trained("local:ps=1,worker=4", **options))
    assert not servers()


def test_fasttext_result_does_not_depend_on_tasks():
    one, other = (
        TFFastText(
            corpus_file=LEE, vector_size=16, epochs=1, seed=3, bucket=1000, workers=1,
            deterministic=True, cluster=cluster,
        )
        for cluster in ("local:ps=1,worker=1", "local:ps=2,worker=2")
    )  # fmt: skip
    np.testing.assert_array_equal(one.wv.vectors_ngrams, other.wv.vectors_ngrams)
    np.testing.assert_array_equal(one.syn1neg, other.syn1neg)
