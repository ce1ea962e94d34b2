"""Messages about invalid values and files of users, and strict parsing of numbers.

Python's ``int`` and ``float`` are not strict: they also accept ``1_0``, ``nan``, ``inf``, blanks
around a number and digits of other scripts.
"""

import codecs
import gzip
import importlib.util
import json
import math
import os
import re
import reprlib
import zlib
from lzma import LZMAError
from typing import Any

#: `quoted` shortens a string to this many characters, and any value to twice as many.
MAX_LENGTH = 200

#: Format of lines of the log, as in gensim's documentation.
LOG_FORMAT = "%(asctime)s : %(levelname)s : %(message)s"

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")  # suffixes that smart_open decompresses
MAGIC = {  # first bytes of compressed files, with suffix and name of the format
    b"\x1f\x8b": (".gz", "gzip"),
    b"BZh": (".bz2", "bzip2"),
    b"\xfd7zXZ\x00": (".xz", "xz"),
    b"\x28\xb5\x2f\xfd": (".zst", "zstd"),
    b"\x04\x22\x4d\x18": (".lz4", "lz4"),
    b"PK\x03\x04": (".zip", "zip"),
}


class _ShortRepr(reprlib.Repr):
    """Formatter that shortens long and deep values, and accepts integers of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = MAX_LENGTH
        self.maxother = MAX_LENGTH

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # Python refuses to print more than 4300 digits
            return f"<int of {x.bit_length():,} bits>"


_SHORT_REPR = _ShortRepr()


def quoted(value: Any) -> str:
    """Return the value's ``repr()``, with ``...`` for parts that are too long or too deep."""
    text = _SHORT_REPR.repr(value)
    return text if len(text) <= 2 * MAX_LENGTH else f"{text[:MAX_LENGTH]}...{text[-MAX_LENGTH:]}"


_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE | re.ASCII)


def whole_number(text: str) -> int:
    """Read a whole number; raise a ValueError if the text is not one."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def number(text: str) -> float:
    """Read a finite decimal number; raise a ValueError if the text is not one."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.inf
    if math.isinf(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def strict_json(text: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ValueError
        If the text is not a JSON object, repeats a key, or contains a number that is not finite.
    """

    def build_object(items: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(items)
        if len(values) < len(items):
            raise ValueError("has a key twice")
        return values

    try:
        value = json.loads(
            text, object_pairs_hook=build_object, parse_float=number, parse_constant=number
        )
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    return value


_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # comes first: UTF-16's mark is a prefix of it
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def missing_package(feature: str, package: str) -> ImportError:
    """Return the error that a feature needs a missing package, with the pip command to run."""
    return ImportError(f"{feature} needs {package}, which is missing. Run: pip install {package}")


def require(feature: str, package: str, module: str = "") -> None:
    """Raise an ImportError if a package that a feature needs is not installed.

    `module` is the name under which the package is imported, by default that of the package.
    """
    if importlib.util.find_spec(module or package) is None:
        raise missing_package(feature, package)


def open_decompressed(path: str | os.PathLike[str]) -> Any:
    """Open a file for reading bytes; decompress it if its suffix is one of `COMPRESSED`.

    If a package for decompression is missing, an ImportError names the pip command that installs
    it.
    """
    import smart_open  # not at the top: it takes longer to import than this package

    try:
        return smart_open.open(os.fspath(path), "rb")
    except ModuleNotFoundError as error:
        suffix = os.path.splitext(path)[1].lower()
        package = f"'smart_open[{suffix[1:]}]'"
        raise missing_package(f"{path}: reading {suffix} files", package) from error


def damage(error: Exception) -> type[Exception] | None:
    """Return the exception type for damaged compressed data; None if `error` is something else.

    The type is from the standard library, whichever package decompresses.
    """
    if isinstance(error, OSError):
        # Decompressors' errors have no errno. Subclasses of other packages are network errors.
        is_of_decompressor = error.errno is None and type(error) in (OSError, gzip.BadGzipFile)
        return type(error) if is_of_decompressor else None
    if isinstance(error, EOFError | zlib.error | LZMAError):
        return type(error)
    is_damaged = type(error).__name__ == "ZstdError" or "LZ4F_" in str(error)
    return OSError if is_damaged else None


def wide_encoding(text: bytes, offset: int = 0) -> str:
    """Return iconv's name of UTF-16 or UTF-32 if bytes look like that encoding, else "".

    The encoding is recognized by its byte order mark, or by null bytes that are all at even or all
    at odd offsets. `offset` is that of the first byte of `text` in the file.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if not offset and text.startswith(mark):
            return name
    null_offsets = {(offset + index) % 4 for index, byte in enumerate(text) if not byte}
    text_offsets = {(offset + index) % 4 for index, byte in enumerate(text) if byte}
    if null_offsets and text_offsets:
        for suffix, low in ("LE", {0, 1}), ("BE", {2, 3}):
            if text_offsets <= low:  # the upper two bytes of each character are 0
                return f"UTF-32{suffix}"
        for suffix, high in ("LE", {1, 3}), ("BE", {0, 2}):
            if null_offsets <= high:  # the upper byte of each Latin character is 0
                return f"UTF-16{suffix}"
    return ""


def conversion_advice(encoding: str) -> str:
    """Return the advice to convert a file from an encoding to UTF-8."""
    return f"It looks like {encoding}: convert it first, with: iconv -f {encoding} -t UTF-8"


def decode_error_message(error: UnicodeDecodeError, offset: int, cure: str = "") -> str:
    """Return a message with the offset of bytes that cannot be decoded, and with advice.

    Parameters
    ----------
    error : UnicodeDecodeError
        Error from decoding a part of the file.
    offset : int
        Offset of the invalid bytes in the file.
    cure : str
        Advice to the user, a sentence; by default to convert the file to UTF-8.
    """
    n_before = min(error.start, 20)
    context = error.object[error.start - n_before : error.start + 20]
    if encoding := wide_encoding(context, offset - n_before):
        cure = conversion_advice(encoding)
    elif not cure:
        cure = "Convert it first, for example with: iconv -f LATIN1 -t UTF-8"
    name = codecs.lookup(error.encoding).name.upper()
    return f"is not {name} text: {error.reason} at byte {offset:,} (near {context!r}). {cure}"
