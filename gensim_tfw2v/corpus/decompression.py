"""Decompressed bytes of files, from their start."""

import os
from pathlib import Path
from typing import Any

from gensim_tfw2v.messages import COMPRESSED, MAGIC, damage, open_decompressed, quoted

#: Number of bytes from which the format of a file is recognized.
HEAD_BYTES = 1 << 16

#: Suffixes that pyarrow decompresses, but Python's standard library does not.
PYARROW_SUFFIXES = (".zst", ".lz4")

#: pyarrow's names of compressions by suffix.
PYARROW_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes; decompress it if its suffix is one of `COMPRESSED`.

    Raises
    ------
    ValueError
        If the suffix names a compression, but the content is not compressed in this way.
    """
    _check_compression(path)
    if path.lower().endswith(".xz"):
        return open_decompressed(path)
    import pyarrow as pa

    return pa.input_stream(path, PYARROW_CODECS.get(Path(path).suffix.lower()))


def _check_compression(path: str) -> None:
    suffix = Path(path).suffix.lower()
    with open(path, "rb") as file:
        head = file.read(8)
    for magic, (compression_suffix, kind) in MAGIC.items():
        if compression_suffix == suffix and head and not head.startswith(magic):
            raise ValueError(
                f"contains no {kind} data, unlike its suffix: it begins with {quoted(head)}; "
                "rename it"
            )


def read_head(path: str | os.PathLike[str]) -> bytes:
    """Return the first decompressed bytes of a file; b"" if it can't be decompressed.

    Files with a suffix in `PYARROW_SUFFIXES` need a package that may be missing. Without it,
    pyarrow decompresses them.
    """
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    try:
        if suffix not in COMPRESSED:
            with open(name, "rb") as file:
                return file.read(HEAD_BYTES)
        try:
            source = open_decompressed(name)
        except ImportError:
            if suffix not in PYARROW_SUFFIXES:
                raise
            source = open_bytes(name)
        with source as file:
            return bytes(file.read(HEAD_BYTES))
    except (ImportError, ValueError):
        return b""
    except Exception as error:
        if damage(error) is None:
            raise
        return b""
