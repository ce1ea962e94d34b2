"""A training run that is interrupted and resumed has the bits of an uninterrupted one."""

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.training.checkpoints import CheckpointError, Checkpoints
from gensim_tfw2v.training.session import Training

SENTENCES = list(LineSentence(datapath("lee_background.cor")))[:120]
DOCUMENTS = [TaggedDocument(words, [place]) for place, words in enumerate(SENTENCES)]
ARRAYS = ("vectors", "vectors_vocab", "vectors_ngrams", "syn1neg", "syn1")
OPTIONS = {"vector_size": 12, "min_count": 2, "epochs": 3, "seed": 5, "workers": 1}
CLASSES = {
    "skip-gram": (TFWord2Vec, SENTENCES, {"sg": 1}),
    "CBOW with both losses": (TFWord2Vec, SENTENCES, {"hs": 1}),
    "FastText": (TFFastText, SENTENCES, {"bucket": 300, "min_n": 2, "max_n": 4}),
    "DM": (TFDoc2Vec, DOCUMENTS, {}),
    "DBOW": (TFDoc2Vec, DOCUMENTS, {"dm": 0, "dbow_words": 1}),
}


class Ended(Exception):
    """Stands for the end of the user's program."""


class EndedAt(CallbackAny2Vec):
    """End the program at the end of an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, model):
        self.epoch -= 1
        if self.epoch == 0:
            raise Ended


def weights(model):
    """Return copies of all trained arrays by the path of their attributes."""
    holders = {"": model, "wv.": model.wv, "dv.": getattr(model, "dv", None)}
    return {
        prefix + name: np.array(vars(holder)[name])
        for prefix, holder in holders.items()
        for name in ARRAYS
        if isinstance(vars(holder or object).get(name), np.ndarray)
    }


def assert_same(model, expected):
    found = weights(model)
    assert found.keys() == expected.keys() and len(found) > 1
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], rows, name)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_killed_and_resumed_at_any_epoch_equals_uninterrupted(name, deterministic, tmp_path):
    kind, corpus, options = CLASSES[name]
    options = OPTIONS | options | {"deterministic": deterministic}
    expected = weights(kind(corpus, **options))
    for epoch in 1, 2, 3:
        options["checkpoint_dir"] = tmp_path / str(epoch)
        with pytest.raises(Ended):
            kind(corpus, **options, callbacks=[EndedAt(epoch)])
        assert_same(kind(corpus, **options), expected)
    assert_same(kind(corpus, **options), expected)  # a finished training run, started again


@pytest.mark.parametrize(
    ("name", "deterministic"), [*((name, False) for name in CLASSES), ("skip-gram", True)]
)
def test_killed_and_resumed_in_an_epoch_equals_uninterrupted(
    name, deterministic, tmp_path, monkeypatch
):
    """Deterministic training is resumed with other numbers of threads."""
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 1024)
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.PAIRED_ENTRIES", 1024)
    kind, corpus, options = CLASSES[name]
    options = OPTIONS | options | {"deterministic": deterministic}
    expected = weights(kind(corpus, **options))
    save = Training.save
    n_units = []

    def save_and_end(training):
        save(training)
        if training.position.done:
            n_units.append(len(training.position.done))
            raise Ended

    options |= {"checkpoint_dir": tmp_path, "checkpoint_minutes": 1e-9}
    with monkeypatch.context() as patch:
        patch.setattr(Training, "save", save_and_end)
        for _ in range(3):
            options["workers"] += deterministic
            with pytest.raises(Ended):
                kind(corpus, **options)
    assert len(n_units) == len(set(n_units)) == 3 and n_units == sorted(n_units)
    assert_same(kind(corpus, **options), expected)


KERNELS = by_ctypes.kernel_names()


def train_with(kernel, folder, callbacks=(), **options):
    """Train in a process in which this kernel is the default.

    Return the weights, None if a callback has ended the program, or the text of an error.
    """
    arguments = pickle.dumps((OPTIONS | options | {"checkpoint_dir": folder}, callbacks))
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "TFW2V_ISA": kernel, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, input=arguments, capture_output=True, env=environment, timeout=300, check=False
    )
    return pickle.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


PROGRAM = """
import pickle, sys
from tests.training.test_exact_resumes import Ended, SENTENCES, TFWord2Vec, weights
options, callbacks = pickle.load(sys.stdin.buffer)
try:
    model = TFWord2Vec(SENTENCES, **options, callbacks=callbacks)
except Ended:
    result = None
else:
    result = weights(model)
sys.stdout.buffer.write(pickle.dumps(result))
"""


@pytest.mark.skipif(len(KERNELS) < 2, reason="only one kernel can run here")
@pytest.mark.parametrize("deterministic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_resumed_training_uses_the_kernel_of_its_checkpoint(deterministic, tmp_path):
    fastest, slowest = KERNELS[0], KERNELS[-1]
    options = {"deterministic": deterministic}
    expected = train_with(slowest, tmp_path / "whole", **options)
    assert train_with(slowest, tmp_path / "ended", [EndedAt(2)], **options) is None
    resumed = train_with(fastest, tmp_path / "ended", **options)
    for name, rows in expected.items():
        np.testing.assert_array_equal(resumed[name], rows)


@pytest.mark.parametrize("deterministic", [False, True])
def test_checkpoint_of_a_kernel_that_is_missing_here(deterministic, tmp_path, monkeypatch, caplog):
    options = OPTIONS | {"checkpoint_dir": tmp_path, "deterministic": deterministic}
    save = Checkpoints.save

    def save_with_kernel(checkpoints, arrays, state, *arguments):
        save(checkpoints, arrays, state | {"kernel": "avx1024"}, *arguments)

    with monkeypatch.context() as patch, pytest.raises(Ended):
        patch.setattr(Checkpoints, "save", save_with_kernel)
        TFWord2Vec(SENTENCES, **options, callbacks=[EndedAt(1)])
    if not deterministic:
        TFWord2Vec(SENTENCES, **options)
        assert "the kernel for avx1024, which this processor cannot use" in caplog.text
        return
    n_files = len(list(tmp_path.iterdir()))
    with pytest.raises(CheckpointError, match="kernel for avx1024, which this processor cannot"):
        TFWord2Vec(SENTENCES, **options)
    assert len(list(tmp_path.iterdir())) == n_files


@pytest.mark.skipif(len(KERNELS) < 2, reason="only one kernel can run here")
def test_cluster_does_not_resume_with_a_different_default_kernel(tmp_path):
    training = Training.__new__(Training)
    training.config = SimpleNamespace(deterministic=True)
    training.plan = SimpleNamespace(shares_rows=False)
    training._kernel = KERNELS[0]
    training._checkpoints = SimpleNamespace(folder=tmp_path)
    with pytest.raises(CheckpointError, match=f"set TFW2V_ISA={KERNELS[-1]} for this program"):
        training._use_kernel(KERNELS[-1])
    training._use_kernel(KERNELS[0])
