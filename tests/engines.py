"""Training without the compiled kernels."""


def train_by_graph(monkeypatch):
    """Train by the TensorFlow fallback, as if there were no kernels."""
    monkeypatch.setattr("gensim_tfw2v.kernel.native.by_ctypes.is_available", lambda: False)
    monkeypatch.setattr("gensim_tfw2v.engines.ENGINES", ("tensorflow:TensorFlowEngine",))
