"""``deterministic=True``: a seed gives the same bits with any number of threads."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFFastText, TFWord2Vec
from gensim_tfw2v.corpus import shard_files, text_corpus
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.kernel_shape import KernelShape
from gensim_tfw2v.regimes.deterministic import DeterministicRegime
from tests.kernel.native.units import kernels_here

LEE = datapath("lee_background.cor")
OPTIONS = {
    "skip-gram": {"sg": 1},
    "CBOW": {},
    "CBOW with sums": {"cbow_mean": 0, "window": 8},
    "hierarchical softmax": {"sg": 1, "hs": 1, "negative": 0},
    "CBOW with both objectives": {"hs": 1},
    "sharded": {"sg": 1, "ns_exponent": 0.5, "negative": 9, "sample": 0},
}

SCRIPT = """
import os, signal, sys
from gensim.models.callbacks import CallbackAny2Vec
from gensim_tfw2v import TFWord2Vec

class Kill(CallbackAny2Vec):
    def on_epoch_end(self, model):
        if sys.argv[2] == "killed" and len(model.mean_losses) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

model = TFWord2Vec(
    corpus_file=sys.argv[3], epochs=4, seed=5, compute_loss=True, deterministic=True,
    vector_size=30, workers=int(sys.argv[4]), checkpoint_dir=sys.argv[1] + "/checkpoints",
    callbacks=[Kill()],
)
model.save(sys.argv[1] + "/model")
"""


@pytest.fixture
def in_blocks(monkeypatch):
    """Train small corpora in blocks, as large ones."""
    monkeypatch.setattr(sizes, "SMALL_CORPUS", 0)
    monkeypatch.setattr(sizes, "MAX_WORD_STEP", 100.0)
    monkeypatch.setattr(sizes, "MAX_ROUND_WORD_STEP", 1000.0)


def fingerprint(model):
    parts = [getattr(model.wv, "vectors_ngrams", model.wv.vectors), model.wv.vectors]
    parts += [getattr(model, name) for name in ("syn1neg", "syn1") if hasattr(model, name)]
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    return digest, model.running_training_loss, list(model.mean_losses)


def train(cls=TFWord2Vec, corpus=None, **options):
    corpus = {"corpus_file": LEE} if corpus is None else corpus
    given = {"vector_size": 30, "epochs": 2, "seed": 7, "compute_loss": cls is TFWord2Vec}
    return cls(**corpus, **given | {"deterministic": True} | options)


@pytest.mark.parametrize("objective", OPTIONS)
@pytest.mark.usefixtures("in_blocks")
def test_result_does_not_depend_on_workers(objective):
    one, *others = (
        fingerprint(train(workers=workers, **OPTIONS[objective])) for workers in (1, 2, 8)
    )
    assert others == [one] * 2


def test_small_corpora_and_fasttext_do_not_depend_on_workers():
    one = fingerprint(train(workers=1))
    assert fingerprint(train(workers=4)) == one
    ordinary = train(workers=1, deterministic=False)
    assert fingerprint(ordinary) == one
    of_ngrams = [
        fingerprint(train(TFFastText, workers=workers, bucket=1000)) for workers in (1, 2, 8)
    ]
    assert of_ngrams[1:] == of_ngrams[:1] * 2


@pytest.mark.usefixtures("in_blocks")
def test_file_and_its_sentences_give_the_same_result(monkeypatch):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 1 << 16)  # several runs, as for large files
    monkeypatch.setattr(shard_files, "SHARD_ENTRIES", 20_000)
    sentences = list(LineSentence(LEE))
    one = fingerprint(train(workers=2))
    assert fingerprint(train(corpus={"sentences": sentences}, workers=3)) == one


@pytest.mark.usefixtures("in_blocks")
def test_quality_equals_that_of_one_thread():
    ordinary = train(sg=1, epochs=5, workers=1, deterministic=False)
    together = train(sg=1, epochs=5, workers=2)
    assert ordinary.mean_losses[-1] == pytest.approx(together.mean_losses[-1], rel=0.02)
    lengths = [np.linalg.norm(model.wv.vectors, axis=1).mean() for model in (ordinary, together)]
    assert lengths[1] == pytest.approx(lengths[0], rel=0.1)


def test_killed_training_resumes_to_the_same_result(tmp_path):
    def run(name, *arguments, workers):
        (tmp_path / name).mkdir(exist_ok=True)
        command = [sys.executable, "-c", SCRIPT, tmp_path / name, *arguments, LEE, str(workers)]
        return subprocess.run(command, env={**os.environ, "TFW2V_PROGRESS": "0"}).returncode

    assert run("whole", "whole", workers=1) == 0
    assert run("killed", "killed", workers=2) == -9
    assert run("killed", "whole", workers=3) == 0
    models = [TFWord2Vec.load(str(tmp_path / name / "model")) for name in ("whole", "killed")]
    assert fingerprint(models[0]) == fingerprint(models[1])
    assert models[0].deterministic


def test_kernel_is_recorded_and_a_change_is_warned_of(caplog):
    model = train(workers=1)
    assert model.kernel in kernels_here()
    assert not hasattr(model.to_gensim(), "kernel")
    model.kernel = "another"
    with caplog.at_level("WARNING"):
        model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=1)
    assert "was trained by the kernel for another" in caplog.text
    assert train(workers=1, deterministic=False).kernel is None


@pytest.mark.parametrize(
    "options", [{"regime": "downpour"}, {"layout": "columns", "cluster": "local:ps=1,worker=1"}]
)
def test_regime_and_layout_are_rejected_with_deterministic(options):
    with pytest.raises(ValueError, match="leave out regime and layout, or deterministic"):
        TFWord2Vec(deterministic=True, **options)


def test_frequent_words_shorten_the_rounds():
    blocks = KernelShape(32, 5, 32)
    assert sizes.choose_round_blocks(blocks, True, 0.006, 0.9) == 8
    assert sizes.choose_round_blocks(blocks, True, 0.02, 0.9) == 4
    assert sizes.choose_round_blocks(blocks, False, 0.006, 0.9) == 4
    assert sizes.choose_round_blocks(blocks, True, 0.5, 0.9) == 1
    assert sizes.choose_round_blocks(blocks, True, 0.0, 0.9) == 8
    assert sizes.choose_round_blocks(replace(blocks, sequential=True), True, 0.006, 0.9) == 1


def test_error_in_the_draws_stops_training(monkeypatch):
    def fail(regime, task, _):
        raise OSError("the disk is gone")

    monkeypatch.setattr(DeterministicRegime, "_draw", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        train(workers=2)
