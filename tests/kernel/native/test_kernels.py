"""Each kernel computes the same as slow loops do from the same draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.native.units import OBJECTIVES, kernels_here, make_case, padded, trained_by

#: Maximum error of an element, relative to the largest sum of abs(update) in its table: first for
#: the kernels named here, then for the remaining kernels.
TOLERANCE, EXACT = {"avx512bf16": 1e-2}, 2e-5
#: Additional error, relative to the table's largest element, because thousands of small updates
#: are added.
ROUNDING = 5e-5


def check(case, first=0, last=None, loss_every=1):
    """Compare all kernels with the loops; return the loops' largest sum of abs(update)."""
    last = len(case.unit.inputs) if last is None else last
    expected = case.reference()
    expected.train(first, last, loss_every)
    for kernel in kernels_here():
        tolerance = TOLERANCE.get(kernel, EXACT)
        tables = case.trained()
        with trained_by(kernel):
            result = tables.train(case.options, case.unit, case.alphas, first, last, loss_every)
        size = case.tables[0].shape[1]
        for found, table, way in zip(
            padded(tables), expected.tables, expected.travelled, strict=True
        ):
            most = tolerance * way.max() + ROUNDING * np.abs(table).max()
            np.testing.assert_allclose(found[:, :size], table, rtol=0, atol=most, err_msg=kernel)
            assert not found[:, size:].any(), kernel
        assert result.predictions == expected.predictions, kernel
        assert result.loss == pytest.approx(expected.loss, rel=max(tolerance, 1e-4), abs=1e-6), (
            kernel
        )
        has_diverged = expected.loss > 20 * expected.predictions
        assert np.isfinite(result.magnitude) or has_diverged, kernel
    return max(way.max() for way in expected.travelled)


@pytest.mark.parametrize("size", [1, 7, 100, 300, 1000])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_kernels_equal_loops_for_any_vector_size(objective, size):
    assert check(make_case(size=size, **OBJECTIVES[objective])) > 1e-3


@pytest.mark.parametrize(
    "changes",
    [
        {"window": 1},
        {"window": 50, "sentence": 60},
        {"window": 50, "sentence": 60, "block": 1},
        {"window": 50, "sentence": 60, "block": 32, "shared": 32, "tokens": 70},
        {"block": 1},
        {"block": 32},
        {"block": 32, "shared": 32, "negative": 20},
        {"block": 32, "shared": 64, "negative": 33},
        {"shared": 1, "negative": 1},
        {"shared": 1, "negative": 5},
        {"shared": 33, "negative": 20},
        {"skip_targets": 1},
        {"shards": 3},
        {"shards": 3, "skip_targets": 1, "shared": 32, "block": 32},
        {"shards": 5},
        {"locked": True},
        {"vocabulary": 60},
        {"vocabulary": 2},
        {"vocabulary": 2, "skip_targets": 1},
        {"vocabulary": 1, "skip_targets": 1},
        {"tokens": 0},
        {"tokens": 1},
        {"tokens": 2},
        {"sentence": 1},
        {"sentence": 2},
        {"tokens": 33, "block": 32},
        {"repeats": 1},
        {"repeats": 2, "block": 32, "shared": 32, "vocabulary": 9, "locked": True},
        {"repeats": 1, "block": 7, "vocabulary": 1, "shards": 1, "skip_targets": 1},
        {"repeats": 1, "block": 32, "ngrams": 5},
        {"group": 1},
        {"group": 3, "window": 20, "shared": 33},
        {"ngrams": 5},
        {"ngrams": 5, "locked": True},
        {"ngrams": 5, "weights": True},
        {"ngrams": 5, "weights": True, "locked": True},
        {"ngrams": 40, "vocabulary": 3},
        {"ngrams": 5, "vocabulary": 60, "tokens": 600, "block": 24},
        {"ngrams": 5, "vocabulary": 60, "tokens": 600, "span": 200},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "objective",
    [
        "skip-gram",
        "skip-gram with a tree",
        "skip-gram with both",
        "skip-gram by windows, with both",
        "CBOW with both",
    ],
)
def test_kernels_equal_loops_for_any_option(objective, changes):
    changes = {"size": 40} | OBJECTIVES[objective] | changes
    moved = check(make_case(**changes))
    alone = changes.get("tokens", 60) < 2 or changes.get("sentence") == 1
    assert (moved == 0) if alone else (moved > 1e-3)


@pytest.mark.parametrize("changes", [{}, {"skip_targets": 1, "group": 1}, {"ngrams": 5}], ids=str)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_only_inputs_change_without_learn_hidden(objective, changes):
    case = make_case(size=40, learn_hidden=0, **OBJECTIVES[objective] | changes)
    assert check(case) > 1e-4
    for kernel in kernels_here():
        tables = case.trained()
        with trained_by(kernel):
            tables.train(case.options, case.unit, case.alphas)
        for rows, before in zip(tables.rows[1:], case.tables[1:], strict=True):
            np.testing.assert_array_equal(rows, before)


@settings(max_examples=100)
@given(
    tokens=st.integers(0, 70),
    vocabulary=st.integers(2, 40),
    size=st.integers(1, 70),
    sentence=st.integers(1, 70),
    locked=st.booleans(),
    objective=st.sampled_from([*OBJECTIVES]),
    negative=st.sampled_from([1, 5, 20, 33]),
    options=st.fixed_dictionaries(
        {
            "window": st.sampled_from([1, 2, 5, 13, 50]),
            "block": st.sampled_from([1, 2, 7, 8, 16, 31, 32]),
            "shared": st.integers(3, 66),
            "shards": st.integers(1, 3),
            "skip_targets": st.integers(0, 1),
            "group": st.sampled_from([1, 2, 3, 8, 100]),
            "repeats": st.sampled_from([1, 2, 5, 100]),
            "learn_hidden": st.integers(0, 1),
        }
    ),
    seed=st.integers(0, 100),
    ngrams=st.sampled_from([0, 0, 1, 9]),
)
def test_kernels_equal_loops_for_any_unit(
    tokens, vocabulary, size, sentence, locked, objective, negative, options, seed, ngrams
):
    changes = {"negative": negative} | OBJECTIVES[objective] | options
    check(make_case(tokens, vocabulary, size, locked, sentence, seed, ngrams, **changes))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("loss_every", [0, 2, 3])
def test_loss_is_summed_over_every_loss_every_th_block(objective, loss_every):
    case = make_case(**OBJECTIVES[objective])
    check(case, loss_every=loss_every)
    check(case, first=16, loss_every=loss_every)


# A range of a unit with two objectives trains its blocks first, then its windows.
@pytest.mark.parametrize("kernel", kernels_here())
@pytest.mark.parametrize(
    "objective", [name for name in OBJECTIVES if name != "skip-gram with both"]
)
def test_training_two_ranges_equals_training_the_whole_unit(objective, kernel):
    case = make_case(size=20, **OBJECTIVES[objective])
    whole, parts = case.trained(), case.trained()
    with trained_by(kernel):
        result = whole.train(case.options, case.unit, case.alphas, loss_every=1)
        of_parts = [
            parts.train(case.options, case.unit, case.alphas, *ends, loss_every=1)
            for ends in ((0, 24), (24, 60))
        ]
    assert sum(part.predictions for part in of_parts) == result.predictions
    assert sum(part.loss for part in of_parts) == pytest.approx(result.loss)
    for one, other in zip(padded(whole), padded(parts), strict=True):
        np.testing.assert_array_equal(one, other)


def test_ranges_with_negative_sampling_and_tree_equal_loops():
    case = make_case(**OBJECTIVES["skip-gram with both"])
    check(case, 0, 24)
    check(case, 24, 60)


def test_learning_rate_0_changes_nothing():
    for changes in OBJECTIVES.values():
        case = make_case(**changes)._replace(alphas=np.zeros(2, np.float32))
        assert check(case) == 0


@pytest.mark.parametrize("kernel", kernels_here())
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nonfinite_rows_give_nonfinite_magnitude(objective, kernel, bad):
    case = make_case(tokens=200, **OBJECTIVES[objective])
    case.tables[0][:, 3] = bad
    with trained_by(kernel):
        result = case.trained().train(case.options, case.unit, case.alphas)
    assert not np.isfinite(result.magnitude)


@pytest.mark.parametrize("kernel", kernels_here())
def test_huge_rows_give_nonfinite_magnitude(kernel):
    for changes in OBJECTIVES.values():
        case = make_case(**changes)
        for table in case.tables:
            table *= 1e4
        tables = case.trained()
        with trained_by(kernel):
            result = tables.train(case.options, case.unit, case.alphas, loss_every=1)
        assert np.isfinite([result.loss, result.predictions]).all()
        assert not np.isfinite(result.magnitude)
        assert all(np.isfinite(table).all() for table in padded(tables))


@pytest.mark.parametrize("kernel", kernels_here())
@pytest.mark.parametrize("wide", [2, 6])
def test_block_with_large_scores_is_trained_word_by_word(kernel, wide):
    case = make_case(tokens=8, sentence=8, size=40)
    for table in case.tables[:2]:
        table *= wide
    tables = case.trained()
    with trained_by(kernel):
        result = tables.train(case.options, case.unit, case.alphas, loss_every=1)
    expected = {}
    for windows in (0, 1):
        options = case.options._replace(sequential=windows, group=1)
        expected[windows] = case._replace(options=options).reference()
        expected[windows].train(0, 8, 1)
    is_out_of_range = wide == 6  # mean abs(score) of 12 or more; the limit is 8
    assert result.loss == pytest.approx(expected[is_out_of_range].loss, rel=1e-2)
    assert result.predictions == expected[is_out_of_range].predictions
    for windows, training in expected.items():
        far = np.abs(tables.rows[1] - training.tables[1]).max()
        assert (far < 2e-2 * training.travelled[1].max() + 1e-4) == (windows == is_out_of_range)


def test_portable_kernel_is_usable():
    assert "portable" in kernels_here()
