"""Requirements of every merging method; the table has one row per method."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.merging import METHODS, SubModel, concatenated_rows, merge, singular_vectors
from tests.merging import reference


class Method(NamedTuple):
    name: str
    reference: object  # function of (sub-models, V, D) that returns merged rows
    rebuilds: bool  # reconstructs words missing in some sub-models
    any_size: bool  # accepts any smaller vector_size


TABLE = [
    Method("alir", lambda models, number, size: reference.alir(models, number)[0], True, True),
    Method("pca", reference.pca, False, True),
    Method("concat", lambda models, number, size: reference.concat(models, number), False, False),
]
methods = pytest.mark.parametrize("method", TABLE, ids=lambda method: method.name)

V, D = 400, 6


def rotation(rng, size):
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def rotated(rng, truth, number, missing=0.0, noise=0.0, of=None):
    """Sub-models (words, rows): rotations of the truth, some words missing in some of them."""
    models = []
    for n in range(number):
        keep = np.ones(len(truth), bool)
        if n < (number if of is None else of):
            keep = rng.random(len(truth)) >= missing
        rows = truth[keep] + noise * rng.standard_normal(truth[keep].shape)
        models.append((np.flatnonzero(keep), rows @ rotation(rng, truth.shape[1])))
    return models


def sub_models(models):
    return [SubModel(words, rows.astype(np.float32)) for words, rows in models]


def similarities(rows):
    rows = reference.unit(np.asarray(rows, float))
    return rows @ rows.T


def assert_rotated(found, expected, atol=1e-4):
    """Assert equality up to a rotation, by all dot products."""
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=atol)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def truth(rng):
    """Vectors of words in clusters, of different lengths."""
    centres = rng.standard_normal((12, D))
    rows = centres[rng.integers(0, 12, V)] + 0.5 * rng.standard_normal((V, D))
    return rows * rng.uniform(0.5, 2, (V, 1))


@pytest.fixture(params=[1 << 26, 500], ids=["one piece", "many pieces"])
def pieces(request, monkeypatch):
    monkeypatch.setattr(concatenated_rows, "PIECE_BYTES", request.param)


def test_table_has_all_methods():
    assert {method.name for method in TABLE} == set(METHODS)


@methods
def test_single_sub_model_is_returned_up_to_a_rotation(method, truth, pieces):
    merged = merge([SubModel(np.arange(V), truth, {"outputs": truth[::-1]})], V, method.name)
    assert_rotated(merged.inputs, truth)
    np.testing.assert_allclose(
        merged.inputs @ merged.tables["outputs"].T, truth @ truth[::-1].T, atol=1e-3
    )
    assert merged.inputs.dtype == merged.tables["outputs"].dtype == np.float32
    if method.name != "pca":  # rotates to the principal axes
        np.testing.assert_allclose(merged.inputs, truth, atol=1e-5)


@methods
def test_rotations_of_one_model_merge_to_that_model(method, rng, truth, pieces):
    outputs = rng.standard_normal((V, D))
    turns = [rotation(rng, D) for _ in range(4)]
    models = [
        SubModel(
            np.arange(V),
            truth @ turn,
            {"outputs": outputs @ turn, "nodes": outputs[1:] @ turn},
        )
        for turn in turns
    ]
    merged = merge(models, V, method.name)
    assert_rotated(merged.inputs, truth)
    for rows, expected in (
        (merged.tables["outputs"], outputs),
        (merged.tables["nodes"], outputs[1:]),
    ):
        np.testing.assert_allclose(merged.inputs @ rows.T, truth @ expected.T, atol=1e-3)


@methods
@pytest.mark.parametrize("missing", [0, 0.3])
def test_result_equals_whole_matrix_reference(method, missing, rng, truth, pieces):
    models = rotated(rng, truth, 3, missing, noise=0.3)
    merged = merge(sub_models(models), V, method.name)
    assert_rotated(merged.inputs, method.reference(models, V, D), atol=1e-3)


@settings(max_examples=40)
@given(data=st.data(), method=st.sampled_from(TABLE))
def test_random_shapes_equal_whole_matrix_reference(data, method):
    number, size = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    words, missing = data.draw(st.integers(60, 120)), data.draw(st.sampled_from([0, 0.2, 0.5]))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    spread = np.arange(1, size + 1)  # so that singular values differ
    truth = rng.standard_normal((words, size)) * spread
    models = rotated(rng, truth, number, missing, noise=0.1)
    merged = merge(sub_models(models), words, method.name)
    assert_rotated(merged.inputs, method.reference(models, words, size), atol=5e-2)
    held = sum(np.isin(np.arange(words), own) for own, _ in models)
    np.testing.assert_array_equal(merged.n_holders, held)
    assert np.isfinite(merged.inputs).all()
    assert not merged.inputs[held == 0].any()


@methods
@pytest.mark.parametrize("missing", [0.25, 0.5])
def test_missing_words_keep_most_of_the_similarity(method, missing, rng, truth):
    """The correlation with the true similarities falls by 10 % at most, if rebuilt by 5 %."""
    noisy = rotated(rng, truth, 5, 0, noise=0.4)
    thinned = [
        (words[keep], rows[keep])
        for (words, rows), keep in zip(
            noisy, [*(rng.random((2, V)) >= missing), *np.ones((3, V), bool)], strict=True
        )
    ]
    pairs = np.triu_indices(V, 1)
    wanted = similarities(truth)[pairs]

    def score(models):
        found = similarities(merge(sub_models(models), V, method.name).inputs)[pairs]
        return np.corrcoef(found, wanted)[0, 1]

    whole = score(noisy)
    assert whole > 0.85
    if method.rebuilds:
        assert score(thinned) >= 0.95 * whole
    assert score(thinned) >= 0.9 * whole


@methods
def test_word_order_and_unused_rows_do_not_matter(method, rng, truth):
    models = rotated(rng, truth, 3, 0.3, noise=0.1)
    expected = merge(sub_models(models), V, method.name).inputs
    shuffled, spread = [], []
    for words, rows in models:
        order = rng.permutation(len(words))
        shuffled.append(SubModel(words[order], rows[order]))
        whole = np.full((V, D), np.nan)  # rows of missing words are not read
        whole[words] = rows
        spread.append(SubModel(words, whole))
    for variant in (shuffled, spread):
        np.testing.assert_allclose(merge(variant, V, method.name).inputs, expected, atol=1e-3)


@methods
def test_memory_mapped_rows_give_the_same_result(method, rng, truth, tmp_path):
    models = sub_models(rotated(rng, truth, 3, 0.2))
    mapped = []
    for n, model in enumerate(models):
        np.save(tmp_path / f"{n}.npy", model.inputs)
        mapped.append(model._replace(inputs=np.load(tmp_path / f"{n}.npy", "r")))
    found = merge(mapped, V, method.name).inputs
    np.testing.assert_array_equal(found, merge(models, V, method.name).inputs)


@methods
def test_vector_size_is_checked_and_applied(method, rng, truth):
    models = sub_models([(np.arange(V), truth @ rng.standard_normal((D, size))) for size in (5, 3)])
    default = {"alir": 5, "pca": 5, "concat": 8}[method.name]
    assert merge(models, V, method.name).inputs.shape == (V, default)
    largest = {"alir": 5, "pca": 8, "concat": 8}[method.name]
    assert merge(models, V, method.name, largest).inputs.shape == (V, largest)
    for wrong in (0, largest + 1):
        with pytest.raises(ValueError, match=f"vector_size is {wrong}: "):
            merge(models, V, method.name, wrong)
    if method.any_size:
        assert merge(models, V, method.name, 2).inputs.shape == (V, 2)
    else:
        with pytest.raises(ValueError, match="vector_size is 2: .* 'pca' or 'alir'"):
            merge(models, V, method.name, 2)


@methods
def test_merging_many_columns_in_passes_gives_the_same_result(method, rng, truth, monkeypatch):
    models = rotated(rng, truth, 4, 0.3, noise=0.2)
    expected = merge(sub_models(models), V, method.name).inputs
    monkeypatch.setattr(singular_vectors, "MAX_MATRIX_COLUMNS", 5)
    found = merge(sub_models(models), V, method.name).inputs
    assert_rotated(found, expected, atol=1e-2)


@methods
def test_outputs_and_nodes_are_merged_only_if_all_have_them(method, truth):
    everything = np.arange(V)
    whole = SubModel(everything, truth, {"outputs": truth, "nodes": truth[1:]})
    bare = SubModel(everything, truth)
    merged = merge([whole, whole], V, method.name)
    assert merged.tables["outputs"].shape == merged.inputs.shape
    assert merged.tables["nodes"].shape == (V - 1, merged.inputs.shape[1])
    merged = merge([whole, bare], V, method.name)
    assert not merged.tables


@methods
def test_zero_rows_stay_zero(method, truth):
    truth[3] = 0
    merged = merge([SubModel(np.arange(V), truth)] * 2, V, method.name)
    assert not merged.inputs[3].any()
    assert np.isfinite(merged.inputs).all()


@methods
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nonfinite_rows_raise(method, value, truth, pieces):
    broken = truth.copy()
    broken[123, 2] = value
    sound = SubModel(np.arange(V), truth, {"outputs": truth})
    for name, bad in (
        ("inputs", sound._replace(inputs=broken)),
        ("outputs", sound._replace(tables={"outputs": broken})),
    ):
        with pytest.raises(ValueError, match=f"sub-model 1 has {name} that are NaN .* row 123"):
            merge([sound, bad], V, method.name)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "no sub-models"),
        ([SubModel(np.arange(0), np.ones((0, 2)))], "sub-model 0: words must be a list"),
        ([SubModel(np.ones(2), np.ones((2, 2)))], "sub-model 0: words must be a list"),
        ([SubModel(np.array([0, 4]), np.ones((2, 2)))], "from 0 to 3"),
        ([SubModel(np.array([-1]), np.ones((1, 2)))], "from 0 to 3"),
        ([SubModel(np.array([1, 1]), np.ones((2, 2)))], "words contains duplicates"),
        (
            [SubModel(np.array([1, 2]), np.ones((3, 2)))],
            "has 3 rows: pass one row for each of its 2",
        ),
        ([SubModel(np.arange(4), np.ones(4))], r"inputs have the shape \(4,\)"),
        (
            [SubModel(np.arange(4), np.ones((4, 2)), {"outputs": np.ones((4, 3))})],
            "outputs have the shape",
        ),
        (
            [
                SubModel(np.arange(4), np.ones((4, 2)), {"nodes": np.ones((3, 2))}),
                SubModel(np.arange(4), np.ones((4, 2)), {"nodes": np.ones((2, 2))}),
            ],
            "sub-model 1: nodes have the shape .* Huffman tree",
        ),
    ],
)
def test_invalid_sub_models_raise(models, message):
    with pytest.raises(ValueError, match=message):
        merge(models, 4, "concat")


def test_unknown_method_raises():
    with pytest.raises(ValueError, match="method is 'mean': use alir, pca or concat"):
        merge([SubModel(np.arange(2), np.ones((2, 2)))], 2, "mean")
