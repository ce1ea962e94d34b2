"""Numbers in texts, as files and commands write them.

Python also takes ``1_0``, ``nan``, ``inf``, blanks around a number and the digits of other scripts.
"""

import math
import re

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE | re.ASCII)


def whole_number(text: str) -> int:
    """Read a whole number; ValueError if the text is none."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def number(text: str) -> float:
    """Read a finite decimal number; ValueError if the text is none."""
    if not _DECIMAL.fullmatch(text) or math.isinf(value := float(text)):
        raise ValueError(f"{text!r} is no finite number")
    return value
