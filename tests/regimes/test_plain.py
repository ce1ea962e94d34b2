"""Training on one machine, without TensorFlow."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.kernel.tables import Tables, UnitReport, UnitResult
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.regimes import never
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.training import training_plan
from tests.engines import train_by_graph
from tests.graph.unit_function import unit_function, word_tensors

LEE = datapath("lee_background.cor")
pytestmark = pytest.mark.skipif(load_ops() is None, reason="the compiled kernels are missing")


class ByOps(LocalRegime):
    """Regime that runs the kernels as TensorFlow ops, as workers of a cluster do."""

    def load(self, arrays):
        self._size = arrays.inputs.shape[1]
        filling = (0, 0), (0, stride(self._size) - self._size)
        rows = [getattr(table, "array", table) for table in arrays]  # of a `RowMemory`
        self._variables = Tables(*(tf.Variable(np.pad(array, filling)) for array in rows))
        self._tables = self

    def train_epoch(self, tasks, report, stop=never):
        for task in tasks:
            engine = CompiledEngine(self.options, self._size, self.loss_every)
            result = unit_function(engine)(
                self._variables,
                word_tensors(self._words),
                tf.constant(task.unit.read(), tf.int32),
                tf.constant(task.key),
                tf.constant(task.alphas, tf.float32),
            )
            kept, loss, predictions, _ = UnitResult(*(float(x.numpy()) for x in result))
            report(UnitReport(task.unit, int(kept), loss, predictions, task.alphas[1]))

    @property
    def rows(self):
        return [table.numpy()[:, : self._size] for table in self._variables]


@pytest.mark.parametrize(
    "options",
    [
        {"sg": 1},
        {"sg": 0, "compute_loss": True},
        {"sg": 1, "hs": 1, "negative": 0, "compute_loss": True},
        {"sg": 0, "hs": 1, "negative": 3, "cbow_mean": 0, "corrected_cbow": True},
        {"sg": 1, "window": 30, "shrink_windows": False, "vector_size": 17},
        {"sg": 0, "locked": True, "sample": 0},
    ],
    ids=str,
)
def test_single_thread_gives_the_bits_of_the_tensorflow_ops(options, monkeypatch):
    models = []
    for _ in range(2):
        locked = options.get("locked")
        given = {name: value for name, value in options.items() if name != "locked"}
        model = TFWord2Vec(**{"vector_size": 16, "min_count": 3, "workers": 1, "seed": 3} | given)
        model.build_vocab(corpus_file=LEE)
        if locked:
            model.wv.vectors_lockf = np.linspace(0, 2, len(model.wv), dtype=np.float32)
        words = model.corpus_total_words
        model.train(
            corpus_file=LEE, total_words=words, epochs=2,
            compute_loss=options.get("compute_loss", False),
        )  # fmt: skip
        models.append(model)
        monkeypatch.setattr(training_plan, "LocalRegime", ByOps)
    plain, with_tensorflow = models
    for name in ("syn1neg", "syn1"):
        if hasattr(plain, name):
            np.testing.assert_array_equal(getattr(plain, name), getattr(with_tensorflow, name))
    np.testing.assert_array_equal(plain.wv.vectors, with_tensorflow.wv.vectors)
    np.testing.assert_allclose(plain.mean_losses, with_tensorflow.mean_losses, rtol=1e-6)


def run(config):
    return subprocess.run(
        [sys.executable, "-c", config], capture_output=True, text=True, check=True, timeout=300
    ).stdout


def test_training_imports_no_tensorflow():
    said = run(
        "import sys\n"
        "import gensim_tfw2v\n"
        "print([name for name in ('tensorflow', 'typer', 'rich') if name in sys.modules])\n"
        f"model = gensim_tfw2v.TFWord2Vec(corpus_file={LEE!r}, epochs=1, workers=3)\n"
        f"model.held_out_loss(corpus_file={LEE!r})\n"
        "print([name for name in ('tensorflow', 'typer', 'rich') if name in sys.modules])"
    )
    assert said.split() == ["[]", "[]"]


def test_only_training_by_kernels_is_logged_as_such(monkeypatch, caplog):
    with caplog.at_level(logging.INFO, "gensim_tfw2v"):
        TFWord2Vec(corpus_file=LEE, epochs=1)
        assert "compiled kernels train, in threads of this process" in caplog.text
        caplog.clear()
        train_by_graph(monkeypatch)
        TFWord2Vec(corpus_file=LEE, epochs=1)
        assert "compiled kernels train" not in caplog.text
