"""The compiled kernels for programs without TensorFlow: they draw and train units on arrays.

Calls release the interpreter's lock. Threads may train units on the same tables concurrently (Niu
et al. 2011, "Hogwild!").
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gensim_tfw2v import compiled_library
from gensim_tfw2v.compiled_library import (
    CLists,
    COptions,
    CTables,
    CUnit,
    Floats,
    Inference,
    Ints,
    NoiseTable,
    Run,
    Table,
)
from gensim_tfw2v.compiled_library import Options as Options
from gensim_tfw2v.compiled_library import Result as Result
from gensim_tfw2v.compiled_library import Unit as Unit
from gensim_tfw2v.kernel.native.padded_rows import FLOAT32, RowMemory
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays

INT32 = "int32"
TABLES = ("inputs", "outputs", "nodes")

#: Maximum number of (tag, token) pairs that are drawn as one piece. Each pair takes some 20 bytes.
MAX_PAIRS = 1 << 19


@functools.cache
def _library() -> Any:
    """Load the compiled library.

    Raises a ValueError if ``TFW2V_ISA`` is not a kernel for this processor.
    """
    functions = compiled_library.load()
    isa = "".join(os.environ.get("TFW2V_ISA", "").lower().split())
    names = functions.tfw2v_usable_isas().decode().split()
    if isa and isa not in names:
        raise ValueError(
            f"TFW2V_ISA={os.environ['TFW2V_ISA']!r} is no kernel for this processor: set it to one "
            f"of {', '.join(names)}, or unset it to use the fastest"
        )
    return functions


def is_available() -> bool:
    """Return whether the compiled library exists and loads on this system.

    Raises a `StaleLibrary` if it was built from other sources, a ValueError as `variant` does.
    """
    try:
        _library()
    except OSError:
        return False
    return True


def variant() -> str:
    """Return the name of the default kernel, an instruction set.

    It is the fastest one of this processor, or the one that the variable ``TFW2V_ISA``
    names, which must be usable: otherwise, this raises a ValueError. `Options.kernel` selects
    another one for a training.
    """
    return str(_library().tfw2v_variant().decode())


def kernel_names() -> list[str]:
    """Return the names of the kernels that this processor can use, fastest first."""
    return str(_library().tfw2v_usable_isas().decode()).split()


def draw(
    options: Options,
    entries: np.ndarray,
    key: np.ndarray,
    words: WordArrays,
    max_pairs: int = MAX_PAIRS,
) -> Unit:
    """Draw a unit from its entries [n], int32, and the key [2], int32, of its random draws.

    If a unit has more than `max_pairs` (tag, token) pairs, they are left out, to save memory. Then
    `KernelTables.train` draws them, at most `max_pairs` at a time. Raises a TypeError for arrays of
    a wrong dtype, a ValueError for invalid options or arrays.
    """
    arrays = CUnit()
    arguments = [
        COptions(*options),
        _noise_table(words),
        _c_array("entries", entries),
        _c_array("key", key),
    ]
    address = ctypes.byref(arrays)
    if wrong := _library().tfw2v_draw(*map(ctypes.byref, arguments), max_pairs, address):
        raise _error("tfw2v_draw", wrong, f"no unit can be drawn with {options}")
    # the next draw of this thread overwrites the original
    unit = Unit(*(_copy(getattr(arrays, name)) for name in Unit._fields))
    return unit._replace(
        reaches=unit.reaches.reshape(-1, 2), negatives=unit.negatives.reshape(-1, options.shared)
    )


def _copy(array: Any) -> np.ndarray:
    copy = np.empty(array.size, INT32)
    ctypes.memmove(copy.ctypes.data, array.data, copy.nbytes)
    return copy


def infer(
    options: Options,
    tables: Sequence[np.ndarray],
    words: WordArrays,
    documents: Lists,
    alphas: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Infer vectors [n, D] of n documents, which are lists of word ids.

    Tables are words [V, D], and outputs and nodes with rows as long as a hidden layer, all float32
    in C order. They are not changed. `alphas` [epochs] are learning rates. A vector depends on the
    seed, and slightly on the documents that are inferred with it. Raises a TypeError for arrays of
    a wrong dtype, a ValueError for a wrong shape.
    """
    size = tables[0].shape[-1]
    hidden = size * max(1, options.concatenated)
    for name, table, width in zip(TABLES, tables, (size, hidden, hidden), strict=True):
        _check(name, table, FLOAT32, width)
    vectors = np.empty((max(0, len(documents.offsets) - 1), size), np.float32)
    structs = (
        COptions(*options),
        _noise_table(words),
        CTables(
            *[Table(table.ctypes.data, len(table)) for table in tables],
            paths=CLists(*map(_c_array, Lists._fields, words.tree)),
            stride=size,
            size=size,
        ),
        Inference(
            CLists(*map(_c_array, Lists._fields, documents)),
            _c_array("alphas", alphas, FLOAT32),
            vectors.ctypes.data,
            seed,
        ),
    )
    if wrong := _library().tfw2v_infer(*map(ctypes.byref, structs)):
        raise _error("tfw2v_infer", wrong, f"no vector can be inferred with {options}")
    return vectors


def new_records(n_units: int) -> np.ndarray:
    """Return memory for the results of units, [n_units, fields of `Result`] float64, all zero.

    `KernelTables.train` writes the result of a unit into its row. The last field, `Result.trained`,
    becomes 1 after all changes of the unit are in the rows of the tables, and before the kernel
    returns. So the field is right even if an exception, as by Ctrl-C, follows the kernel's call.
    """
    return np.zeros((n_units, len(Result._fields)))


class ThreadPool:
    """Threads that train units deterministically.

    In each round, `round_blocks` blocks start from the same rows. Raises a MemoryError if the
    system does not start so many threads.
    """

    def __init__(self, n_threads: int, round_blocks: int) -> None:
        self.round_blocks = round_blocks
        self.address = _library().tfw2v_pool_new(n_threads)
        if not self.address:
            raise MemoryError(
                f"the system has no memory, or no permission, for {n_threads} threads"
            )

    def close(self) -> None:
        """Stop the threads; a second call does nothing."""
        address, self.address = self.address, None
        _library().tfw2v_pool_free(address)


class KernelTables:
    """Inputs, outputs and nodes, each [rows, D] float32, on which units train.

    A table that is a `RowMemory` is trained in place, while its rows are apart. A table that is an
    array is copied. Raises a TypeError for arrays of a wrong dtype, a ValueError for a wrong shape.
    """

    def __init__(self, tables: Sequence[np.ndarray | RowMemory], words: WordArrays) -> None:
        self._words = words  # keeps the arrays alive that the kernel reads
        size = tables[0].shape[-1]
        self._memories: list[RowMemory] = []
        for name, table in zip(TABLES, tables, strict=True):
            array = table.array if isinstance(table, RowMemory) else table
            _check(name, array, FLOAT32, size, any_order=True)
            if isinstance(table, RowMemory):
                memory = table
            else:
                memory = RowMemory(len(array), size, is_apart=True)
                memory.array[:] = array
            self._memories.append(memory)
        self._tables = CTables(
            *[Table(memory.address, memory.shape[0]) for memory in self._memories],
            _c_array("lock", words.lock, FLOAT32),
            _c_array("weights", words.weights, FLOAT32),
            CLists(*map(_c_array, Lists._fields, words.tree)),
            CLists(*map(_c_array, Lists._fields, words.subwords)),
            self._memories[0].stride,
            size,
        )
        self._tables.noise = _noise_table(words)

    @property
    def rows(self) -> list[np.ndarray]:
        """The rows of each table as they are now: apart, or together in C order."""
        return [memory.array for memory in self._memories]

    def train(
        self,
        options: Options,
        unit: Unit,
        alphas: np.ndarray,
        begin: int = 0,
        end: int | None = None,
        loss_every: int = 0,
        threads: int = 1,
        pool: ThreadPool | None = None,
        record: np.ndarray | None = None,
    ) -> Result:
        """Train a unit, or its blocks of positions [begin, end).

        `alphas` [2] are the learning rates at the unit's first position and after its last. The
        loss of every `loss_every`-th block is summed; 0 for no loss. Raises a TypeError or a
        ValueError for arrays that are not a unit of these tables, before any row is changed, and a
        RuntimeError if the rows of arrays that are trained in place are together.

        `threads` is the number of threads that call this method at the same time. With more than
        one, the kernel trains copies of the most frequent nodes of hierarchical softmax, and adds
        their changes to the table from time to time, because the cores would otherwise wait for
        each other's changes.

        A `pool` trains whole units, with a result that does not depend on its number of threads.
        The options must then train in blocks, by negative sampling only, without subwords or (tag,
        token) pairs.

        `record`, a row of `new_records` that is still zero, receives the result, too; see there. It
        stays zero if this method raises an error. One exception: if a unit of PV-DBOW is drawn and
        trained in pieces, and memory runs out during a later piece, the earlier pieces are in the
        rows although the record is zero.
        """
        if record is None:
            (record,) = new_records(1)
        _check_record(record)
        run = Run(
            _c_array("alphas", alphas, FLOAT32),
            begin,
            len(unit.inputs) if end is None else end,
            loss_every,
            threads,
        )
        if pool is not None:
            run.round_blocks = pool.round_blocks
            run.pool = pool.address
        arrays = CUnit()
        widths = {"reaches": 2, "negatives": options.shared}
        for name, value in zip(Unit._fields, unit, strict=True):
            setattr(arrays, name, _c_array(name, value, INT32, widths.get(name)))
        structs = map(ctypes.byref, (COptions(*options), arrays, self._tables, run))
        with contextlib.ExitStack() as in_use:
            for memory in self._memories:
                in_use.enter_context(memory.training())
            wrong = _library().tfw2v_train(*structs, record.ctypes.data)
        if wrong:
            raise _error("tfw2v_train", wrong, f"a unit cannot be trained with {options}")
        return Result(*record.tolist())


def _error(function: str, message: bytes, failure: str) -> MemoryError | ValueError:
    """Return the error to raise for the message that a function of the library has returned."""
    if message == compiled_library.NO_MEMORY:
        return MemoryError(f"no memory could be allocated in {function}")
    return ValueError(f"{failure}: {message.decode()}")


def _check_record(record: np.ndarray) -> None:
    _check("record", record, "float64", None)
    n_fields = len(Result._fields)
    if len(record) != n_fields or not record.flags.writeable or record.any():
        raise ValueError(
            f"record must be a writable row of new_records, {n_fields} zeros, not {record}"
        )


def _noise_table(words: WordArrays) -> Any:
    return NoiseTable(
        _c_array("keep", words.keep, FLOAT32), _c_array("noise", words.noise, INT32, 2)
    )


def _c_array(name: str, array: np.ndarray, dtype: str = INT32, n_columns: int | None = None) -> Any:
    """Return an array as a C struct, if it has this dtype, [n] or [n, n_columns], in C order."""
    _check(name, array, dtype, n_columns)
    struct = Floats if dtype == FLOAT32 else Ints
    return struct(array.ctypes.data, array.size)


def _check(
    name: str, array: np.ndarray, dtype: str, n_columns: int | None, any_order: bool = False
) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise TypeError(
            f"{name} must be an array of {dtype}, not {getattr(array, 'dtype', type(array))}"
        )
    shape = (len(array),) if n_columns is None else (len(array), n_columns)
    if array.shape != shape or not (any_order or array.flags.c_contiguous):
        raise ValueError(
            f"{name} must be in C order, with shape {shape}, not {array.shape} with strides "
            f"{array.strides}"
        )
