"""Strings whose UTF-8 is joined in one array, without an object per string."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Number of strings that are decoded at a time.
DECODED_STRINGS = 1 << 16


class JoinedStrings(NamedTuple):
    """Strings: number i is ``text[offsets[i] : offsets[i + 1]]``.

    Attributes
    ----------
    text : ndarray of uint8
        UTF-8 in which surrogates are allowed.
    offsets : ndarray of int64
        Offset of each string in the text, and the size of the text: [strings + 1].
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @property
    def n_strings(self) -> int:
        """Number of strings."""
        return len(self.offsets) - 1

    @classmethod
    def split(cls, text: bytes, separator: bytes) -> "JoinedStrings":
        """Split a text in which each string is followed by a separator, a single byte."""
        characters = np.frombuffer(text, np.uint8)
        is_separator = characters == separator[0]
        stops = np.flatnonzero(is_separator)
        offsets = np.zeros(len(stops) + 1, np.int64)
        np.subtract(stops, np.arange(len(stops)), out=offsets[1:])
        return cls(characters[~is_separator], offsets)

    def to_list(self) -> list[str]:
        """Decode the strings."""
        strings = list[str]()
        for first in range(0, self.n_strings, DECODED_STRINGS):
            offsets = self.offsets[first : first + DECODED_STRINGS + 1]
            strings += _decode(self.text[offsets[0] : offsets[-1]], offsets - offsets[0])
        return strings


def _decode(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Decode strings; together, if there is a separator that none of them contains."""
    separator = next((byte for byte in b"\0\n" if not np.any(text == byte)), None)
    if separator is None:
        edges = offsets.tolist()
        return [
            text[start:stop].tobytes().decode("utf-8", "surrogatepass")
            for start, stop in zip(edges, edges[1:], strict=False)
        ]
    n_strings = len(offsets) - 1
    is_separator = np.zeros(len(text) + n_strings, bool)
    is_separator[offsets[1:] + np.arange(n_strings)] = True
    separated = np.full(len(is_separator), separator, np.uint8)
    separated[~is_separator] = text
    return separated.tobytes().decode("utf-8", "surrogatepass").split(chr(separator))[:-1]
