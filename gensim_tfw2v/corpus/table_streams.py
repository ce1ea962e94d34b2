"""Bytes of tables: decompressed, from their start."""

import importlib.util
import os
from pathlib import Path
from typing import Any

from gensim_tfw2v.messages import COMPRESSED, damage, open_decompressed

BLOCK = 4 << 20  # bytes of a batch; rows of text must be shorter; 40 are read ahead
ROWS = 4096  # maximum rows of a batch
HEAD = 1 << 16  # bytes from which the format of a file is recognized

#: Suffixes that pyarrow decompresses, but Python's standard library does not.
PYARROWS = (".zst", ".lz4")


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes; decompress it if its suffix is one of `COMPRESSED`."""
    if path.lower().endswith(".xz"):
        return open_decompressed(path)
    import pyarrow as pa

    return pa.input_stream(path)


def read_head(path: str | os.PathLike[str], size: int = HEAD) -> bytes:
    """Return the first decompressed bytes of a file; b"" if it can't be decompressed.

    pyarrow is imported only for the suffixes in `PYARROWS`, and may be missing.
    """
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    try:
        if suffix not in COMPRESSED:
            with open(name, "rb") as file:
                return file.read(size)
        has_pyarrow = suffix in PYARROWS and importlib.util.find_spec("pyarrow") is not None
        with open_bytes(name) if has_pyarrow else open_decompressed(name) as file:
            return bytes(file.read(size))
    except ImportError:
        return b""
    except Exception as error:
        if damage(error) is None:
            raise
        return b""
