"""Initial rows of a model's inputs. Each range of them can be drawn alone, with gensim's bits.

gensim draws all rows from one generator, in order. That generator, PCG64, can skip numbers (O'Neill
2014, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
Generation", section 4.3.1). So each parameter server draws its own rows, with the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class InitialRows(NamedTuple):
    """Initial rows of words or of tags: [n_rows, size], float32, from -1 / size to 1 / size.

    Attributes
    ----------
    n_rows, size : int
    seed : object
        Seed of NumPy's ``default_rng``: an integer from 0 up, or a sequence of them.
    """

    n_rows: int
    size: int
    seed: Any

    def draw(self, first: int, last: int) -> np.ndarray:
        """Return the rows [first, last)."""
        bit_generator = np.random.PCG64(self.seed)
        element = first * self.size
        bit_generator.advance(element // 2)  # a number of 64 bits makes two elements
        generator = np.random.Generator(bit_generator)
        if element % 2:
            generator.random(1, np.float32)
        rows = generator.random((last - first, self.size), np.float32)
        rows *= 2.0
        rows -= 1.0
        rows /= self.size
        return rows

    def generator_state(self) -> np.ndarray:
        """Return the generator's state and increment, 128 bits each: [4], int64, low half first."""
        state = np.random.PCG64(self.seed).state["state"]
        halves = [
            state[name] >> shift & (1 << 64) - 1 for name in ("state", "inc") for shift in (0, 64)
        ]
        return np.array(halves, np.uint64).view(np.int64)


def initial_block(initial: Sequence[InitialRows], rows: slice, size: int) -> np.ndarray:
    """Return a block of the rows of a new table: [n, size], float32.

    The table starts with the rows `initial`. All further rows are zeros.
    """
    block = np.zeros((rows.stop - rows.start, size), np.float32)
    first_row = 0
    for part in initial:
        start = max(rows.start, first_row)
        stop = min(rows.stop, first_row + part.n_rows)
        if start < stop:
            block_rows = slice(start - rows.start, stop - rows.start)
            block[block_rows] = part.draw(start - first_row, stop - first_row)
        first_row += part.n_rows
    return block
