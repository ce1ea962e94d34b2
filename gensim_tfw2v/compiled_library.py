"""The compiled library of the kernels and of the scanner: its structs, and loading it.

The sources are in ``kernel/native/src``. This is the only module that opens the library for ctypes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: The library for programs without TensorFlow.
KERNELS = Path(__file__).with_name("kernel") / "native/kernels.so"

#: The library with the same kernels as TensorFlow's ops.
OPS = KERNELS.with_name("ops.so")

POINTER = ctypes.c_void_p
NUMBER = ctypes.c_int64
TEXT = ctypes.c_char_p

#: Error message of a function that finds too little memory: kNoMemory in ``guard.h``.
NO_MEMORY = b"out of memory"

#: Result of a function that returns a number, if it finds too little memory: kFailed in
#: ``guard.h``. Functions that return a pointer then return a null pointer.
FAILED = -2


class Options(NamedTuple):
    """Options of the kernels: the fields of Tfw2vOptions in ``unit.h``, in its order."""

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
    kernel: int


class Unit(NamedTuple):
    """A drawn unit of n positions: int32 arrays, or flat int32 tensors.

    The fields are the fields of Tfw2vUnit in ``unit.h`` and the outputs of the op, in the same
    order.
    """

    inputs: Any  # [n] rows of the inputs, or words if they have subwords
    targets: Any  # [n] rows of the outputs, and indices of paths
    reaches: Any  # [n, 2] numbers of positions in the window, before and after its centre
    negatives: Any  # [blocks, Kn] rows of the outputs
    shards: Any  # [n] shard of the vocabulary that has the target's negatives; [0] with one shard
    documents: Any  # [n] index of the position's document; [0] without documents
    first_tags: Any  # [documents + 1] index in `tags` of each document's first tag
    tags: Any  # rows of the inputs, document by document
    # [2] number of (tag, token) pairs, which are the last positions, and number of tokens after
    # subsampling. If the pairs are left out, to be drawn in pieces, [5]: see ``draws.h``.
    counts: Any


class Result(NamedTuple):
    """Result of training a unit: the fields of Tfw2vResult in ``unit.h``, in its order."""

    loss: float  # summed over the blocks that `loss_every` selects
    predictions: float  # number of predictions in `loss`
    magnitude: float  # not finite after divergence
    trained: float  # 1 if the unit is in the rows, else 0


def _struct(name: str, **fields: Any) -> Any:
    """Return a C struct with these fields, in this order."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


FloatPointer = type("float*", (POINTER,), {})
Ints = _struct("Tfw2vInts", data=POINTER, size=NUMBER)
Floats = _struct("Tfw2vFloats", data=POINTER, size=NUMBER)
CLists = _struct("Tfw2vLists", offsets=Ints, entries=Ints)
COptions = _struct("Tfw2vOptions", **dict.fromkeys(Options._fields, ctypes.c_int32))
NoiseTable = _struct("Tfw2vNoiseTable", keep=Floats, noise=Ints)
CUnit = _struct("Tfw2vUnit", **dict.fromkeys(Unit._fields, Ints))
Table = _struct("Tfw2vTable", rows=FloatPointer, n_rows=NUMBER)
CTables = _struct(
    "Tfw2vTables",
    inputs=Table,
    outputs=Table,
    nodes=Table,
    lock=Floats,
    weights=Floats,
    paths=CLists,
    subwords=CLists,
    stride=NUMBER,
    size=NUMBER,
    noise=NoiseTable,
)
Run = _struct(
    "Tfw2vRun",
    alphas=Floats,
    begin=NUMBER,
    end=NUMBER,
    loss_every=NUMBER,
    threads=NUMBER,
    round_blocks=NUMBER,
    pool=POINTER,
)
CResult = _struct("Tfw2vResult", **dict.fromkeys(Result._fields, ctypes.c_double))
Inference = _struct(
    "Tfw2vInference", words=CLists, alphas=Floats, vectors=FloatPointer, seed=ctypes.c_uint64
)
ScannerState = _struct(
    "ScannerState",
    **dict.fromkeys(("raw_words", "sentences", "types", "shards", "bad", "error"), NUMBER),
)
ShardCounts = _struct(
    "Shard", **dict.fromkeys(("entries", "tokens", "raw_words", "sentences"), NUMBER)
)

STRUCTS = (
    *(CLists, COptions, NoiseTable, CUnit, Table, CTables, Run, CResult, Inference),
    *(ScannerState, ShardCounts),
)

#: Names in C of field types. A type that is missing has the same name in C as in Python.
C_NAMES: Mapping[Any, str] = {
    ctypes.c_int32: "int32_t",
    NUMBER: "int64_t",
    ctypes.c_uint64: "uint64_t",
    ctypes.c_double: "double",
    POINTER: "void*",
}

#: Types of the result and of the arguments of the library's functions.
FUNCTIONS: Mapping[str, tuple[Any, list[Any]]] = {
    "isas": (TEXT, []),
    "usable_isas": (TEXT, []),
    "variant": (TEXT, []),
    "draw": (TEXT, [*[POINTER] * 4, NUMBER, POINTER]),
    "train": (TEXT, [POINTER] * 5),
    "infer": (TEXT, [POINTER] * 4),
    "pool_new": (POINTER, [NUMBER]),
    "pool_free": (None, [POINTER]),
    "words_new": (POINTER, []),
    "words_free": (None, [POINTER]),
    "words_add": (NUMBER, [POINTER, TEXT, NUMBER, POINTER, POINTER]),
    "words_encode": (
        NUMBER,
        [POINTER, TEXT, NUMBER, NUMBER, ctypes.c_int32, POINTER, POINTER, NUMBER, POINTER],
    ),
    "words_number": (NUMBER, [POINTER]),
    "words_size": (NUMBER, [POINTER]),
    "words_text": (POINTER, [POINTER]),
    "words_counts": (POINTER, [POINTER]),
    "integers_new": (POINTER, []),
    "integers_free": (None, [POINTER]),
    "integers_encode": (
        NUMBER,
        [POINTER, POINTER, NUMBER, POINTER, NUMBER, NUMBER, ctypes.c_int32, POINTER, NUMBER],
    ),
    "integers_number": (NUMBER, [POINTER]),
    "integers_values": (POINTER, [POINTER]),
    "scanner_new": (POINTER, [TEXT, NUMBER, NUMBER, POINTER, POINTER]),
    "scanner_free": (None, [POINTER]),
    "scanner_tag_lines": (None, [POINTER]),
    "scanner_scan": (NUMBER, [POINTER, TEXT, NUMBER, ctypes.c_int32]),
    "scanner_finish": (NUMBER, [POINTER]),
    "scanner_state": (POINTER, [POINTER]),
    "scanner_words": (POINTER, [POINTER]),
    "scanner_shards": (POINTER, [POINTER]),
    "renumber": (NUMBER, [POINTER, NUMBER, POINTER, NUMBER]),
    "checksum": (NUMBER, [NUMBER, POINTER, NUMBER]),
    "walk": (TEXT, [POINTER, NUMBER, NUMBER, NUMBER, NUMBER, POINTER, POINTER, POINTER]),
    "alias_table": (NUMBER, [POINTER, NUMBER, POINTER, POINTER]),
    "build_tree": (NUMBER, [POINTER, NUMBER, POINTER]),
    "keys_fill": (NUMBER, [POINTER]),
    "keys_find_string": (NUMBER, [POINTER, TEXT, NUMBER]),
    "keys_find_strings": (None, [POINTER, POINTER, POINTER, NUMBER, NUMBER, POINTER]),
    "keys_find_integers": (None, [POINTER, POINTER, NUMBER, POINTER]),
    "growing_add": (None, [POINTER, POINTER, POINTER, NUMBER, POINTER, POINTER]),
    "growing_hash": (None, [POINTER]),
    "keys_copy_strings": (None, [POINTER, POINTER, NUMBER, POINTER, POINTER]),
    "format_rows": (NUMBER, [TEXT, POINTER, POINTER, NUMBER, NUMBER, POINTER]),
}

#: Types of functions that call Python's C API, and need the GIL.
GIL_FUNCTIONS: Mapping[str, tuple[Any, list[Any]]] = {
    "python_names": (TEXT, []),
    "join_strings": (ctypes.py_object, [POINTER, ctypes.py_object]),
    "key_view_names": (TEXT, []),
    "key_view_types": (ctypes.py_object, [POINTER]),
    "key_view_set": (None, [ctypes.py_object, POINTER, ctypes.py_object]),
    "key_view_keys": (ctypes.py_object, [POINTER, NUMBER, NUMBER]),
}

#: Functions that some compilers' standard libraries lack.
OPTIONAL = {"format_rows"}


class StaleLibrary(RuntimeError):
    """A compiled library whose sources are not those of this package."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path.name} was built from other sources than this package, so its results would be "
            f"wrong: {path}. Compile it again: in a checkout, run pip install -v "
            "--force-reinstall --no-deps . (a dot)"
        )


def layout() -> str:
    """Return all structs with their fields, in the format of the function ``tfw2v_layout``."""
    return "".join(
        f"{struct.__name__}{{"
        + "".join(f"{C_NAMES.get(kind, kind.__name__)} {name};" for name, kind in struct._fields_)
        + "}"
        for struct in STRUCTS
    )


def layout_in(path: Path) -> str:
    """Return the `layout` that a compiled library reports; empty if it is too old to report one."""
    try:
        function = ctypes.CDLL(str(path)).tfw2v_layout
    except AttributeError:
        return ""
    function.restype = TEXT
    return str(function().decode())


def check_layout(path: Path) -> None:
    """Raise a `StaleLibrary` if a compiled library's structs are not those of this module."""
    if layout_in(path) != layout():
        raise StaleLibrary(path)


@functools.cache
def load() -> Any:
    """Load the library, and return its functions, whose names start with ``tfw2v_``.

    Raises an OSError if it is missing or does not load on this system, a `StaleLibrary` if it was
    built from other sources.
    """
    if not KERNELS.exists():
        raise FileNotFoundError(
            f"{KERNELS} is missing: install a C++ compiler (Debian: apt-get install g++), then "
            "reinstall the package"
        )
    check_layout(KERNELS)
    return _declare(ctypes.CDLL(str(KERNELS)), FUNCTIONS)


@functools.cache
def load_with_gil() -> Any:
    """Return the functions of `GIL_FUNCTIONS`, which raise the exceptions that they set.

    Raises the errors of `load`.
    """
    load()
    return _declare(ctypes.PyDLL(str(KERNELS)), GIL_FUNCTIONS)


def _declare(functions: Any, types: Mapping[str, tuple[Any, list[Any]]]) -> Any:
    """Set the types of functions of the library; raise a `StaleLibrary` if one is missing."""
    for name, (result, arguments) in types.items():
        try:
            function = getattr(functions, f"tfw2v_{name}")
        except AttributeError:
            if name in OPTIONAL:
                continue
            raise StaleLibrary(KERNELS) from None
        function.restype = result
        function.argtypes = arguments
    return functions


def load_optional() -> Any:
    """Load the library; None if it is missing or does not load on this system."""
    try:
        return load()
    except OSError:
        return None


def kernel_number(name: str) -> int:
    """Return the option `kernel` of an instruction set; 0 is the default of each process.

    Raises a ValueError if there is no kernel of this name.
    """
    names = load().tfw2v_isas().decode().split()
    if name not in names:
        raise ValueError(f"kernel must be one of {', '.join(names)}, not {name!r}")
    return 1 + names.index(name)
