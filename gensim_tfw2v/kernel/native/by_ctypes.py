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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gensim_tfw2v.kernel.native.padded_rows import FLOAT32, RowMemory
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays

if TYPE_CHECKING:
    from gensim_tfw2v.kernel.kernel_config import KernelConfig

INT32 = "int32"
TABLES = ("inputs", "outputs", "nodes")

#: The library for programs without TensorFlow.
KERNELS = Path(__file__).with_name("kernels.so")


class Options(NamedTuple):
    """Options of the kernels: the fields of Tfw2vOptions in ``src/unit.h``, in its order."""

    skipgram: int
    negative: int
    hierarchical: int
    mean: int
    corrected: int
    skip_targets: int
    shards: int
    shrink: int
    window: int
    max_window: int
    block: int
    shared: int
    repeats: int
    span: int
    sequential: int
    group: int
    documents: int
    train_words: int
    concatenated: int
    padding: int
    learn_hidden: int

    @classmethod
    def of(cls, config: KernelConfig) -> Options:
        """Convert a configuration; most of its fields have the same names."""
        shape = config.shape
        objective = config.objective
        given = {"mean": False, "corrected": False} | vars(config) | vars(shape) | vars(objective)
        given |= {
            "skipgram": objective.skipgram,
            "shards": config.negative_shards,
            "shrink": config.shrink_windows,
            "max_window": config.max_window or shape.window,
        }
        return cls._make(map(int, map(given.__getitem__, cls._fields)))


class Unit(NamedTuple):
    """A drawn unit of n positions: int32 arrays, or flat int32 tensors.

    The fields are the fields of Tfw2vUnit in ``src/unit.h`` and the outputs of the op, in the same
    order.
    """

    inputs: Any  # [n] rows of the inputs, or words if they have subwords
    targets: Any  # [n] rows of the outputs, and indices of paths
    reaches: Any  # [n, 2] numbers of positions in the window, before and after its centre
    negatives: Any  # [blocks, C] rows of the outputs
    shards: Any  # [n] shard of the target's negatives; [0] with one shard
    documents: Any  # [n] document of the position; [0] without documents
    first_tags: Any  # [documents + 1] index in `tags` of each document's first tag
    tags: Any  # rows of the inputs
    counts: Any  # [2] number of (tag, token) pairs at the end; of tokens after subsampling


class Result(NamedTuple):
    """Summed loss, number of predictions in it, and a magnitude: not finite after divergence."""

    loss: float
    predictions: float
    magnitude: float


def _struct(**fields: Any) -> Any:
    """Return a C struct with these fields, in this order."""
    return type("Struct", (ctypes.Structure,), {"_fields_": list(fields.items())})


POINTER = ctypes.c_void_p
NUMBER = ctypes.c_int64

_Array = _struct(data=POINTER, size=NUMBER)
_Lists = _struct(first=_Array, entries=_Array)
_Options = _struct(**dict.fromkeys(Options._fields, ctypes.c_int32))
_NoiseTable = _struct(keep=_Array, noise=_Array)
_Unit = _Array * len(Unit._fields)  # laid out as a struct with these fields
_Table = _struct(rows=POINTER, number=NUMBER)
_Tables = _struct(
    **dict.fromkeys(TABLES, _Table),
    lock=_Array,
    weights=_Array,
    paths=_Lists,
    subwords=_Lists,
    stride=NUMBER,
    size=NUMBER,
)
_Run = _struct(
    alphas=_Array,
    first=NUMBER,
    last=NUMBER,
    loss_every=NUMBER,
    round_blocks=NUMBER,
    pool=POINTER,
)
_Inference = _struct(words=_Lists, alphas=_Array, vectors=POINTER, seed=ctypes.c_uint64)


@functools.cache
def _library() -> Any:
    """Load the functions of ``src/c_api.cc``.

    Raises a ValueError if ``TFW2V_ISA`` is not a kernel for this processor.
    """
    if not KERNELS.exists():
        raise FileNotFoundError(
            f"{KERNELS} is missing: install a C++ compiler (Debian: apt-get install g++), then "
            "reinstall the package"
        )
    functions = ctypes.CDLL(str(KERNELS))
    for name, result, arguments in (
        ("unknown_isa", ctypes.c_char_p, []),
        ("variant", ctypes.c_char_p, []),
        ("draw", ctypes.c_char_p, [POINTER] * 5),
        ("train", ctypes.c_char_p, [POINTER] * 5),
        ("infer", ctypes.c_char_p, [POINTER] * 4),
        ("pool_new", POINTER, [NUMBER]),
        ("pool_free", None, [POINTER]),
    ):
        function = getattr(functions, f"tfw2v_{name}")
        function.restype = result
        function.argtypes = arguments
    if names := functions.tfw2v_unknown_isa():
        raise ValueError(
            f"TFW2V_ISA={os.environ.get('TFW2V_ISA')!r} is no kernel for this processor: set it to "
            f"one of {names.decode()}, or unset it to use the fastest"
        )
    return functions


def is_available() -> bool:
    """Return whether the compiled library exists and loads on this system."""
    try:
        _library()
    except OSError:
        return False
    return True


def variant() -> str:
    """Return the instruction set of the kernel in use; the variable ``TFW2V_ISA`` selects it."""
    return str(_library().tfw2v_variant().decode())


def draw(options: Options, entries: np.ndarray, key: np.ndarray, words: WordArrays) -> Unit:
    """Draw a unit; arrays as in `prepare_unit`.

    Raises a TypeError for arrays of a wrong dtype, a ValueError for invalid options or arrays.
    """
    found = _Unit()
    structs = (
        _Options(*options),
        _noise_table(words),
        _checked("entries", entries),
        _checked("key", key),
        found,
    )
    if wrong := _library().tfw2v_draw(*map(ctypes.byref, structs)):
        raise ValueError(f"no unit can be drawn with {options}: {wrong.decode()}")
    unit = Unit(*map(_copied, found))  # the next draw of this thread overwrites the original
    return unit._replace(
        reaches=unit.reaches.reshape(-1, 2), negatives=unit.negatives.reshape(-1, options.shared)
    )


def _copied(array: Any) -> np.ndarray:
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
    vectors = np.empty((max(0, len(documents.first) - 1), size), np.float32)
    structs = (
        _Options(*options),
        _noise_table(words),
        _Tables(
            *[_Table(table.ctypes.data, len(table)) for table in tables],
            paths=_Lists(*map(_checked, Lists._fields, words.tree)),
            stride=size,
            size=size,
        ),
        _Inference(
            _Lists(*map(_checked, Lists._fields, documents)),
            _checked("alphas", alphas, FLOAT32),
            vectors.ctypes.data,
            seed,
        ),
    )
    if wrong := _library().tfw2v_infer(*map(ctypes.byref, structs)):
        raise ValueError(f"no vector can be inferred with {options}: {wrong.decode()}")
    return vectors


class ThreadPool:
    """Threads that train units deterministically.

    In each round, `blocks` blocks start from the same rows.
    """

    def __init__(self, threads: int, blocks: int) -> None:
        self.blocks = blocks
        self.address = _library().tfw2v_pool_new(threads)

    def close(self) -> None:
        """Stop the threads. Call it only once."""
        _library().tfw2v_pool_free(self.address)


class Tables:
    """Inputs, outputs and nodes, each [rows, D] float32, on which units train.

    Arrays that are whole and writable arrays of a `RowMemory` are trained in place, while their
    rows are apart; of other arrays, copies are trained. Raises a TypeError for arrays of a wrong
    dtype, a ValueError for a wrong shape.
    """

    def __init__(self, tables: Sequence[np.ndarray], words: WordArrays) -> None:
        self._words = words  # keeps the arrays alive that the kernel reads
        size = tables[0].shape[-1]
        for name, table in zip(TABLES, tables, strict=True):
            _check(name, table, FLOAT32, size, any_order=True)
        self._memories: list[RowMemory] = []
        for table in tables:
            memory = RowMemory.of(table)
            if memory is None:
                memory = RowMemory(len(table), size, is_apart=True)
                memory.array[:] = table
            self._memories.append(memory)
        self._tables = _Tables(
            *[_Table(memory.address, memory.shape[0]) for memory in self._memories],
            _checked("lock", words.lock, FLOAT32),
            _checked("weights", words.weights, FLOAT32),
            _Lists(*map(_checked, Lists._fields, words.tree)),
            _Lists(*map(_checked, Lists._fields, words.subwords)),
            self._memories[0].stride,
            size,
        )

    @property
    def rows(self) -> list[np.ndarray]:
        """The rows of each table as they are now: apart, or together in C order."""
        return [memory.array for memory in self._memories]

    def train(
        self,
        options: Options,
        unit: Unit,
        alphas: np.ndarray,
        first: int = 0,
        last: int | None = None,
        loss_every: int = 0,
        pool: ThreadPool | None = None,
    ) -> Result:
        """Train a unit, or its blocks of positions [first, last).

        `alphas` [2] are the learning rates at the unit's first position and after its last. The
        loss of every `loss_every`-th block is summed; 0 for no loss. Raises a TypeError or a
        ValueError for arrays that are not a unit of these tables, before any row is changed, and a
        RuntimeError if the rows of arrays that are trained in place are together.

        A `pool` trains whole units, with a result that does not depend on its number of threads.
        The options must then train in blocks, by negative sampling only, without subwords or (tag,
        token) pairs.
        """
        run = _Run(
            _checked("alphas", alphas, FLOAT32),
            first,
            len(unit.inputs) if last is None else last,
            loss_every,
        )
        if pool is not None:
            run.round_blocks = pool.blocks
            run.pool = pool.address
        arrays = _Unit()
        columns = {"reaches": 2, "negatives": options.shared}
        for i, name in enumerate(Unit._fields):
            arrays[i] = _checked(name, unit[i], INT32, columns.get(name))
        sums = (ctypes.c_double * len(Result._fields))()
        structs = (_Options(*options), arrays, self._tables, run, sums)
        with contextlib.ExitStack() as in_use:
            for memory in self._memories:
                in_use.enter_context(memory.training())
            wrong = _library().tfw2v_train(*map(ctypes.byref, structs))
        if wrong:
            raise ValueError(f"a unit cannot be trained with {options}: {wrong.decode()}")
        return Result(*sums)


def _noise_table(words: WordArrays) -> Any:
    return _NoiseTable(
        _checked("keep", words.keep, FLOAT32), _checked("noise", words.noise, INT32, 2)
    )


def _checked(name: str, array: np.ndarray, dtype: str = INT32, columns: int | None = None) -> Any:
    """Return an array as a C struct, if it has this dtype, [n] or [n, columns], in C order."""
    _check(name, array, dtype, columns)
    return _Array(array.ctypes.data, array.size)


def _check(
    name: str, array: np.ndarray, dtype: str, columns: int | None, any_order: bool = False
) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise TypeError(
            f"{name} must be an array of {dtype}, not {getattr(array, 'dtype', type(array))}"
        )
    shape = (len(array),) if columns is None else (len(array), columns)
    if array.shape != shape or not (any_order or array.flags.c_contiguous):
        raise ValueError(
            f"{name} must be in C order, with shape {shape}, not {array.shape} with strides "
            f"{array.strides}"
        )
