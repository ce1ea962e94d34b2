"""Table of the concatenated rows of all sub-models, [V, C], which is read in pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from typing import NamedTuple

import numpy as np

#: Approximate bytes of the rows of a `Piece`, the part of a table that is in memory.
PIECE_BYTES = 1 << 24


class Piece(NamedTuple):
    """Consecutive rows of a table.

    Attributes
    ----------
    begin : int
        Index of the first row.
    rows : ndarray [p, C], float32
        Rows of all sub-models, concatenated. C is the sum of the sub-models' sizes. Where a
        sub-model lacks a row, it contains zeros.
    are_present : ndarray [p, N], bool
        True where a sub-model has the row.
    parts : sequence of slice
        Columns of each sub-model in `rows`.
    """

    begin: int
    rows: np.ndarray
    are_present: np.ndarray
    parts: Sequence[slice]

    def lengths(self) -> np.ndarray:
        """Return the norm of each sub-model's row, [p, N]."""
        parts = [np.linalg.norm(self.rows[:, part], axis=1) for part in self.parts]
        return np.stack(parts, axis=1)

    def scale_parts(self, factors: np.ndarray) -> np.ndarray:
        """Return the rows [p, C], with each sub-model's part multiplied by its factor [p, N]."""
        sizes = [part.stop - part.start for part in self.parts]
        return self.rows * np.repeat(factors, sizes, axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one kind (inputs, outputs, nodes or subwords) of all sub-models, as one table.

    Parameters
    ----------
    name : str
        Kind of the rows, for messages.
    arrays : sequence of ndarray [n_i, D_i]
        One array per sub-model.
    row_of : sequence of ndarray [V], int
        For each sub-model, the row of its array for each row of the table, or -1 if missing.
    """

    name: str
    arrays: Sequence[np.ndarray]
    row_of: Sequence[np.ndarray]

    @property
    def n_rows(self) -> int:
        """Number of rows V."""
        return len(self.row_of[0])

    @property
    def sizes(self) -> list[int]:
        """Sizes D_i of the sub-models."""
        return [array.shape[1] for array in self.arrays]

    @property
    def n_columns(self) -> int:
        """Number of columns C, the sum of the sizes."""
        return sum(self.sizes)

    @property
    def parts(self) -> list[slice]:
        """Range of columns of each sub-model."""
        return list(starmap(slice, pairwise(accumulate(self.sizes, initial=0))))

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows, in order.

        Raises
        ------
        ValueError
            If an element is not finite.
        """
        n_rows = max(1, PIECE_BYTES // (4 * self.n_columns))  # rows of a piece
        for first in range(0, self.n_rows, n_rows):
            row_of = np.stack(
                [row_of_model[first : first + n_rows] for row_of_model in self.row_of], axis=1
            )
            are_present = row_of >= 0
            rows = np.zeros((len(are_present), self.n_columns), np.float32)
            for model, (array, part) in enumerate(zip(self.arrays, self.parts, strict=True)):
                is_present = are_present[:, model]
                rows[is_present, part] = array[row_of[is_present, model]]
                invalid_rows = np.flatnonzero(~np.isfinite(rows[:, part]).all(axis=1))
                if len(invalid_rows):
                    raise ValueError(
                        f"sub-model {model} has {self.name} that are NaN or infinite, the first "
                        f"in row {first + invalid_rows[0]}: leave it out, or retrain it with a "
                        "smaller alpha"
                    )
            yield Piece(first, rows, are_present, self.parts)
