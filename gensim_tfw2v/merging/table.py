"""One table of all sub-models, side by side, read in pieces of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from typing import NamedTuple

import numpy as np

#: Bytes of a piece: what is in memory of all sub-models at a time.
PIECE_BYTES = 1 << 26


class Piece(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    first : int
        The number of the first row.
    rows : ndarray [p, C], float32
        Of all sub-models, side by side: C is the sum of their sizes. Zeros where a sub-model has no
        such row.
    held : ndarray [p, N], bool
        Which sub-models have the row.
    parts : sequence of slice
        Columns of each sub-model.
    """

    first: int
    rows: np.ndarray
    held: np.ndarray
    parts: Sequence[slice]

    def lengths(self) -> np.ndarray:
        """Length of each sub-model's row, [p, N]."""
        parts = [np.linalg.norm(self.rows[:, part], axis=1) for part in self.parts]
        return np.stack(parts, axis=1)

    def scaled(self, factors: np.ndarray) -> np.ndarray:
        """The rows, those of each sub-model times a factor: [p, C] from factors [p, N]."""
        rows = np.empty_like(self.rows)
        for number, part in enumerate(self.parts):
            np.multiply(self.rows[:, part], factors[:, number, None], out=rows[:, part])
        return rows


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one kind of all sub-models.

    Parameters
    ----------
    name : str
        What the rows are, for messages.
    arrays : sequence of ndarray [n_i, D_i]
        One of each of N sub-models.
    row_of : sequence of ndarray [V], int
        For each sub-model: which row of its array is each row of the table, or -1.
    """

    name: str
    arrays: Sequence[np.ndarray]
    row_of: Sequence[np.ndarray]

    @property
    def rows(self) -> int:
        """V."""
        return len(self.row_of[0])

    @property
    def sizes(self) -> list[int]:
        """D_i of each sub-model."""
        return [array.shape[1] for array in self.arrays]

    @property
    def columns(self) -> int:
        """C, the sum of the sizes."""
        return sum(self.sizes)

    @property
    def parts(self) -> list[slice]:
        """Columns of each sub-model."""
        return list(starmap(slice, pairwise(accumulate(self.sizes, initial=0))))

    def pieces(self) -> Iterator[Piece]:
        """All rows, in order.

        Raises
        ------
        ValueError
            If a number is not finite.
        """
        step = max(1, PIECE_BYTES // (4 * self.columns))
        for first in range(0, self.rows, step):
            yield self._piece(first, min(first + step, self.rows))

    def _piece(self, first: int, end: int) -> Piece:
        row_of = np.stack([of_one[first:end] for of_one in self.row_of], axis=1)
        held = row_of >= 0
        rows = np.zeros((end - first, self.columns), np.float32)
        for model, (array, part) in enumerate(zip(self.arrays, self.parts, strict=True)):
            here = held[:, model]
            rows[here, part] = array[row_of[here, model]]
            bad = np.flatnonzero(~np.isfinite(rows[:, part]).all(axis=1))
            if len(bad):
                raise ValueError(
                    f"sub-model {model} has {self.name} that are NaN or infinite, the first in row "
                    f"{first + bad[0]}: leave it out, or train it again with a smaller alpha"
                )
        return Piece(first, rows, held, self.parts)
