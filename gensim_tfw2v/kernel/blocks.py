"""The shape of a step and its band structure.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The
window of a position reaches at most w tokens to either side, so all context of a block lies in
its *halo*: the H = B + 2w tokens around it. Either the inputs or the centres (the output words)
of a block's pairs are taken from its halo, the other side from the block itself: then each pair
of the step belongs to one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.slices import Weights


@dataclass(frozen=True)
class StepShape:
    """Layout of tokens in a step.

    Parameters
    ----------
    tokens, block, window : int
        T, B and w: T is a multiple of B.
    shared : int
        Negatives shared by the pairs of a block.
    halo_side : {"inputs", "centres"}
        What is taken from the halo.
    windows : bool
        Compiled skip-gram trains one window after the other, instead of a block at once.
    group : int
        Windows of compiled CBOW, or words of a window of compiled skip-gram, whose scores are
        computed from the same rows.
    turns : int
        Steps of the graph that tokens are trained in, each on every so manieth of the centres.

    Raises
    ------
    ValueError
        If a size is below 1, T is no multiple of B, or the side is another.
    """

    tokens: int
    block: int
    window: int
    shared: int
    halo_side: Literal["inputs", "centres"] = "inputs"
    windows: bool = False
    group: int = 4
    turns: int = 1

    def __post_init__(self) -> None:
        for name in ("tokens", "block", "window", "shared", "group", "turns"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.halo_side not in ("inputs", "centres"):
            raise ValueError(f"halo_side must be 'inputs' or 'centres', got {self.halo_side!r}")
        if self.turns > 1 and self.tokens != self.block:
            raise ValueError(f"a step of {self.turns} turns is one block, not {self.blocks}")
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
    def inputs(self) -> int:
        """I, input rows of a block."""
        return self.halo if self.halo_side == "inputs" else self.block

    @property
    def centres(self) -> int:
        """O, centres of a block."""
        return self.halo if self.halo_side == "centres" else self.block

    @property
    def columns(self) -> int:
        """C, output rows of a block: its centres, then its shared negatives."""
        return self.centres + self.shared

    @property
    def offsets(self) -> np.ndarray:
        """Distance in tokens from each centre to each input: [O, I]."""
        shift = -self.window if self.halo_side == "inputs" else self.window
        return np.arange(self.inputs) + shift - np.arange(self.centres)[:, None]


@scoped("windows")
def band(windows: tf.Tensor, shape: StepShape, mean: bool, dtype: tf.DType) -> tf.Tensor:
    """1 where an input lies in a centre's window, else 0: [T/B, O, I].

    Parameters
    ----------
    windows : Tensor [T/B, O], int32
        ``left * (w + 1) + right`` of each centre: how many tokens its window holds before and after
        it.
    mean : bool
        Whether each row is divided by the number of tokens that the window holds.
    """
    reaches = shape.window + 1
    left, right = (x[:, :, None] for x in (windows // reaches, windows % reaches))
    offset = shape.offsets
    rows = tf.cast((offset >= -left) & (offset <= right) & (offset != 0), tf.float32)
    if mean:
        rows /= tf.maximum(tf.cast(left + right, tf.float32), 1.0)
    return tf.cast(rows, dtype)


@dataclass(frozen=True)
class WindowBand(Weights):
    """A `band`, of which the windows travel, not the matrices: each slice makes them."""

    shape: StepShape
    mean: bool
    dtype: tf.DType

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """From windows [T/B, O] to [T/B, O, I]."""
        return band(packed, self.shape, self.mean, self.dtype)


class NearPairs(Weights):
    """Matrices [T/B, C, I], without the entries of inputs and centres that can make no pair.

    `number` is n, the entries of a block that are left.
    """

    def __init__(self, shape: StepShape) -> None:
        self._shape = shape
        near = (np.abs(shape.offsets) <= shape.window) & (shape.offsets != 0)
        needed = np.concatenate([near, np.ones((shape.shared, shape.inputs), bool)])
        self._needed = np.flatnonzero(needed).astype(np.int32)
        self.number = len(self._needed)
        # where each entry is among these; others are at their end, where a 0 is put
        self._index = np.full(needed.size, self.number, np.int32)
        self._index[self._needed] = np.arange(self.number)

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """From [T/B, C, I] to [T/B, n]."""
        flat = tf.reshape(matrices, [-1, self._shape.columns * self._shape.inputs])
        return tf.gather(flat, self._needed, axis=1)

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """From [T/B, n] to [T/B, C, I], with 0 for what is missing."""
        wide = tf.gather(tf.pad(packed, [[0, 0], [0, 1]]), self._index, axis=1)
        return tf.reshape(wide, [-1, self._shape.columns, self._shape.inputs])


def in_blocks(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor) -> tf.Tensor:
    """Something of every token [n] as what each block has: [blocks, B], filled up with 0."""
    return tf.reshape(_padded(x, shape, blocks, before=0), [-1, shape.block])


def in_halos(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor) -> tf.Tensor:
    """Something of every token [n] as what each halo has: [blocks, H], filled up with 0."""
    padded = _padded(x, shape, blocks + -(-shape.halo // shape.block), before=shape.window)
    parts = []  # a halo reaches over blocks of tokens; slices cost less than to gather each token
    for first in range(0, shape.halo, shape.block):
        part = tf.reshape(padded[first : first + blocks * shape.block], [-1, shape.block])
        parts.append(part[:, : shape.halo - first])
    return tf.concat(parts, 1)


def _padded(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor, before: int) -> tf.Tensor:
    return tf.pad(x, [[before, blocks * shape.block - before - tf.size(x)]])
