"""Writer and strict reader of files in the safetensors format, which contain named arrays.

A file consists of the header's length in bytes (8 bytes, little-endian), the header (JSON), and the
elements of all arrays.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gensim_tfw2v.messages import quoted, strict_json
from gensim_tfw2v.row_blocks import row_blocks

#: NumPy's names of the types of elements, by the format's names.
DTYPES = {
    "BOOL": "|b1",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "|i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "|u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
}

#: Key in the header whose value is the file's metadata.
METADATA = "__metadata__"

#: Maximum size in bytes that the format allows for a header.
MAX_HEADER_BYTES = 100_000_000


def write_tensors(
    path: Path,
    tensors: Mapping[str, tuple[str, Sequence[np.ndarray]]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors to a new file.

    `tensors` contains, by name, the type of each tensor, and arrays whose concatenated rows are the
    tensor.
    """
    shapes = {
        name: (dtype, [sum(map(len, arrays)), *arrays[0].shape[1:]])
        for name, (dtype, arrays) in tensors.items()
    }
    with path.open("wb") as file:
        file.write(tensor_header(shapes, metadata))
        for dtype, arrays in tensors.values():
            for array in arrays:
                for block in row_blocks(array):
                    np.ascontiguousarray(array[block], DTYPES[dtype]).tofile(file)


def tensor_header(
    tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return the bytes of a file before its elements.

    `tensors` contains the type and the shape of each tensor, by name. The number of bytes is a
    multiple of 8.
    """
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        header[name] = _entry(dtype, shape, end)
        end = header[name]["data_offsets"][1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def read_tensors(
    path: Path,
    dtypes: Mapping[str, str],
    check_metadata: Callable[[Mapping[str, str]], object] = lambda metadata: None,
    is_mapped: bool = False,
) -> dict[str, np.ndarray]:
    """Read all tensors of a file. Its tensors must be among `dtypes`, which maps names to types.

    `check_metadata` is called with the file's metadata before names and types are checked, so that
    it can raise a more specific error. If `is_mapped`, arrays are mapped from the file, read-only,
    instead of read.

    Raises
    ------
    LookupError, TypeError, ValueError
        If the header is invalid or does not match the file's size.
    """
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        data_bytes = os.fstat(file.fileno()).st_size - 8 - header_bytes
        if header_bytes > MAX_HEADER_BYTES or data_bytes < 0:
            raise ValueError("is truncated or not in the safetensors format")
        header = strict_json(file.read(header_bytes))
        check_metadata(header.pop(METADATA, {}))
        unknown_names = header.keys() - dtypes.keys()
        if unknown_names:
            raise ValueError(f"has unknown tensors: {quoted(unknown_names)}")
        end = 0
        for name, entry in header.items():
            expected_entry = _entry(dtypes[name], entry["shape"], end)
            if entry != expected_entry:
                raise ValueError(f"{name} is {quoted(entry)}, expected {quoted(expected_entry)}")
            end = expected_entry["data_offsets"][1]
        if end != data_bytes:
            raise ValueError(f"has {data_bytes:,} bytes of elements, expected {end:,}")
        tensors = {}
        for name, entry in header.items():
            offset = 8 + header_bytes + entry["data_offsets"][0]
            tensors[name] = _read_tensor(file, dtypes[name], entry["shape"], offset, is_mapped)
        return tensors


def _read_tensor(
    file: BinaryIO, dtype_name: str, shape: Sequence[int], offset: int, is_mapped: bool
) -> np.ndarray:
    """Read or map a tensor whose elements start at an offset of an open file."""
    dtype = np.dtype(DTYPES[dtype_name])
    n_elements = math.prod(shape)
    # Other programs may write elements to unaligned addresses. BLAS would copy such an array. An
    # array without elements cannot be mapped.
    if is_mapped and n_elements and offset % dtype.itemsize == 0:
        return np.memmap(file, dtype, "r", offset, tuple(shape))
    file.seek(offset)
    return np.fromfile(file, dtype, n_elements).reshape(shape)


def _entry(dtype: str, shape: Sequence[int], start: int) -> dict[str, Any]:
    """Return the header's entry for a tensor whose elements start at the offset `start`."""
    if min(shape, default=0) < 0:
        raise ValueError(f"a shape is {quoted(shape)}")
    end = start + math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
