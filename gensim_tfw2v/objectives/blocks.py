"""The shape of a step and its band structure.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The
window of a position reaches at most w tokens to either side, so all context of a block lies in
its *halo*: the H = B + 2w tokens around it.
"""

from dataclasses import dataclass

import numpy as np

from gensim_tfw2v._tensorflow import tf


@dataclass(frozen=True)
class StepShape:
    """How tokens are laid out in a step.

    Parameters
    ----------
    tokens : int
        T, tokens a step; a multiple of `block`.
    block : int
        B, positions a block.
    window : int
        w, gensim's `window`.
    shared : int
        Negatives shared by the pairs of a block.

    Raises
    ------
    ValueError
        If a size is below 1 or T is no multiple of B.
    """

    tokens: int
    block: int
    window: int
    shared: int

    def __post_init__(self) -> None:
        for name in ("tokens", "block", "window", "shared"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.tokens % self.block:
            raise ValueError(
                f"tokens ({self.tokens}) must be a multiple of block ({self.block}): "
                f"try {self.tokens // self.block * self.block or self.block}"
            )

    @property
    def blocks(self) -> int:
        """Blocks a step."""
        return self.tokens // self.block

    @property
    def halo(self) -> int:
        """H, positions of a block and of its context."""
        return self.block + 2 * self.window

    @property
    def columns(self) -> int:
        """Output rows of a block: its own words, then its shared negatives."""
        return self.block + self.shared


def reach_tables(shape: StepShape) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the band matrix for every position of a block and every reach.

    Looking rows up is cheaper than comparing positions in every step.

    Returns
    -------
    left, right : ndarray [B * (w + 1), H], float32
        Row ``b * (w + 1) + r`` is 1 at the r halo positions before (after) position b, else 0.
    """
    position = np.arange(shape.block)[:, None, None] + shape.window
    reach = np.arange(shape.window + 1)[None, :, None]
    offset = np.arange(shape.halo)[None, None, :] - position
    left = (offset < 0) & (offset >= -reach)
    right = (offset > 0) & (offset <= reach)
    rows = (shape.block * (shape.window + 1), shape.halo)
    return left.reshape(rows).astype(np.float32), right.reshape(rows).astype(np.float32)


def halo_ids(padded: tf.Tensor, shape: StepShape, steps: tf.Tensor) -> tf.Tensor:
    """Ids of every block's halo.

    Parameters
    ----------
    padded : Tensor [w + steps * T + w], int32
        Token ids with w entries before the first and after the last.

    Returns
    -------
    Tensor [steps * T / B, H], int32
    """
    first = tf.range(steps * shape.blocks) * shape.block
    return tf.gather(padded, first[:, None] + tf.range(shape.halo)[None, :])
