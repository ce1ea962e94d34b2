"""Options of the TensorFlow fallback, which trains units step by step."""

from __future__ import annotations

from dataclasses import dataclass

from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.objective import Objective


@dataclass(frozen=True)
class StepOptions:
    """Options of the TensorFlow fallback, which trains a unit step by step.

    Parameters
    ----------
    objective : Objective
    shape : StepShape
    id_bits : int
        Number of bits of a row id: ids are below ``2 ** id_bits``.
    shrink_windows : bool
        Whether the size of each window is random, as in gensim.
    max_window : int, optional
        Maximum of the random window size, gensim's `window`; by default the shape's window. Sizes
        above the shape's window are reduced to it after they are drawn.
    with_loss : bool
        Whether the loss of every step is computed. This takes a tenth of the training time.
    skip_targets : bool
        Whether a negative that equals its target is skipped, as in gensim. In a small vocabulary,
        such negatives are frequent. In a large vocabulary, they are so rare that comparing
        negatives with targets only costs time.
    locked : bool
        Whether the update of each input row is multiplied by its factor in ``WordArrays.lock``.
    negative_shards : int
        Number of shards into which the vocabulary is divided; see `draws`. The negatives of a
        target are words of the target's shard.
    product_dtype : {"float32", "bfloat16"}
        Precision of the factors and results of matrix products. Rows and sums of their updates are
        always float32.
    max_norm : float
        Maximum norm of a row's update per step.
    """

    objective: Objective
    shape: StepShape
    id_bits: int
    shrink_windows: bool = True
    max_window: int | None = None
    with_loss: bool = False
    skip_targets: bool = True
    locked: bool = False
    negative_shards: int = 1
    product_dtype: str = "float32"
    max_norm: float = 0.5

    @property
    def selects_negatives(self) -> bool:
        """Return whether the weights of a block's negatives differ between its centres."""
        return self.skip_targets or self.negative_shards > 1

    def max_steps(self, max_entries: int) -> int:
        """Return the maximum number of steps of a unit with at most `max_entries` entries."""
        return -(-max_entries // self.shape.tokens) * self.shape.turns
