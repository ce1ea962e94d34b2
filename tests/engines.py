"""Engines with the sizes of a test, and training without the compiled kernels."""

import logging
from dataclasses import asdict

from gensim_tfw2v import engines
from gensim_tfw2v.compiled_library import Options
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.engines.tensorflow import TensorFlowEngine
from gensim_tfw2v.graph.step_options import StepOptions
from tests.kernel.native.units import DEFAULTS


def train_by_graph(monkeypatch):
    """Train by the TensorFlow fallback, as if there were no kernels."""
    monkeypatch.setattr("gensim_tfw2v.kernel.native.by_ctypes.is_available", lambda: False)
    monkeypatch.setattr(engines, "ENGINES", engines.ENGINES[-1:])


class LoggingEngine(CompiledEngine):
    """Engine of the compiled kernels that logs the units for which it builds functions."""

    def train(self, unit, handles, words):
        logging.getLogger("gensim_tfw2v").info("a unit of D = %i", self.vector_size)
        return super().train(unit, handles, words)


def kernel_options(objective, shape, **options):
    """Return options of the kernels; `options` replace the defaults."""
    sizes = asdict(objective) | asdict(shape) | {"max_window": shape.window}
    values = DEFAULTS._replace(skip_targets=1, **sizes)._replace(**options)
    return Options._make(map(int, values))


def compiled_engine(objective, shape, size, loss_every=1, **options):
    """Return an engine of the compiled kernels; `options` as for `kernel_options`."""
    return CompiledEngine(kernel_options(objective, shape, **options), size, loss_every)


def step_engine(objective, shape, id_bits, with_loss=True, **options):
    """Return TensorFlow's engine; `options` are those of `StepOptions`."""
    return TensorFlowEngine(StepOptions(objective, shape, id_bits, with_loss=with_loss, **options))
