import pytest
from gensim.models import Word2Vec

from gensim_tfw2v.cli.demo import PROBE_WORDS


def test_demo_shows_neighbours_and_saves_the_model(tfw2v, tmp_path):
    shown = tfw2v("demo", "--cluster", "none", "--epochs", 5, "--out", tmp_path / "model").stdout
    assert "words/s" in shown
    assert all(probe in shown for probe in PROBE_WORDS)
    assert "palestinian" in shown  # a neighbour of "israeli" after any sound training
    assert set(PROBE_WORDS) <= set(Word2Vec.load(str(tmp_path / "model")).wv.key_to_index)


def test_missing_folder_is_reported_before_training(tfw2v, tmp_path):
    result = tfw2v("demo", "--out", tmp_path / "missing" / "model", status=2)
    assert "no such folder" in result.stderr


@pytest.mark.usefixtures("shared_forks")
def test_demo_trains_on_a_local_cluster(tfw2v, tmp_path):
    result = tfw2v("demo", "--epochs", 2, "--log-dir", tmp_path / "run")
    assert f"tfw2v tensorboard {tmp_path / 'run'}" in result.stdout
    assert list(tmp_path.glob("run/events*")) and list(tmp_path.glob("run/tasks/worker-1/events*"))
    assert "local:ps=2,worker=2" in result.stdout and "bytes per trained word" in result.stdout
    assert all(probe in result.stdout for probe in PROBE_WORDS)
