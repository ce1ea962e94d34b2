"""The layout of the projector's bookmark."""

import json

import numpy as np
import pytest
from scipy.spatial import cKDTree

from gensim_tfw2v.monitor import tsne
from gensim_tfw2v.monitor.projector import MIN_WORDS, write_projector
from tests.monitor.test_projector import read, vectors_of


def groups(number, size=24, of=8, seed=3):
    """Vectors around a few middles, and the group of each."""
    draw = np.random.default_rng(seed)
    group = draw.integers(of, size=number)
    middles = draw.normal(size=(of, size))
    return (middles[group] + 0.8 * draw.normal(size=(number, size))).astype(np.float32), group


def purity(layout, group):
    """The share of the five nearest neighbours in the layout that are of the same group."""
    near = cKDTree(layout).query(layout, 6)[1][:, 1:]
    return (group[near] == group[:, None]).mean()


@pytest.mark.parametrize("laid_out", [600, 200])
def test_words_of_a_group_are_together(monkeypatch, laid_out):
    monkeypatch.setattr(tsne, "LAID_OUT", laid_out)  # the others are put beside these
    monkeypatch.setattr(tsne, "CHUNK", 250)
    values, group = groups(600)
    layout = tsne.tsne(values)
    assert layout.shape == (600, 2)
    assert purity(layout, group) > 0.9
    # which two principal components don't show
    centred = values - values.mean(axis=0)
    assert purity(centred @ np.linalg.svd(centred)[2][:2].T, group) < 0.8


def test_forces_of_the_grid_are_those_of_all_pairs():
    place = 4 * np.random.default_rng(3).normal(size=(2, 400))
    way = place[:, :, None] - place[:, None]
    near = 1 / (1 + (way**2).sum(axis=0))
    exact = (near**2 * way).sum(axis=2) / (near.sum() - len(near))
    found = tsne._repulsion(place)
    assert np.corrcoef(exact.ravel(), found.ravel())[0, 1] > 0.99
    assert np.abs(found - exact).mean() < 0.1 * np.abs(exact).mean()


@pytest.mark.parametrize("values", [np.zeros((60, 3)), np.ones((60, 3)), np.arange(60)[:, None]])
def test_any_vectors_can_be_laid_out(values):
    assert np.isfinite(tsne.tsne(values.astype(np.float32))).all()


def test_the_bookmark_is_a_state_of_the_page(tmp_path):
    values, group = groups(300)
    write_projector(vectors_of([f"w{row}" for row in range(300)], values), tmp_path)
    config, *_ = read(tmp_path)
    (state,) = json.loads((tmp_path / config.bookmarks_path).read_text())
    assert state["dataSetDimensions"] == [300, 24]
    assert state["selectedColorOptionName"] == "cluster"
    layout = [[point["linear-x"], point["linear-y"]] for point in state["projections"]]
    assert purity(np.array(layout), group) > 0.9


@pytest.mark.parametrize(("words", "laid_out"), [(MIN_WORDS - 1, True), (200, False)])
def test_no_bookmark(tmp_path, words, laid_out):
    vectors = vectors_of([f"w{row}" for row in range(200)])
    write_projector(vectors, tmp_path)
    assert list((tmp_path / "projector").glob("layout-*.json"))
    write_projector(vectors, tmp_path, words, laid_out)
    assert not list((tmp_path / "projector").glob("layout-*.json"))
    assert not read(tmp_path)[0].bookmarks_path
