"""Quoting of values in messages, in full if they are short."""

import reprlib
from typing import Any

LONGEST = 200  # characters of a text


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # Python writes no number of more than 4300 digits
            return f"<int of {x.bit_length():,} bits>"


_SHORT = _Short()


def quoted(value: Any) -> str:
    """Return the value's ``repr()``, with ``...`` in place of what is too long or too deep."""
    text = _SHORT.repr(value)
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}...{text[-LONGEST:]}"
