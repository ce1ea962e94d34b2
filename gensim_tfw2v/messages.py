"""How messages quote what came: in full if it is short."""

import reprlib
from typing import Any


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # Python writes no number of more than 4300 digits
            return f"<int of {x.bit_length():,} bits>"


_SHORT = _Short()


def quoted(value: Any) -> str:
    """Return the value's ``repr()``, with ``...`` in place of what is too long or too deep."""
    return _SHORT.repr(value)
