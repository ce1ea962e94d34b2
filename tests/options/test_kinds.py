"""Kinds of values accept their bounds and refuse what is beyond them."""

import math
from pathlib import Path

import numpy as np
import pytest

from gensim_tfw2v.options import kinds
from gensim_tfw2v.options.kinds import MAX_INT, Finite, OneOf, Whole


def name_value(value):
    """Return the same name for a value in each test process; functions print their address."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        (Whole(1, 5), 1, 1),
        (Whole(1, 5), 5, 5),
        (Whole(1, 5), 3.0, 3),
        (Whole(1, 5), np.int64(2), 2),
        (Whole(1, 5, text=True), "5", 5),
        (Whole(1, 5, none=True), None, None),
        (Whole(0, exact=True), 10**30, 10**30),
        (Finite(0, 0.5), 0, 0.0),
        (Finite(0, 0.5), 0.5, 0.5),
        (Finite(text=True), "1e-3", 1e-3),
        (Finite(none=True), None, None),
        (OneOf(("a", "b")), "b", "b"),
        (kinds.comparable, math.inf, math.inf),
        (kinds.positive, 1, 1),
        (kinds.positive, MAX_INT, MAX_INT),
        (kinds.minutes, 1e-9, 1e-9),
        (kinds.minutes, math.inf, math.inf),
        (kinds.truth, "no", True),
        (kinds.truth, 0, False),
        (kinds.flag, np.bool_(True), np.bool_(True)),
        (kinds.flag, 0, 0),
        (kinds.seed, [1, 2], [1, 2]),
        (kinds.seed, 2**32 - 1, 2**32 - 1),
        (kinds.stored_seed, 10**30, 10**30),
        (kinds.stored_seed, None, None),
        (kinds.folder, "a", Path("a")),
        (kinds.folder, Path("a"), Path("a")),
        (kinds.function, len, len),
        (kinds.callbacks, (), ()),
    ],
    ids=name_value,
)
def test_valid_values_are_returned(kind, value, result):
    checked = kind("option", value)
    assert checked == result and type(checked) is type(result)


@pytest.mark.parametrize(
    ("kind", "value", "error", "message"),
    [
        (Whole(1, 5), 0, ValueError, "at least 1, got 0"),
        (Whole(1, 5), 6, ValueError, "at most 5, got 6"),
        (Whole(1, 5), 1.5, ValueError, "whole number"),
        (Whole(1, 5), "5", TypeError, "whole number"),
        (Whole(1, 5), None, TypeError, "whole number"),
        (Whole(1, 5, none=True), "x", TypeError, "whole number or None"),
        (Whole(1, 5, exact=True), 3.0, TypeError, "whole number"),
        (Finite(0, 0.5), -1e-9, ValueError, "at least 0"),
        (Finite(0, 0.5), 0.6, ValueError, "at most 0.5"),
        (Finite(), math.nan, ValueError, "finite number"),
        (Finite(), -math.inf, ValueError, "finite number"),
        (OneOf(("a", "b")), "c", ValueError, "'c': use 'a' or 'b'"),
        (kinds.comparable, math.nan, TypeError, "a number"),
        (kinds.comparable, "1", TypeError, "a number"),
        (kinds.positive, 0, ValueError, "from 1 up"),
        (kinds.positive, True, ValueError, "from 1 up"),
        (kinds.positive, MAX_INT + 1, ValueError, "2,147,483,647"),
        (kinds.minutes, 0, ValueError, "above 0"),
        (kinds.minutes, math.nan, ValueError, "a number"),
        (kinds.flag, "no", TypeError, "True, False or None"),
        (kinds.flag, 2, TypeError, "True, False or None"),
        (kinds.seed, -1, ValueError, "from 0 to"),
        (kinds.seed, "x", TypeError, "from 0 to"),
        (kinds.stored_seed, "1", TypeError, "whole number"),
        (kinds.stored_seed, 1.5, TypeError, "whole number"),
        (kinds.stored_seed, [[1, 2]], ValueError, "a sequence of those"),
        (kinds.folder, "", ValueError, "empty path"),
        (kinds.folder, b"a", TypeError, "path of a folder"),
        (kinds.function, 1, TypeError, "a function"),
        (kinds.callbacks, 1, TypeError, "a list of callbacks"),
        (kinds.callbacks, [1], TypeError, "has no on_train_begin"),
    ],
    ids=name_value,
)
def test_invalid_values_raise(kind, value, error, message):
    with pytest.raises(error, match=f"^option .*{message}"):
        kind("option", value)
