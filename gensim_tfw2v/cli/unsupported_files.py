"""Descriptions, with advice, of files that cannot be loaded as vectors."""

import re
import struct
from pathlib import Path

from gensim_tfw2v.messages import MAGIC, conversion_advice, open_decompressed, wide_encoding

#: Advice for a file in a format that only its own program can read.
_EXPORT = "export words and vectors with the program that wrote it"

#: Descriptions of unsupported files, with advice. Each key is a regular expression for the first
#: bytes of such a file.
DESCRIPTIONS = {
    rb"version https://git-lfs": "a pointer of Git LFS, not the file: run git lfs pull",
    rb"\x93NUMPY": "a NumPy array without words: use numpy.savez(FILE, words=…, vectors=…)",
    rb".{257}ustar": "a tar archive: unpack it, and use the file of vectors in it",
    rb"\x89HDF|SQLite format 3": "HDF5 (as from Keras) or SQLite (as from Magnitude): " + _EXPORT,
    rb"PAR1|ARROW1|GGUF|.{7}\0\{": "Parquet, Arrow, GGUF or safetensors: " + _EXPORT,
    rb"\x08[\x01-\x1f]\x12|\x80\x02\x8a\nl\xfc\x9cF": "ONNX or PyTorch: " + _EXPORT,
    rb"\s*<[!?h]": "HTML or XML, perhaps a download that failed: download it again",
    rb"\{\s*\"|\[\s*[\[{\"]": "JSON: write a word and its numbers on each line, with single blanks",
}


def describe(path: Path) -> str:
    """Return a description of an unsupported file, with advice; "" if it is not recognized."""
    with open_decompressed(path) as file:
        start = file.read(4096)
    for pattern, description in DESCRIPTIONS.items():
        if re.match(pattern, start, re.DOTALL):
            return f"is {description}"
    for magic, (suffix, name) in MAGIC.items():
        if start.startswith(magic):
            return f"is {name}-compressed: let its name end with {suffix}, or decompress it"
    elements = struct.iter_unpack("<d", start[: len(start) // 8 * 8])
    if len(start) > 7 and all(1e-12 < abs(element) < 1e4 for (element,) in elements):
        return "contains 8-byte numbers without words, as GloVe's vectors.bin: use its vectors.txt"
    encoding = wide_encoding(start)
    return f"is not UTF-8 text. {conversion_advice(encoding)}" if encoding else ""
