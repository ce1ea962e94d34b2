import pytest


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Wait longer for restarting tasks, which import TensorFlow."""
    monkeypatch.setattr("gensim_tfw2v.training.regime_of_workers.READY_SECONDS", 180.0)
