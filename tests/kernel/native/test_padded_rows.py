"""Rows are moved apart for the kernels, and together again, in their own memory."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from gensim_tfw2v.kernel.native import by_ctypes, padded_rows
from gensim_tfw2v.kernel.native.padded_rows import LINE, STRIDE, RowMemory, new_rows
from tests.kernel.native.units import make_case


def filled(n_rows, size):
    """Return a memory and its rows, with different numbers; bytes next to the memory are 170."""
    memory = RowMemory(n_rows, size)
    floats = np.asarray(memory)
    floats[:] = np.nan  # what is left of an earlier use
    for outside in around(memory):
        outside[:] = 170
    rows = memory.array
    rows[:] = np.arange(1, rows.size + 1).reshape(rows.shape)
    return memory, rows


def around(memory):
    """Return the bytes before and after the floats of a memory."""
    floats = np.asarray(memory)
    first = floats.ctypes.data - memory._bytes.ctypes.data
    return memory._bytes[:first], memory._bytes[first + floats.nbytes :]


def assert_unchanged(memory, rows):
    """Check the rows, together, and the bytes next to the memory."""
    expected = np.arange(1, rows.size + 1, dtype=np.float32).reshape(rows.shape)
    for array in (rows, memory.array):
        assert array.flags.c_contiguous and array.ctypes.data % LINE == 0
        np.testing.assert_array_equal(array, expected)
    before, after = around(memory)
    assert len(before) + len(after) == LINE and (before == 170).all() and (after == 170).all()


@pytest.mark.parametrize("at_a_time", [1, 100, padded_rows.FLOATS_AT_A_TIME])
def test_moved_rows_keep_their_numbers_and_are_followed_by_zeros(at_a_time, monkeypatch):
    monkeypatch.setattr(padded_rows, "FLOATS_AT_A_TIME", at_a_time)
    for size in range(1, 41):
        for n_rows in range(51):
            memory, rows = filled(n_rows, size)
            expected = rows.copy()
            for _ in range(2):
                memory.move_apart()
                apart = memory.array
                assert apart.strides == (4 * memory.stride, 4) and memory.stride % STRIDE == 0
                np.testing.assert_array_equal(apart, expected)
                padded = np.asarray(memory).reshape(n_rows, memory.stride)
                assert not padded[:, size:].any()
                memory.move_together()
                assert_unchanged(memory, rows)


@pytest.mark.parametrize("size", [100, 111, 128])
def test_many_rows_are_moved_without_a_copy_of_them(size):
    memory, rows = filled(100_000, size)
    tracemalloc.start()
    try:
        memory.move_apart()
        np.testing.assert_array_equal(memory.array[99_999], rows.size - size + 1 + np.arange(size))
        memory.move_together()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < rows.nbytes / 10
    assert_unchanged(memory, rows)


def test_memory_is_found_by_its_whole_writable_array_only():
    rows = new_rows(6, 10)
    memory = RowMemory.of(rows)
    assert memory.shape == (6, 10) and RowMemory.of(rows[:]) is memory
    read_only = rows.view()
    read_only.flags.writeable = False
    memory.move_apart()
    apart = memory.array
    memory.move_together()
    parts = rows[:5], rows[1:], rows[::-1], rows[:, :9], rows.reshape(12, 5), apart
    for other in (*parts, read_only, rows.view(np.int32)):
        assert RowMemory.of(other) is None and RowMemory.find(other) is memory
    for other in (rows.copy(), np.zeros((6, 10), np.float32)):
        assert RowMemory.of(other) is None and RowMemory.find(other) is None
    assert [memory.index(rows[first:]) for first in range(6)] == [*range(6)]


def test_memory_lives_as_long_as_views_of_it():
    rows = new_rows(6, 10)
    memory = weakref.ref(RowMemory.of(rows))
    part = rows[2:4]
    del rows
    gc.collect()
    assert memory() is not None
    gc.disable()  # memory must not wait for the collection of circles
    try:
        del part
        assert memory() is None
    finally:
        gc.enable()


def test_rows_that_are_together_are_not_trained():
    case = make_case()
    tables = [new_rows(*table.shape) for table in case.tables]
    for rows, table in zip(tables, case.tables, strict=True):
        rows[:] = table
    trainer = by_ctypes.KernelTables([RowMemory.of(rows) for rows in tables], case.words())
    with pytest.raises(RuntimeError, match="rows that are together"):
        trainer.train(case.options, case.unit, case.alphas)
    copies = case.trained()
    copies.train(case.options, case.unit, case.alphas)
    for rows, table in zip(tables, case.tables, strict=True):
        np.testing.assert_array_equal(rows, table)
        RowMemory.of(rows).move_apart()
    trainer.train(case.options, case.unit, case.alphas)
    for rows in tables:
        RowMemory.find(rows).move_together()
    for rows, expected in zip(tables, copies.rows, strict=True):
        np.testing.assert_array_equal(rows, expected)


def test_rows_are_moved_together_after_the_unit_in_training():
    memory, rows = filled(100, 10)
    memory.move_apart()
    has_begun, may_end = threading.Event(), threading.Event()

    def train():
        with memory.training():
            has_begun.set()
            may_end.wait()
            np.asarray(memory).reshape(100, STRIDE)[:, :10] *= 2

    trainer = threading.Thread(target=train)
    trainer.start()
    has_begun.wait()
    mover = threading.Thread(target=memory.move_together)
    mover.start()
    mover.join(0.1)
    assert mover.is_alive()
    may_end.set()
    for thread in (trainer, mover):
        thread.join()
    rows /= 2
    assert_unchanged(memory, rows)
