"""Words to ids: dictionaries whose values are ids packed as four little-endian bytes.

`b"".join(map(numbering.__getitem__, words))` is then a whole sentence, ready to be written:
one dictionary look-up and one copy a word, without an array or a list of integers in between.
"""

import struct
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
#: Told the words, sentences, word types and bytes of files so far.
Progress = Callable[[int, int, int, int], object]

ID = np.dtype("<i4")  # on disk, whatever the machine
END, UNKNOWN = -1, -2  # after each sentence; in place of a word outside the vocabulary
END_BYTES = struct.pack("<i", END)

_pack = struct.Struct("<i").pack


class Numbering(dict[Any, bytes]):
    """Numbers words 0, 1, 2, … in the order in which they are first asked for."""

    def __missing__(self, word: Hashable) -> bytes:
        number = self[word] = _pack(len(self))
        return number


class KnownWords(dict[Any, bytes]):
    """The ids of a given vocabulary; any other word is `UNKNOWN`, and is not remembered."""

    def __init__(self, key_to_index: Mapping[str, int]) -> None:
        super().__init__((word, _pack(index)) for word, index in key_to_index.items())

    def __missing__(self, word: Hashable, unknown: bytes = _pack(UNKNOWN)) -> bytes:
        return unknown


def without_unknown(run: Ids) -> Ids:
    """Drop unknown words, then the sentences that this left empty.

    Parameters
    ----------
    run : int32 array, [entries]
        Whole sentences, each followed by `END`.

    Returns
    -------
    int32 array, [entries kept]
    """
    run = run[run != UNKNOWN]
    ends = run == END
    empty = ends.copy()
    empty[1:] &= ends[:-1]
    return run[~empty]
