import logging

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes, polar

from gensim_tfw2v.merging import SubModel, merge, methods
from tests.merging import reference
from tests.merging.test_merging import assert_rotated, rotated, rotation, similarities, sub_models

V, D = 300, 5


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def truth(rng):
    return rng.standard_normal((V, D)) * np.arange(1, D + 1)


def test_polar_factor_equals_scipys_procrustes_map(rng):
    for _ in range(5):
        rows, target = rng.standard_normal((2, 30, 4))
        expected, _ = orthogonal_procrustes(rows, target)
        np.testing.assert_allclose(polar(rows.T @ target)[0], expected, atol=1e-10)


@pytest.mark.parametrize(("size", "target"), [(3, 5), (5, 3)])
def test_polar_factor_of_different_sizes_is_the_best_map(rng, size, target):
    """The map has orthonormal rows or columns. None of 200 random maps of that kind is nearer."""
    rows, y = rng.standard_normal((30, size)), rng.standard_normal((30, target))
    found = polar(rows.T @ y)[0]
    narrow = found if size > target else found.T
    np.testing.assert_allclose(narrow.T @ narrow, np.eye(min(size, target)), atol=1e-10)
    for _ in range(200):
        other = rotation(rng, max(size, target))[:size, :target]
        assert np.trace(found.T @ rows.T @ y) >= np.trace(other.T @ rows.T @ y)


def test_words_missing_in_some_sub_models_are_rebuilt(rng, truth):
    """A single sub-model that holds the word is enough."""
    models = rotated(rng, truth, 4, missing=0.5)
    merged = merge(sub_models(models), V)
    held = merged.n_holders > 0
    assert (merged.n_holders[held] < 4).any() and (merged.n_holders == 4).any()
    found, wanted = (similarities(rows[held]).ravel() for rows in (merged.inputs, truth))
    assert np.corrcoef(found, wanted)[0, 1] > 0.999
    lengths = np.linalg.norm(merged.inputs, axis=1)
    np.testing.assert_allclose(lengths[held], np.linalg.norm(truth, axis=1)[held], rtol=1e-4)


def test_many_iterations_without_noise_converge_to_the_truth(rng, truth, monkeypatch):
    monkeypatch.setattr(methods, "N_ITERATIONS", 300)
    merged = merge(sub_models(rotated(rng, truth, 4, missing=0.4)), V)
    held = merged.n_holders > 0
    assert_rotated(merged.inputs[held], truth[held], atol=1e-2)


def test_no_word_needs_to_be_in_all_sub_models(rng, truth):
    thirds = [np.arange(V) % 3 != n for n in range(3)]
    models = [(np.flatnonzero(keep), truth[keep] @ rotation(rng, D)) for keep in thirds]
    merged = merge(sub_models(models), V)
    assert set(merged.n_holders) == {2}
    np.testing.assert_allclose(similarities(merged.inputs), similarities(truth), atol=0.05)


def test_orthogonal_maps_keep_products_of_inputs_and_outputs(rng, truth):
    """A mean of the maps of different sub-models would not keep them."""
    outputs, turns = rng.standard_normal((V, D)), [rotation(rng, D) for _ in range(3)]
    models = [SubModel(np.arange(V), truth @ turn, {"outputs": outputs @ turn}) for turn in turns]
    merged = merge(models, V)
    np.testing.assert_allclose(
        merged.inputs @ merged.tables["outputs"].T, truth @ outputs.T, atol=1e-3
    )


def test_outputs_are_the_mean_of_mapped_outputs(rng, truth):
    models = rotated(rng, truth, 3, missing=0.3, noise=0.2)
    outputs = [rng.standard_normal(rows.shape) for _, rows in models]
    sub_models = [
        SubModel(*model, {"outputs": own}) for model, own in zip(models, outputs, strict=True)
    ]
    merged = merge(sub_models, V)
    _, maps = reference.alir(models, V)
    expected, holders = np.zeros((V, D)), np.zeros((V, 1))
    for (words, _), own, turn in zip(models, outputs, maps, strict=True):
        expected[words] += own @ turn
        holders[words] += 1
    np.testing.assert_allclose(
        merged.tables["outputs"], expected / np.maximum(1, holders), atol=1e-3
    )


def test_node_is_the_mean_over_sub_models_that_trained_it(truth):
    everything, nodes = np.arange(V), truth[: V - 1].copy()
    untrained = nodes.copy()
    untrained[7] = 0
    models = [SubModel(everything, truth, {"nodes": own}) for own in (nodes, untrained)]
    merged = merge(models, V)
    np.testing.assert_allclose(merged.tables["nodes"], nodes, atol=1e-4)


def test_vector_lengths_are_the_mean_of_the_sub_models(rng, truth):
    models = [SubModel(np.arange(V), factor * truth @ rotation(rng, D)) for factor in (1, 3)]
    assert_rotated(merge(models, V).inputs, 2 * truth, atol=1e-2)


def test_result_has_the_axes_of_the_first_sub_model(rng, truth):
    merged = merge(sub_models(rotated(rng, truth, 3)), V)
    first = merge(sub_models(rotated(np.random.default_rng(3), truth, 1)), V)
    assert merged.inputs.shape == first.inputs.shape
    models = [SubModel(np.arange(V), truth), SubModel(np.arange(V), truth @ rotation(rng, D))]
    np.testing.assert_allclose(merge(models, V).inputs, truth, atol=1e-3)


def test_sub_models_of_different_sizes_are_merged(rng, truth):
    """For vectors of rank 3, sub-models of sizes 5 and 3 merge to the same vectors."""
    flat = truth @ np.diag([1, 1, 1, 0, 0])
    models = [SubModel(np.arange(V), flat), SubModel(np.arange(V), flat[:, :3] @ rotation(rng, 3))]
    for order in (models, models[::-1]):
        assert_rotated(merge(order, V).inputs, flat, atol=1e-3)
        assert_rotated(merge(order, V, vector_size=3).inputs, flat, atol=1e-3)


@pytest.mark.parametrize("groups", [[0, 1], [0, 0, 1, 1], [0, 1, 1]])
def test_groups_without_a_common_word_raise(groups, truth):
    halves = np.arange(V).reshape(2, -1)
    models = [SubModel(halves[group], truth[halves[group]]) for group in groups]
    with pytest.raises(ValueError, match="have no word in common with .* larger samples"):
        merge(models, V)
    merge(models, V, "concat"), merge(models, V, "pca")


def test_few_common_words_log_a_warning(truth, caplog):
    models = [SubModel(np.arange(160), truth[:160]), SubModel(np.arange(157, V), truth[157:])]
    with caplog.at_level(logging.WARNING, "gensim_tfw2v"):
        merge(models, V)
    assert "sub-model 0 shares only 3 words with the others, fewer than its 5" in caplog.text
    caplog.clear()
    merge([SubModel(np.arange(3), truth[:3])], V)
    assert not caplog.text


def test_many_sub_models_may_be_linked_in_a_chain(truth):
    n_models = 200
    models = [SubModel(np.arange(6) + index % (V - 6), truth[:6]) for index in range(n_models)]
    assert merge(models, V).inputs.shape == truth.shape
