"""Resuming from a checkpoint: its messages, and the words counted in its rates."""

import functools
import logging
import re
import time

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli import model_training
from gensim_tfw2v.training import checkpoints

LEE = datapath("lee_background.cor")
OPTIONS = {"corpus_file": LEE, "vector_size": 8, "workers": 1, "epochs": 4, "seed": 3}
WORDS = 59_890


class Watching:
    """Callback that records the bar after each epoch, and interrupts after epoch `last`."""

    def __init__(self, last=None):
        self.left, self.bars = last, []

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_begin(self, model): ...

    def on_epoch_end(self, model):
        bar = model._state.training.bar
        self.bars.append((getattr(bar, "initial", 0), bar.n, bar.total))  # hidden bars have none
        if len(self.bars) == self.left:
            raise KeyboardInterrupt


@pytest.fixture
def interrupted(tmp_path):
    """A folder with the checkpoint of three of four epochs."""
    folder = tmp_path / "checkpoints"
    with pytest.raises(KeyboardInterrupt):
        TFWord2Vec(**OPTIONS, checkpoint_dir=folder, callbacks=[Watching(3)])
    return folder


def test_resumed_training_counts_only_new_words_in_its_rates(interrupted, caplog, capsys):
    watching = Watching()
    with caplog.at_level(logging.INFO):
        model = TFWord2Vec(
            **OPTIONS, checkpoint_dir=interrupted, callbacks=[watching], progress=True
        )
    assert f"resumed from {interrupted}: 3 of 4 epochs are trained" in caplog.text
    total = 4 * WORDS
    assert watching.bars[0] == (3 * WORDS, 3 * WORDS, total)
    assert watching.bars[-1] == (3 * WORDS, total, total)
    (event,) = [event for event in model.lifecycle_events if event["event"] == "train" and
                "took" in event["msg"]]  # fmt: skip
    raw, kept = map(int, re.findall(r"(\d+) raw words \((\d+) eff", event["msg"])[0])
    assert raw == WORDS and 0.5 * WORDS < kept < WORDS
    assert model._state.restored_words == 3 * WORDS and "_state" not in model.__getstate__()
    np.testing.assert_array_equal(model.wv.vectors, TFWord2Vec(**OPTIONS).wv.vectors)


def test_train_command_reports_the_checkpoint_and_resumes(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from gensim_tfw2v.cli.log import RESUMING_LOG
    from gensim_tfw2v.cli.main import app

    folder = tmp_path / "checkpoints"
    command = ["train", LEE, "-o", str(tmp_path / "model"), "--checkpoint-dir", str(folder)]
    command += ["--vector-size", "8", "--workers", "1", "--epochs", "4"]
    stopped = functools.partial(TFWord2Vec, callbacks=[Watching(3)])
    with monkeypatch.context() as patched:
        patched.setattr(model_training, "model_class", lambda *_: stopped)
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 130
    assert result.stderr.endswith(
        f"tfw2v: interrupted; nothing was saved; {folder} has a checkpoint: the same command "
        "resumes from it\n"
    )
    resuming, package = map(logging.getLogger, (RESUMING_LOG, "gensim_tfw2v"))
    before = resuming.level, list(package.handlers)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert f"tfw2v: resumed from {folder}: 3 of 4 epochs" in result.stderr
    assert "resumed    179,670 of 239,560 words had been trained before" in result.stdout
    assert (resuming.level, package.handlers) == before


def test_interrupt_after_merging_leaves_the_merged_vectors(tmp_path, caplog):
    options = OPTIONS | {"regime": "submodels:models=2"}
    merged = TFWord2Vec(**options)
    corpus_file = options.pop("corpus_file")
    model = TFWord2Vec(**options, checkpoint_dir=tmp_path)
    model.build_vocab(corpus_file=corpus_file)
    totals = {"total_words": model.corpus_total_words, "epochs": model.epochs}
    with pytest.raises(KeyboardInterrupt):
        model.train(corpus_file=corpus_file, callbacks=[Watching(1)], **totals)
    np.testing.assert_array_equal(model.wv.vectors, merged.wv.vectors)
    with caplog.at_level(logging.INFO):  # the next run may merge by a different method
        again = TFWord2Vec(**OPTIONS | {"regime": "submodels:models=2,merging=concat"},
                           checkpoint_dir=tmp_path)  # fmt: skip
    assert caplog.text.count("is restored from its checkpoint") == 2
    assert again.wv.vectors.shape == (len(merged.wv), 16)


class Changing(Watching):
    """Callback that changes the vectors in place at the end of each epoch."""

    def on_epoch_end(self, model):
        model.wv.vectors[:] = np.sign(model.wv.vectors)
        super().on_epoch_end(model)


def test_checkpoint_does_not_contain_what_a_callback_changes(tmp_path, monkeypatch):
    save = checkpoints.save_checksummed

    def save_slowly(*arguments):
        time.sleep(0.1)
        return save(*arguments)

    monkeypatch.setattr(checkpoints, "save_checksummed", save_slowly)
    with pytest.raises(KeyboardInterrupt):
        TFWord2Vec(**OPTIONS, checkpoint_dir=tmp_path, callbacks=[Changing(2)])
    contents = [np.load(path / "inputs.npy") for path in tmp_path.glob("checkpoint-*")]
    # the changed vectors are -1, 0 and 1
    assert [np.isin(rows, (-1, 0, 1)).any() for rows in contents] == [False, False]
