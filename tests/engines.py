"""What trains a model: compiled kernels, with TensorFlow or without, or the graph."""

PROGRAMS = "gensim_tfw2v.training.programs"


def train_with_tensorflow(monkeypatch):
    """Let short trainings import TensorFlow, as long ones do."""
    monkeypatch.setattr(f"{PROGRAMS}.MOST_PLAIN_WORDS", -1)


def train_by_graph(monkeypatch):
    """Let the graph train, as where there are no kernels."""
    train_with_tensorflow(monkeypatch)
    monkeypatch.setattr(f"{PROGRAMS}.trains_natively", lambda config: False)
