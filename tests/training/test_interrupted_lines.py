"""Ctrl-C between any two lines of an epoch: the model keeps its vectors, and can be trained."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from gensim.models.callbacks import CallbackAny2Vec
from gensim.test.utils import common_texts

import gensim_tfw2v
from gensim_tfw2v import TFWord2Vec

PACKAGE = str(Path(gensim_tfw2v.__file__).parent) + os.sep


class InterruptedEpoch(CallbackAny2Vec):
    """Raise KeyboardInterrupt in the second epoch, before a line that is not yet in `seen`."""

    def __init__(self, seen):
        self.seen = seen
        self.line = None
        self.epochs = 0

    def on_epoch_end(self, model):
        self.epochs += 1
        sys.settrace(self.of_call if self.epochs == 1 else None)

    def of_call(self, frame, event, argument):
        return self.of_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def of_line(self, frame, event, argument):
        line = frame.f_code.co_filename, frame.f_lineno
        is_deferred = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        if event == "line" and line not in self.seen and not is_deferred:
            self.seen.add(line)
            self.line = line
            raise KeyboardInterrupt
        return self.of_line


def train(model, callbacks=()):
    try:
        model.train(common_texts, total_examples=9, epochs=2, callbacks=callbacks)
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("with_checkpoints", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_interrupt_before_any_line_keeps_the_vectors(with_checkpoints, tmp_path):
    seen = set()
    while True:
        folder = tmp_path / str(len(seen)) if with_checkpoints else None
        model = TFWord2Vec(vector_size=4, min_count=1, workers=1, seed=1, checkpoint_dir=folder)
        model.build_vocab(common_texts)
        initial = model.wv.vectors.copy()
        interrupted = InterruptedEpoch(seen)
        try:
            train(model, [interrupted])
        except KeyboardInterrupt:
            pass
        else:
            assert interrupted.line is None  # otherwise the interrupt was lost
            break
        assert (model.wv.vectors != initial).any() and np.isfinite(model.wv.vectors).all()
        train(model)
    assert len(seen) > 50
