"""A unit's record says that the unit is in the rows if, and only if, it is."""

import signal

import numpy as np
import pytest

from gensim_tfw2v.kernel.native import by_ctypes
from tests.kernel.native.units import DOCUMENTS, OBJECTIVES, make_case, padded


@pytest.mark.parametrize("objective", [*OBJECTIVES.values(), *DOCUMENTS.values()], ids=str)
def test_record_of_a_trained_unit_equals_its_result(objective):
    case = make_case(**objective)
    records = by_ctypes.new_records(3)
    result = case.trained().train(
        case.options, case.unit, case.alphas, loss_every=1, record=records[1]
    )
    assert result.trained == 1 and result.loss > 0
    np.testing.assert_array_equal(records, [[0] * 4, result, [0] * 4])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of CPU time")
def test_interrupt_during_the_kernels_call_leaves_a_record_of_the_trained_unit():
    case = make_case(tokens=400_000, size=300, sentence=100_000)
    expected = case.trained()
    expected.train(case.options, case.unit, case.alphas)
    tables = case.trained()
    (record,) = by_ctypes.new_records(1)
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.02)  # while the kernel runs, which takes longer
        with pytest.raises(KeyboardInterrupt):
            tables.train(case.options, case.unit, case.alphas, record=record)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert by_ctypes.Result(*record).trained == 1
    for rows, right in zip(padded(tables), padded(expected), strict=True):
        np.testing.assert_array_equal(rows, right)


def test_record_of_a_refused_unit_stays_zero():
    case = make_case()
    case.unit.targets[-1] = 1 << 20
    (record,) = by_ctypes.new_records(1)
    with pytest.raises(ValueError, match="rows of the table of outputs"):
        case.trained().train(case.options, case.unit, case.alphas, record=record)
    assert not record.any()


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (np.zeros(4, np.float32), TypeError),
        ([0.0] * 4, TypeError),
        (np.zeros(3), ValueError),
        (np.zeros((4, 1)), ValueError),
        (np.zeros(8)[::2], ValueError),
        (np.array([0, 0, 0, 1.0]), ValueError),
        (np.broadcast_to(np.zeros(4), (2, 4))[0], ValueError),  # read-only
    ],
    ids=["float32", "list", "short", "2-D", "strided", "in use", "read-only"],
)
def test_array_that_is_no_record_is_refused_before_rows_change(record, error):
    case = make_case()
    tables = case.trained()
    with pytest.raises(error, match="record must be"):
        tables.train(case.options, case.unit, case.alphas, record=record)
    for rows, right in zip(tables.rows, case.tables, strict=True):
        np.testing.assert_array_equal(rows, right)
