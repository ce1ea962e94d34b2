"""Deterministic training by threads: the result does not depend on the number of threads."""

import contextlib

import numpy as np
import pytest

from gensim_tfw2v.kernel.native import by_ctypes
from tests.kernel.native.units import OBJECTIVES, kernels_here, make_case, padded, trained_by

#: Objectives that are trained in blocks, without hierarchical softmax.
IN_BLOCKS = [
    name
    for name, options in OBJECTIVES.items()
    if not options.get("sequential") and not options.get("hierarchical") and "n-grams" not in name
]

#: Relative error: updates are added in a different order, and avx512bf16 rounds to bfloat16.
TOLERANCE = 1e-5


def train(case, threads, blocks, loss_every=1):
    tables = case.trained()
    with contextlib.closing(by_ctypes.ThreadPool(threads, blocks)) as pool:
        how = {"loss_every": loss_every, "pool": pool}
        result = tables.train(case.options, case.unit, case.alphas, **how)
    return result, [padded.tobytes() for padded in padded(tables)], tables


@pytest.mark.parametrize("kernel", kernels_here())
@pytest.mark.parametrize("objective", IN_BLOCKS)
@pytest.mark.parametrize(
    "changes",
    [
        {"size": 100, "tokens": 600},
        {"size": 7, "tokens": 601, "window": 13, "locked": True},
        {"vocabulary": 3, "tokens": 300, "skip_targets": 1},
        {"tokens": 5},
        {"tokens": 0},
        {"sentence": 1},
    ],
    ids=str,
)
def test_result_does_not_depend_on_the_number_of_threads(objective, changes, kernel):
    case = make_case(**OBJECTIVES[objective] | changes)
    with trained_by(kernel):
        for blocks in (1, 5, 8):
            one = train(case, 1, blocks)
            for threads in (2, 3, 8):
                assert train(case, threads, blocks)[:2] == one[:2]


@pytest.mark.parametrize("objective", IN_BLOCKS)
def test_round_adds_the_updates_of_its_blocks(objective):
    # CBOW trains the groups of a block sequentially, and a row that is both a target and a negative
    # of a group twice. Here a block has one group, and such rows are rare.
    changes = {"size": 20, "tokens": 32, "vocabulary": 5000, "block": 4}
    case = make_case(**OBJECTIVES[objective] | changes)
    before = np.concatenate(padded(case.trained()))
    total = np.zeros_like(before)
    for first in range(0, 32, 4):
        alone = case.trained()
        alone.train(case.options, case.unit, case.alphas, first, first + 4)
        total += np.concatenate(padded(alone)) - before
    *_, found = train(case, 3, 8)
    change = np.concatenate(padded(found)) - before
    np.testing.assert_allclose(change, total, atol=TOLERANCE * np.abs(total).max())


@pytest.mark.parametrize("objective", IN_BLOCKS)
def test_blocks_with_large_scores_are_trained_window_by_window(objective):
    case = make_case(size=20, tokens=200, **OBJECTIVES[objective])
    for table in case.tables:
        table *= 40
    results = [train(case, threads, 8) for threads in (1, 2, 8)]
    assert results[0][0] == results[1][0] == results[2][0]
    assert results[0][1] == results[1][1] == results[2][1]
    assert np.isfinite(results[0][2].rows[0]).all()
    assert results[0][0].predictions > 0


def test_wrong_dtype_is_rejected():
    case = make_case()
    case = case._replace(alphas=case.alphas.astype(float))
    with pytest.raises(TypeError, match="alphas must be an array of float32"):
        train(case, 2, 8)


@pytest.mark.parametrize(
    "changes", [{"hierarchical": 1}, {"sequential": 1}, {"negative": 0}], ids=str
)
def test_pool_rejects_unsupported_options(changes):
    with pytest.raises(ValueError, match="deterministic training by threads needs"):
        train(make_case(**changes), 2, 8)


def test_closing_a_pool_twice_does_nothing():
    pool = by_ctypes.ThreadPool(3, 8)
    pool.close()
    pool.close()
    assert pool.address is None
