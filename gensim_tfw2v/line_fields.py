"""Fields of the lines of a text, found by array operations."""

import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Indices of bytes, of fields or of lines.
Indices = NDArray[np.int64]

NEWLINE = ord("\n")
CARRIAGE_RETURN = ord("\r")

#: Bytes that separate fields, unless a tab does: ASCII's white space.
IS_BLANK = np.zeros(256, bool)
IS_BLANK[list(b" \t\n\r\v\f")] = True

#: First bytes of the lines that are comments.
COMMENT_MARKS = b"#%"


class LineFields(NamedTuple):
    """Fields of a block of lines, without those of blank lines and comments.

    Attributes
    ----------
    data : ndarray of uint8
        Bytes of the block.
    starts, stops : ndarray of int64
        Index of each field's first byte, and of the byte behind it, which is a separator.
    n_fields : ndarray of int64
        Number of the fields of each line.
    lines : ndarray of int64
        Number of each line in the block, from 0.
    """

    data: NDArray[np.uint8]
    starts: Indices
    stops: Indices
    n_fields: Indices
    lines: Indices

    def field(self, index: int) -> bytes:
        """Return a field."""
        return self.data[self.starts[index] : self.stops[index]].tobytes()

    def line(self, index: int) -> list[bytes]:
        """Return the fields of a line."""
        first = int(self.n_fields[:index].sum())
        return [self.field(first + column) for column in range(self.n_fields[index])]


def has_tabs(block: bytes) -> bool:
    """Return whether the first line that is not blank or a comment contains a tab."""
    for line in io.BytesIO(block):
        if line.strip() and line[0] not in COMMENT_MARKS:
            return b"\t" in line.strip()
    return False


def split_lines(block: bytes, by_tabs: bool) -> LineFields:
    """Split a block of lines into fields, at each tab or, without `by_tabs`, at white space.

    The block must end with a newline. Lines that start with # or % are comments.
    """
    data = np.frombuffer(block, np.uint8)
    newlines = np.flatnonzero(data == NEWLINE)
    if by_tabs:
        stops = np.flatnonzero((data == ord("\t")) | (data == NEWLINE))
        starts = np.concatenate([[0], stops[:-1] + 1])
        last_fields = np.searchsorted(stops, newlines)
        n_fields = np.diff(last_fields, prepend=-1)
        is_padded = data[stops[last_fields] - 1] == CARRIAGE_RETURN
        is_padded &= stops[last_fields] > starts[last_fields]
        stops[last_fields[is_padded]] -= 1
        is_blank_line = (n_fields == 1) & (starts[last_fields] == stops[last_fields])
    else:
        is_blank = IS_BLANK[data]
        changes = np.flatnonzero(is_blank[1:] != is_blank[:-1]) + 1
        starts = changes[::2] if is_blank[0] else np.concatenate([[0], changes[1::2]])
        stops = changes[1::2] if is_blank[0] else changes[::2]
        n_fields = np.diff(np.searchsorted(starts, newlines), prepend=0)
        is_blank_line = n_fields == 0
    is_left_out = is_blank_line
    if any(bytes([mark]) in block for mark in COMMENT_MARKS):
        line_starts = np.concatenate([[0], newlines[:-1] + 1])
        is_left_out = is_blank_line | np.isin(data[line_starts], list(COMMENT_MARKS))
    fields = LineFields(data, starts, stops, n_fields, np.arange(len(newlines)))
    return _without_lines(fields, is_left_out) if is_left_out.any() else fields


def _without_lines(fields: LineFields, is_left_out: NDArray[np.bool_]) -> LineFields:
    """Leave out lines."""
    is_field = np.repeat(~is_left_out, fields.n_fields)
    return LineFields(
        fields.data,
        fields.starts[is_field],
        fields.stops[is_field],
        fields.n_fields[~is_left_out],
        fields.lines[~is_left_out],
    )


def join_fields(
    data: NDArray[np.uint8], starts: Indices, stops: Indices, separator: bytes
) -> bytes:
    """Return fields, in ascending order, each followed by a separator of one byte."""
    change = np.zeros(len(data) + 1, np.int8)
    change[starts] = 1
    change[stops + 1] -= 1
    is_selected = np.cumsum(change[:-1], dtype=np.int8).view(bool)
    text = data.copy()
    text[stops] = ord(separator)
    return text[is_selected].tobytes()
