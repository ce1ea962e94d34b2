"""Inference of document vectors from unchanged rows, compared with slow loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists
from tests.kernel.native.models import ALPHAS, Model, some_documents
from tests.kernel.native.units import DOCUMENTS, kernels_here, trained_by


def check(model, documents):
    for kernel in kernels_here():
        with trained_by(kernel):
            starts = model.infer(documents, ALPHAS[:0])
            found = model.infer(documents)
        wanted = [model.expect(*pair) for pair in zip(documents, starts, strict=True)]
        assert (np.abs(starts) <= 0.5 / model.size).all()
        np.testing.assert_allclose(found, np.array(wanted), rtol=2e-4, atol=2e-4, err_msg=kernel)
    return found - starts


@pytest.mark.parametrize("size", [1, 16, 33, 130])
@pytest.mark.parametrize("objective", DOCUMENTS)
def test_vectors_equal_loops_for_any_vector_size(objective, size):
    lengths = [3, 0, 20, 1, 9, 70, 2, 2, 5, 30] * 4  # more documents than are interleaved
    moved = check(Model(objective, size=size), some_documents(lengths, 12))
    assert np.abs(moved).max() > 0.01


@settings(max_examples=30)
@given(
    objective=st.sampled_from([*DOCUMENTS]),
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=50),
    vocabulary=st.integers(3, 30),
    size=st.integers(1, 40),
    changes=st.fixed_dictionaries(
        {"window": st.sampled_from([1, 2, 9]), "corrected": st.integers(0, 1)}
    ),
    seed=st.integers(0, 100),
)
def test_vectors_equal_loops_for_any_documents(objective, lengths, vocabulary, size, changes, seed):
    model = Model(objective, vocabulary, size, seed, **changes)
    check(model, some_documents(lengths, vocabulary, seed))


def test_no_documents_give_no_vectors():
    model = Model("DM")
    for nothing in (Lists(np.zeros(1, np.int32), np.zeros(0, np.int32)), Lists.of([])):
        found = by_ctypes.infer(model.options, model.tables, model.words, nothing, ALPHAS, 1)
        assert found.shape == (0, 7)


def test_initial_vector_depends_only_on_words_and_seed():
    model, documents = Model("DM"), some_documents([5, 9, 5, 40], 12)
    documents += [documents[1], documents[1][::-1]]
    starts = model.infer(documents, ALPHAS[:0])
    for start, document in zip(starts, documents, strict=True):
        np.testing.assert_array_equal(model.infer([document], ALPHAS[:0]), [start])
    assert len(np.unique(starts, axis=0)) == 5
    assert (model.infer(documents, ALPHAS[:0], seed=2) != starts).all(1).all()


@pytest.mark.parametrize("objective", ["DBOW", "DM"])
def test_subsampling_and_windows_differ_between_epochs(objective):
    model, (document,) = Model(objective, keep=0.5), some_documents([60], 12)
    model.words.noise[:] = np.arange(24).reshape(12, 2) % 12
    start = model.infer([document], ALPHAS[:0])
    steps = [model.infer([document], alphas) - start for alphas in np.eye(3, dtype=np.float32) / 9]
    for one, other in zip(steps, steps[1:] + steps[:1], strict=True):
        assert np.abs(one - other).max() > 0.01
    np.testing.assert_array_equal(model.infer([document]), model.infer([document]))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"documents": [[0, 12]]}, "word ids of documents"),
        ({"documents": [[0, -1]]}, "word ids of documents"),
        ({"documents": Lists(np.array([0, 3], np.int32), np.zeros(2, np.int32))}, "word ids"),
        ({"padding": 12}, "padding must be"),
        ({"window": 2}, "one tag"),
        ({"padding": -1}, "padding must be"),
        ({"outputs": 11}, "need a row for each word"),
        ({"nodes": 3}, "rows of the table of nodes"),
        ({"tree": Lists.of([[1]] * 11)}, "needs a path"),
        ({"tree": Lists(np.arange(13, dtype=np.int32), np.zeros(3, np.int32))}, "must ascend"),
        (
            {"tree": Lists(np.arange(13, dtype=np.int32)[::-1].copy(), np.zeros(13, np.int32))},
            "must ascend",
        ),
    ],
    ids=str,
)
def test_invalid_arguments_are_rejected(changes, message):
    model = Model("DM concatenated, with both")
    documents = changes.pop("documents", [[0, 5, 11]])
    if not isinstance(documents, Lists):
        documents = Lists.of([np.array(words) for words in documents])
    tables = [
        model.tables[0],
        *(
            table[: changes.pop(name, None)]
            for name, table in zip(("outputs", "nodes"), model.tables[1:], strict=True)
        ),
    ]
    words = model.words._replace(tree=changes.pop("tree", model.words.tree))
    options = model.options._replace(**changes)
    with pytest.raises(ValueError, match=message):
        by_ctypes.infer(options, tables, words, documents, ALPHAS, 1)


@pytest.mark.parametrize(
    "place, table", [(0, np.zeros((12, 7))), (1, np.zeros((12, 8), "f4")), (2, np.zeros(7, "f4"))]
)
def test_tables_of_wrong_type_or_shape_are_rejected(place, table):
    model = Model("DM with both")
    tables = [*model.tables[:place], table, *model.tables[place + 1 :]]
    with pytest.raises((TypeError, ValueError), match="must be"):
        by_ctypes.infer(model.options, tables, model.words, Lists.of([np.arange(3)]), ALPHAS, 1)


def test_documents_of_wrong_dtype_are_rejected():
    model, documents = Model("DM"), Lists(np.array([0, 3]), np.arange(3, dtype=np.int32))
    with pytest.raises(TypeError, match="offsets must be an array of int32"):
        by_ctypes.infer(model.options, model.tables, model.words, documents, ALPHAS, 1)
