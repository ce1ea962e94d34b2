"""The shape of a step and its band structure.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The
window of a position reaches at most w tokens to either side, so all context of a block lies in
its *halo*: the H = B + 2w tokens around it.
"""

import functools
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


#: Bytes of a table of bands, at most: beyond (windows of some 20), bands are computed.
LARGEST_TABLE = 1 << 22


def number_windows(left: tf.Tensor, right: tf.Tensor, shape: StepShape) -> tf.Tensor:
    """Give a number to each position's window.

    Parameters
    ----------
    left, right : Tensor [..., B], int32
        How many tokens before (after) each position its window holds.

    Returns
    -------
    Tensor [..., B], int32
        ``(b * (w + 1) + left) * (w + 1) + right`` for position b.
    """
    reaches = shape.window + 1
    return (tf.range(shape.block) * reaches + left) * reaches + right


def band(windows: tf.Tensor, shape: StepShape, mean: bool, dtype: tf.DType) -> tf.Tensor:
    """1 where a halo position lies in the window of a block's position.

    Looking rows up is cheaper than comparing positions in every step.

    Parameters
    ----------
    windows : Tensor [T/B, B], int32
        From `number_windows`.
    mean : bool
        Whether each row is divided by its sum.
    dtype : DType

    Returns
    -------
    Tensor [T/B, B, H]
    """
    if shape.block * (shape.window + 1) ** 2 * shape.halo * dtype.size <= LARGEST_TABLE:
        return tf.gather(tf.constant(band_table(shape, mean), dtype), windows)
    reaches = shape.window + 1
    left, right = windows // reaches % reaches, windows % reaches
    offset = np.arange(shape.halo) - shape.window - np.arange(shape.block)[:, None]
    inside = (offset >= -left[:, :, None]) & (offset <= right[:, :, None]) & (offset != 0)
    rows = tf.cast(inside, tf.float32)
    if mean:
        rows /= tf.maximum(tf.cast(left + right, tf.float32), 1.0)[:, :, None]
    return tf.cast(rows, dtype)


@functools.lru_cache(maxsize=8)
def band_table(shape: StepShape, mean: bool) -> np.ndarray:
    """Rows of `band` for every window: [B * (w + 1)**2, H], float32."""
    position = np.arange(shape.block)[:, None, None, None] + shape.window
    left = np.arange(shape.window + 1)[:, None, None]
    right = np.arange(shape.window + 1)[:, None]
    offset = np.arange(shape.halo) - position
    rows = ((offset >= -left) & (offset <= right) & (offset != 0)).astype(np.float32)
    if mean:
        rows /= np.maximum(left + right, 1)
    return rows.reshape(-1, shape.halo)


def halo_ids(padded: tf.Tensor, shape: StepShape, steps: tf.Tensor) -> tf.Tensor:
    """Ids of every block's halo.

    Parameters
    ----------
    padded : Tensor [at least w + steps * T + w + B], int32
        Token ids with w entries before the first; what comes after the last is not used but read.

    Returns
    -------
    Tensor [steps * T / B, H], int32
    """
    blocks = steps * shape.blocks
    parts = []  # a halo reaches over blocks of tokens; slices cost less than to gather each id
    for first in range(0, shape.halo, shape.block):
        ids = tf.reshape(padded[first : first + blocks * shape.block], [-1, shape.block])
        parts.append(ids[:, : shape.halo - first])
    return tf.concat(parts, 1)
