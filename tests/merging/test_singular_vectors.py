import numpy as np
import pytest

from gensim_tfw2v.merging import singular_vectors
from gensim_tfw2v.merging.singular_vectors import gram, right_singular_vectors


def gram_of(rows, step=70):
    rows = rows.astype(np.float32)
    return gram(lambda: (rows[i : i + step] for i in range(0, len(rows), step)), rows.shape[1])


@pytest.fixture(params=[4096, 0], ids=["matrix", "passes"])
def largest(request, monkeypatch):
    monkeypatch.setattr(singular_vectors, "MAX_MATRIX_COLUMNS", request.param)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((500, 60)) * 1.1 ** -np.arange(60.0)


def test_gram_times_vectors_equals_numpy(rows, largest):
    right = np.random.default_rng(1).standard_normal((60, 4))
    found = gram_of(rows) @ right
    np.testing.assert_allclose(found, rows.T @ rows @ right, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("number", [1, 10, 60])
def test_right_singular_vectors_equal_numpys(rows, largest, number):
    found = right_singular_vectors(gram_of(rows), number)
    assert found.shape == (60, number)
    np.testing.assert_allclose(found.T @ found, np.eye(number), atol=1e-8)
    expected = np.linalg.svd(rows, full_matrices=False)[2][:number].T
    cosines = np.linalg.svd(found.T @ expected, compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-3)


@pytest.mark.parametrize("decay", [1.0, 1.01])
def test_flat_spectrum_keeps_nearly_the_optimal_energy(decay, largest):
    """If singular values fall slowly, directions differ, but the norm that they keep does not."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 100)) * decay ** -np.arange(100.0)
    found = right_singular_vectors(gram_of(rows), 20)
    expected = np.linalg.svd(rows, full_matrices=False)[2][:20].T
    kept, most = (np.linalg.norm(rows @ basis) ** 2 for basis in (found, expected))
    assert kept >= 0.97 * most


def test_equal_seeds_give_equal_vectors(rows, monkeypatch):
    monkeypatch.setattr(singular_vectors, "MAX_MATRIX_COLUMNS", 0)
    first, again = (right_singular_vectors(gram_of(rows), 5, seed=2) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_fewer_rows_than_columns_give_orthonormal_vectors(largest):
    rows = np.random.default_rng(0).standard_normal((3, 8))
    found = right_singular_vectors(gram_of(rows), 5)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(rows @ found @ found.T, rows, atol=1e-5)
