import pytest


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Wait longer for tasks that start anew, which takes as long as an import of TensorFlow."""
    monkeypatch.setattr("gensim_tfw2v.training.training_plan.READY_SECONDS", 180.0)
