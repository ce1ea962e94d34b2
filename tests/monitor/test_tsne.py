"""The layout of the projector's bookmark."""

import json

import numpy as np
import pytest
from scipy.spatial import cKDTree

from gensim_tfw2v.monitor import tsne
from gensim_tfw2v.monitor.projector import MIN_LAYOUT_ROWS, write_projector
from tests.monitor.test_projector import read, vectors_of


def groups(number, size=24, of=8, seed=3):
    """Return vectors around a few centres, and the group of each."""
    draw = np.random.default_rng(seed)
    group = draw.integers(of, size=number)
    middles = draw.normal(size=(of, size))
    return (middles[group] + 0.8 * draw.normal(size=(number, size))).astype(np.float32), group


def purity(layout, group):
    """Fraction of the five nearest neighbours in the layout that are in the same group."""
    near = cKDTree(layout).query(layout, 6)[1][:, 1:]
    return (group[near] == group[:, None]).mean()


@pytest.mark.parametrize("laid_out", [600, 200])
def test_layout_keeps_groups_together(monkeypatch, laid_out):
    monkeypatch.setattr(tsne, "N_OPTIMIZED", laid_out)  # the rest is placed near these
    monkeypatch.setattr(tsne, "CHUNK_ROWS", 250)
    values, group = groups(600)
    layout = tsne.tsne(values)
    assert layout.shape == (600, 2)
    assert purity(layout, group) > 0.9
    # two principal components do not separate the groups
    centred = values - values.mean(axis=0)
    assert purity(centred @ np.linalg.svd(centred)[2][:2].T, group) < 0.8


def test_grid_repulsion_approximates_all_pairs():
    place = 4 * np.random.default_rng(3).normal(size=(2, 400))
    way = place[:, :, None] - place[:, None]
    near = 1 / (1 + (way**2).sum(axis=0))
    exact = (near**2 * way).sum(axis=2) / (near.sum() - len(near))
    found = tsne._repulsion(place)
    assert np.corrcoef(exact.ravel(), found.ravel())[0, 1] > 0.99
    assert np.abs(found - exact).mean() < 0.1 * np.abs(exact).mean()


@pytest.mark.parametrize(
    "values",
    [np.zeros((60, 3)), np.ones((60, 3)), np.arange(60)[:, None]],
    ids=["zeros", "ones", "line"],
)
def test_degenerate_vectors_give_a_finite_layout(values):
    assert np.isfinite(tsne.tsne(values.astype(np.float32))).all()


def test_bookmark_holds_a_state_of_the_page(tmp_path):
    values, group = groups(300)
    write_projector(vectors_of([f"w{row}" for row in range(300)], values), tmp_path)
    config, *_ = read(tmp_path)
    (state,) = json.loads((tmp_path / config.bookmarks_path).read_text())
    assert state["dataSetDimensions"] == [300, 24]
    assert state["selectedColorOptionName"] == "cluster"
    layout = [[point["linear-x"], point["linear-y"]] for point in state["projections"]]
    assert purity(np.array(layout), group) > 0.9


@pytest.mark.parametrize(("words", "laid_out"), [(MIN_LAYOUT_ROWS - 1, True), (200, False)])
def test_few_words_or_laid_out_false_remove_the_bookmark(tmp_path, words, laid_out):
    vectors = vectors_of([f"w{row}" for row in range(200)])
    write_projector(vectors, tmp_path)
    assert list((tmp_path / "projector").glob("layout-*.json"))
    write_projector(vectors, tmp_path, words, laid_out)
    assert not list((tmp_path / "projector").glob("layout-*.json"))
    assert not read(tmp_path)[0].bookmarks_path
