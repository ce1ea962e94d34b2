"""Decompressed bytes of files, from their start."""

import os
from pathlib import Path
from typing import Any

from gensim_tfw2v.messages import COMPRESSED, MAGIC, damage, open_decompressed, quoted

#: Number of bytes from which the format of a file is recognized.
HEAD = 1 << 16

#: Suffixes that pyarrow decompresses, but Python's standard library does not.
PYARROWS = (".zst", ".lz4")


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes; decompress it if its suffix is one of `COMPRESSED`.

    Raises
    ------
    ValueError
        If the suffix is that of a compression, but the content isn't.
    """
    _check_compression(path)
    if path.lower().endswith(".xz"):
        return open_decompressed(path)
    import pyarrow as pa

    return pa.input_stream(path)


def _check_compression(path: str) -> None:
    suffix = Path(path).suffix.lower()
    with open(path, "rb") as file:
        head = file.read(8)
    for magic, (ending, kind) in MAGIC.items():
        if ending == suffix and head and not head.startswith(magic):
            raise ValueError(
                f"contains no {kind} data, unlike its suffix: it begins with {quoted(head)}; "
                "rename it"
            )


def read_head(path: str | os.PathLike[str], size: int = HEAD) -> bytes:
    """Return the first decompressed bytes of a file; b"" if it can't be decompressed.

    pyarrow, which may be missing, is imported only for suffixes in `PYARROWS` if the package that
    decompresses them is missing.
    """
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    try:
        if suffix not in COMPRESSED:
            with open(name, "rb") as file:
                return file.read(size)
        try:
            source = open_decompressed(name)
        except ImportError:
            if suffix not in PYARROWS:
                raise
            source = open_bytes(name)
        with source as file:
            return bytes(file.read(size))
    except (ImportError, ValueError):
        return b""
    except Exception as error:
        if damage(error) is None:
            raise
        return b""
