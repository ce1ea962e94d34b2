"""Random numbers formatted by a library compiled with sanitizers, into arrays without spare room.

Run by ``sanitized_program.py``, with the path of the library.
"""

import ctypes
import sys

import numpy as np


def formatted(function, words, rows):
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    text = np.frombuffer(b"".join(words), np.uint8).copy()  # bytes end with a NUL
    made = np.empty(len(text) + len(rows) * (1 + 16 * rows.shape[1]), np.uint8)
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (text, ends, rows)]
    number, size = map(ctypes.c_int64, rows.shape)
    return bytes(made[: function(*arrays, number, size, made.ctypes.data_as(ctypes.c_void_p))])


def main():
    function = ctypes.CDLL(sys.argv[1]).tfw2v_format_rows
    function.restype = ctypes.c_int64
    rng = np.random.default_rng(7)
    for size in (0, 1, 3, 100):
        bits = rng.integers(0, 1 << 32, (200, size), dtype=np.uint32)
        words = [b"w" * length for length in rng.integers(0, 20, len(bits))]
        assert formatted(function, words, bits.view(np.float32)).count(b"\n") == len(bits)
    # the longest, so that nothing is left of the array
    longest = np.full((50, 7), -np.finfo(np.float32).tiny)
    print(formatted(function, [b""], np.full((1, 1), -np.float32("nan"))).decode().strip())
    print(formatted(function, [b"w"] * 50, longest).split()[-1].decode())


if __name__ == "__main__":
    main()
