"""What trains a model: compiled kernels, or the graph."""


def train_by_graph(monkeypatch):
    """Let the graph train, as where there are no kernels."""
    monkeypatch.setattr("gensim_tfw2v.kernel.native.by_ctypes.is_available", lambda: False)
    monkeypatch.setattr("gensim_tfw2v.training.training_plan.Plan.native", False)
