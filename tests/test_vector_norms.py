"""Norms and cosines equal those of gensim's own methods, bit for bit, whatever the blocks."""

import subprocess
import sys

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gensim_tfw2v import row_blocks, vector_norms
from gensim_tfw2v.keyed import keyed

gensim_fill_norms = vector_norms.fill_norms.__wrapped__
gensim_cosines = vector_norms.cosine_similarities.__wrapped__


@pytest.fixture(params=["f2", "f4", "f8"])
def vectors(request):
    rows = np.random.default_rng(0).normal(size=(1000, 33)).astype(request.param)
    rows[7] = 0
    return keyed([f"w{row}" for row in range(len(rows))], rows)


@pytest.mark.parametrize(("n_rows", "order"), [(1, "C"), (64, "C"), (64, "F"), (10_000, "C")])
def test_norms_equal_gensims(vectors, monkeypatch, n_rows, order):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", n_rows * vectors.vectors[0].nbytes)
    vectors.vectors = np.asarray(vectors.vectors, order=order)
    vectors.fill_norms()
    ours = vectors.norms
    gensim_fill_norms(vectors, force=True)
    np.testing.assert_array_equal(ours, vectors.norms)
    assert ours.dtype == vectors.norms.dtype


def test_known_norms_are_kept_unless_forced(vectors):
    vectors.norms = ones = np.ones(1000)
    vectors.fill_norms()
    assert vectors.norms is ones
    vectors.fill_norms(force=True)
    assert vectors.norms is not ones


def test_vectors_without_words_have_no_norms():
    vectors = KeyedVectors(3)
    vectors.fill_norms()
    assert vectors.norms.shape == (0,)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_distances_equal_gensims(vectors, monkeypatch, dtype):
    query = np.random.default_rng(1).normal(size=33).astype(dtype)
    expected = 1 - gensim_cosines(query, vectors.vectors)
    np.testing.assert_array_equal(vectors.distances(query), expected)
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 64 * vectors.vectors[0].nbytes)
    distances = vectors.distances(query)
    tolerance = 1e-3 if vectors.vectors.itemsize == 2 else 1e-6
    np.testing.assert_allclose(distances, expected, atol=tolerance)
    assert distances.dtype == expected.dtype and np.isnan(distances).tolist().index(True) == 7


def test_lists_of_vectors_have_cosines():
    assert KeyedVectors.cosine_similarities(np.ones(2), [[1, 1], [1, -1]]).tolist() == [
        pytest.approx(1),
        0,
    ]


@pytest.mark.parametrize("module", ["gensim_tfw2v.model", "gensim_tfw2v.keyed"])
def test_importing_models_or_vectors_replaces_gensims_methods(module):
    program = (
        "from gensim.models import KeyedVectors\n"
        f"import {module}\n"
        "import sys\n"
        "vector_norms = sys.modules['gensim_tfw2v.vector_norms']\n"
        "assert KeyedVectors.fill_norms is vector_norms.fill_norms\n"
        "assert KeyedVectors.cosine_similarities is vector_norms.cosine_similarities\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
