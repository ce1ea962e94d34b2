"""The compiled kernels for programs without TensorFlow: units drawn and trained on arrays.

Calls leave the interpreter free for other threads, which may train units on the same tables at
the same time (Niu et al. 2011, "Hogwild!").
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gensim_tfw2v.kernel.native import Options, check_isa, library, stride
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays

INT32 = np.dtype(np.int32)
FLOAT32 = np.dtype(np.float32)
NO_LISTS = Lists.of(())
LINE = 64  # bytes of a cache's line


class Unit(NamedTuple):
    """Draws of a unit of n tokens, int32."""

    inputs: np.ndarray  # [n], rows of the table of inputs, or words with subwords
    targets: np.ndarray  # [n], rows of the table of outputs
    reaches: np.ndarray  # [n, 2], how many tokens each window holds before and after its token
    negatives: np.ndarray  # [blocks, S], rows of the table of outputs
    documents: np.ndarray = np.zeros(0, INT32)  # [n] or [0], whose tags each window holds
    tags: Lists = NO_LISTS  # rows of the table of inputs, of each document
    pairs: int = 0  # of so many at the end, the input alone predicts the target
    counted: int = 0  # words that were left, each once


class Result(NamedTuple):
    """Summed loss, its number of predictions, and a magnitude that is finite unless it diverged."""

    loss: float
    predictions: float
    magnitude: float


def _struct(**fields: Any) -> Any:
    """The kernels' struct with these fields, in their order."""
    return type("Struct", (ctypes.Structure,), {"_fields_": list(fields.items())})


POINTER = ctypes.c_void_p
NUMBER = ctypes.c_int64

_Options = _struct(**dict.fromkeys(Options._fields, ctypes.c_int32))
_Words = _struct(keep=POINTER, noise=POINTER, words=NUMBER)
_Lists = _struct(first=POINTER, entries=POINTER, number=NUMBER, length=NUMBER)
_Draws = _struct(
    **dict.fromkeys(("kept", "blocks"), NUMBER),
    **dict.fromkeys((*Unit._fields[:4], "words", "leaves"), POINTER),
    **dict.fromkeys(("paths", "subwords"), _Lists),
    **{"documents": POINTER, "tags": _Lists, "pairs": NUMBER, "counted": NUMBER},
)
_Inference = _struct(
    words=_Lists, alphas=POINTER, epochs=NUMBER, vectors=POINTER, seed=ctypes.c_uint64
)
_Table = _struct(rows=POINTER, number=NUMBER)
_Tables = _struct(
    **dict.fromkeys(("inputs", "outputs", "nodes"), _Table),
    **dict.fromkeys(("lock", "weights"), POINTER),
    **dict.fromkeys(("stride", "size"), NUMBER),
)


def _lists(lists: Lists) -> Any:
    addresses = (array.ctypes.data for array in lists)
    return _Lists(*addresses, max(0, len(lists.first) - 1), len(lists.entries))


def loaded(path: Path, *functions: tuple[str, Any, list[Any]]) -> Any:
    """Load a compiled library, and declare functions with their result and arguments."""
    library = ctypes.CDLL(str(path))
    for name, result, arguments in functions:
        function = getattr(library, f"tfw2v_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


def copied(address: int | None, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Copy an array that is in the memory of the library."""
    copy = np.empty(shape, dtype)
    if address and copy.size:
        ctypes.memmove(copy.ctypes.data, address, copy.nbytes)
    return copy


def is_available() -> bool:
    """Return whether the compiled library exists and loads on this system."""
    try:
        return _library() is not None
    except OSError:
        return False


def variant() -> str:
    """Instruction set of the kernel in use; ``TFW2V_ISA`` in the environment chooses it."""
    return str(_library().tfw2v_variant().decode())


def draw(
    options: Options, entries: np.ndarray, key: np.ndarray, keep: np.ndarray, noise: np.ndarray
) -> Unit:
    """Draw a unit: arrays as in `prepare_unit` and `WordArrays`.

    Arrays of another dtype are a TypeError; options and arrays that are no unit's, a ValueError.
    """
    struct = _options(options)
    _require(entries=(entries, INT32, (None,)), key=(key, INT32, (2,)))
    _require(keep=(keep, FLOAT32, (None,)))
    _require(noise=(noise, INT32, (len(keep) if options.negative else None, 2)))
    if options.negative and len(keep) < options.shards:
        raise ValueError(f"there are {len(keep)} words in {options.shards} shards")
    words = _Words(keep.ctypes.data, noise.ctypes.data, len(keep))
    found = _Draws()
    bad = ctypes.c_int64()
    functions = _library()
    drawn = ctypes.c_void_p(
        functions.tfw2v_draw(
            *map(ctypes.byref, (struct, words)),
            *(entries.ctypes.data, len(entries), key.ctypes.data),
            *map(ctypes.byref, (found, bad)),
        )
    )
    try:
        if bad.value >= 0:
            raise ValueError(f"entries hold word {bad.value} of a vocabulary of {len(keep)}")
        n = found.kept
        lists = found.tags
        targets = copied(found.targets, (n,), INT32)
        return Unit(
            targets if found.inputs == found.targets else copied(found.inputs, (n,), INT32),
            targets,
            copied(found.reaches, (n, 2), INT32),
            copied(found.negatives, (found.blocks, options.shared), INT32),
            copied(found.documents, (n if found.documents else 0,), INT32),
            Lists(
                copied(lists.first, (lists.number + 1 if lists.number else 0,), INT32),
                copied(lists.entries, (lists.length,), INT32),
            ),
            found.pairs,
            found.counted,
        )
    finally:
        functions.tfw2v_free(drawn)


def infer(
    options: Options,
    tables: Sequence[np.ndarray],
    words: WordArrays,
    documents: Lists,
    alphas: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Infer vectors [n, D] of documents, which are lists of word ids, with a step size an epoch.

    Tables are those of words, outputs and nodes, which stay as they are: float32, the first [V, D],
    the others a hidden layer a row. Each vector depends on the seed, and a little on the documents
    beside it. Arrays of another dtype or shape are a TypeError or a ValueError.
    """
    struct = _options(options)
    (inputs, outputs, nodes) = tables
    number, size = inputs.shape
    hidden = size * max(1, options.concatenated)
    _require(
        inputs=(inputs, FLOAT32, (None, None)),
        outputs=(outputs, FLOAT32, (None, hidden)),
        nodes=(nodes, FLOAT32, (None, hidden)),
        keep=(words.keep, FLOAT32, (number,)),
        noise=(words.noise, INT32, (number if options.negative else None, 2)),
        alphas=(alphas, FLOAT32, (None,)),
    )
    for lists in (documents, words.tree):
        _require(first=(lists.first, INT32, (None,)), entries=(lists.entries, INT32, (None,)))
    vectors = np.empty((max(0, len(documents.first) - 1), size), np.float32)
    structs = (
        struct,
        _Words(words.keep.ctypes.data, words.noise.ctypes.data, number),
        _Tables(*(_Table(t.ctypes.data, len(t)) for t in tables), stride=size, size=size),
        _lists(words.tree),
        _Inference(
            *(_lists(documents), alphas.ctypes.data, len(alphas)),
            *(vectors.ctypes.data, seed),
        ),
    )
    if wrong := _library().tfw2v_infer(*map(ctypes.byref, structs)):
        raise ValueError(f"no vector can be inferred: {wrong.decode()}")
    return vectors


class Team:
    """Threads that train a unit together, until they are dismissed.

    So many `blocks` at a time start from the same rows.
    """

    def __init__(self, threads: int, blocks: int) -> None:
        self.blocks = blocks
        self.address = _library().tfw2v_team(threads)

    def close(self) -> None:
        """Dismiss them."""
        _library().tfw2v_dismiss(self.address)


class Tables:
    """Rows that are trained: copies of `inputs`, `outputs` and `nodes`, each [rows, D], float32.

    The attributes of these names, and `rows`, all three, are views of the rows as they are now.
    `lock`, `tree`, `subwords` and `weights` are as in `WordArrays`. Arrays of another dtype or
    shape are a TypeError or a ValueError.
    """

    def __init__(
        self,
        inputs: np.ndarray,
        outputs: np.ndarray,
        nodes: np.ndarray,
        lock: np.ndarray | None = None,
        tree: Lists = NO_LISTS,
        subwords: Lists = NO_LISTS,
        weights: np.ndarray | None = None,
    ) -> None:
        _require(inputs=(inputs, FLOAT32, (None, None)))
        rows, size = inputs.shape
        _require(outputs=(outputs, FLOAT32, (None, size)), nodes=(nodes, FLOAT32, (None, size)))
        for lists in (tree, subwords):
            _require(first=(lists.first, INT32, (None,)), entries=(lists.entries, INT32, (None,)))
        given = {"lock": lock, "weights": weights}
        of_rows = {name: array for name, array in given.items() if array is not None}
        _require(**{name: (array, FLOAT32, (rows,)) for name, array in of_rows.items()})
        # the kernel reads them: they must stay in memory
        self._of_rows = of_rows
        self._tree = tree
        self._subwords = subwords
        given_rows = inputs, outputs, nodes
        self._padded = [_zeros(len(table), stride(size)) for table in given_rows]
        self.rows = [table[:, :size] for table in self._padded]
        self.inputs, self.outputs, self.nodes = self.rows
        for rows, table in zip(self._padded, given_rows, strict=True):
            rows[:, :size] = table
        self._tables = _Tables(
            *(_Table(table.ctypes.data, len(table)) for table in self._padded),
            **{name: array.ctypes.data for name, array in of_rows.items()},
            stride=stride(size),
            size=size,
        )

    def train(
        self,
        options: Options,
        unit: Unit,
        alphas: np.ndarray,
        first: int = 0,
        last: int | None = None,
        loss_every: int = 0,
        team: Team | None = None,
    ) -> Result:
        """Train a unit, or its whole blocks of positions from `first` to before `last`.

        The step sizes `alphas` [2] are those at the unit's first position and after its last. The
        loss is that of every `loss_every`-th block, 0: of none. Arrays that are no unit of these
        tables are a TypeError or a ValueError, and rows stay as they were.

        A `team` trains whole units, with a result that does not depend on its number of threads.
        For it the options must train in blocks, by negative sampling alone, without subwords or
        pairs.
        """
        ends = (first, len(unit.inputs) if last is None else last)
        struct = _options(options)
        n = len(unit.inputs)
        _require(
            inputs=(unit.inputs, INT32, (None,)),
            targets=(unit.targets, INT32, (n,)),
            reaches=(unit.reaches, INT32, (n, 2)),
            negatives=(unit.negatives, INT32, (None, options.shared if options.negative else None)),
            documents=(unit.documents, INT32, (n if len(unit.documents) else 0,)),
            alphas=(alphas, FLOAT32, (2,)),
        )
        draws = _Draws(
            *(n, len(unit.negatives)),
            *(array.ctypes.data for array in unit[:4]),
            *(None, unit.targets.ctypes.data, _lists(self._tree), _lists(self._subwords)),
            unit.documents.ctypes.data if len(unit.documents) else None,
            *(_lists(unit.tags), unit.pairs),
        )
        structs: list[Any] = [*map(ctypes.byref, (struct, draws, self._tables))]
        if wrong := _library().tfw2v_check(*structs, *ends):
            raise ValueError(f"a unit cannot be trained: {wrong.decode()}")
        sums = (ctypes.c_double * len(Result._fields))()
        structs.append(alphas.ctypes.data)
        if team is None:
            _library().tfw2v_train(*structs, *ends, loss_every, sums)
        else:
            _library().tfw2v_train_together(*structs, loss_every, team.blocks, team.address, sums)
        return Result(*sums)


def _zeros(rows: int, floats: int) -> np.ndarray:
    """Zeros, float32, that begin where a cache's line does: no vector lies in two lines."""
    memory = np.zeros(4 * rows * floats + LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    return memory[begin : begin + 4 * rows * floats].view(FLOAT32).reshape(rows, floats)


@functools.cache
def _library() -> Any:
    """The functions of ``src/door.cc``, which run without the interpreter's lock."""
    pointer = ctypes.c_void_p
    number = ctypes.c_int64
    text = ctypes.c_char_p
    path = library("kernels")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: install a C++ compiler (Debian: apt-get install g++), and the "
            "package again"
        )
    functions = loaded(
        path,
        ("variant", text, []),
        ("check_options", text, [pointer]),
        ("check", text, [*[pointer] * 3, number, number]),
        ("draw", pointer, [*[pointer] * 3, number, *[pointer] * 3]),
        ("free", None, [pointer]),
        ("train", None, [*[pointer] * 4, *[number] * 3, pointer]),
        ("infer", text, [pointer] * 5),
        ("team", pointer, [number]),
        ("dismiss", None, [pointer]),
        ("train_together", None, [*[pointer] * 4, number, number, pointer, pointer]),
    )
    check_isa(functions)
    return functions


def _options(options: Options) -> Any:
    struct = _Options(*options)
    if wrong := _library().tfw2v_check_options(ctypes.byref(struct)):
        raise ValueError(f"{options} cannot be trained: {wrong.decode()}")
    return struct


def _require(**arrays: tuple[np.ndarray, np.dtype[Any], tuple[int | None, ...]]) -> None:
    """Refuse arrays that are not of a dtype and shape, or not in one piece."""
    for name, (array, dtype, shape) in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise TypeError(
                f"{name} must be an array of {dtype}, not {getattr(array, 'dtype', type(array))}"
            )
        fits = array.ndim == len(shape) and all(
            asked in (None, found) for asked, found in zip(shape, array.shape, strict=True)
        )
        if not fits or not array.flags.c_contiguous:
            raise ValueError(
                f"{name} must be in C order, with shape {shape}, not {array.shape} with strides "
                f"{array.strides}"
            )
