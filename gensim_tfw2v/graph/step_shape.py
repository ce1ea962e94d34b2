"""Sizes of a step of the TensorFlow fallback, and the precision of its products."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.objective import Objective

#: Maximum tokens of a step. CBOW allows longer steps, because it makes one prediction per token.
#: Hierarchical softmax needs shorter ones, because nodes near the root are on most paths.
MAX_TOKENS = {"skipgram": 512, "cbow": 2048, "hierarchical softmax": 256}

#: Minimum tokens of a step, if it has more than one block.
MIN_TOKENS = 64

#: Maximum floats in the rows of a step's tokens, T * D. Above it, tensors that are passed between
#: operations do not fit into a core's cache. CBOW with D = 300 is 1.5 times as fast with T = 512
#: as with 2048.
MAX_NUMBERS = 1 << 18

#: Minimum number of steps per epoch. With fewer, the updates of a step are too stale for a small
#: corpus, whose vectors still change fast.
MIN_EPOCH_STEPS = 512

#: Positions of a block.
BLOCK = 32


@dataclass(frozen=True)
class StepShape:
    """Layout of tokens in a step.

    Parameters
    ----------
    tokens, block, window : int
        T, B and w; T is a multiple of B.
    shared : int
        Number of negatives shared by the pairs of a block.
    halo_side : {"inputs", "centres"}
        Side of the pairs that comes from the halo.
    turns : int
        Number of steps per block. Each step trains every `turns`-th centre. More than 1 only if T
        is B.

    Raises
    ------
    ValueError
        If a size is below 1, T is not a multiple of B, or the side is unknown.
    """

    tokens: int
    block: int
    window: int
    shared: int
    halo_side: Literal["inputs", "centres"] = "inputs"
    turns: int = 1

    def __post_init__(self) -> None:
        for name in ("tokens", "block", "window", "shared", "turns"):
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
        """Number of blocks in a step."""
        return self.tokens // self.block

    @property
    def halo(self) -> int:
        """H, the number of positions of a block and its context."""
        return self.block + 2 * self.window

    @property
    def inputs(self) -> int:
        """I, the number of input rows of a block."""
        return self.halo if self.halo_side == "inputs" else self.block

    @property
    def centres(self) -> int:
        """O, the number of centres of a block."""
        return self.halo if self.halo_side == "centres" else self.block

    @property
    def columns(self) -> int:
        """C, the number of output rows of a block: its centres, then its shared negatives."""
        return self.centres + self.shared

    @property
    def offsets(self) -> np.ndarray:
        """Distance in tokens from each centre to each input: [O, I]."""
        shift = -self.window if self.halo_side == "inputs" else self.window
        return np.arange(self.inputs) + shift - np.arange(self.centres)[:, None]


def choose_step(
    objective: Objective,
    tokens: int,
    window: int,
    pairs: float,
    alpha: float = 0.025,
    vector_size: int = 100,
    negative_shards: int = 1,
) -> StepShape:
    """Choose the sizes of a step; parameters as for `choose_kernel_shape`.

    T is the largest power of two from `MIN_TOKENS` to `MAX_TOKENS` with at least `MIN_EPOCH_STEPS`
    steps per epoch and at most `MAX_NUMBERS` floats in its rows. If the effective step of an input
    exceeds `sizes.MAX_INPUT_STEP`, a step is one block, or some of its centres.
    """
    kind = "skipgram" if objective.skipgram else "cbow"
    longest = MAX_TOKENS["hierarchical softmax" if objective.hierarchical else kind]
    while longest > MIN_TOKENS and longest * vector_size > MAX_NUMBERS:
        longest //= 2
    step = MIN_TOKENS
    while step < longest and tokens >= 2 * step * MIN_EPOCH_STEPS:
        step *= 2
    min_shared = max(1, objective.negative, negative_shards)
    # CBOW makes one prediction per position, skip-gram one per pair
    effective = sizes.effective_step(objective, pairs if objective.skipgram else 1, alpha)
    if objective.negative and effective > sizes.MAX_INPUT_STEP:
        # a smaller step, because clipping such large updates would distort rows
        block = BLOCK
        while block > 1 and block * alpha > sizes.MAX_INPUT_STEP:
            block //= 2
        turns = math.ceil(min(effective / sizes.MAX_INPUT_STEP, 2 * window + 1))
        return StepShape(block, block, window, max(32, min_shared), turns=turns)
    # small corpora have few distinct words, each drawn often: more negatives reduce the variance
    shared = 16 if step == longest else 32
    # With centres from the halo, skip-gram multiplies negatives by a block's B inputs, not by H:
    # 8 % fewer multiplications. With hierarchical softmax, centres need more rows than inputs.
    by_inputs = not objective.skipgram or objective.hierarchical
    halo_side: Literal["inputs", "centres"] = "inputs" if by_inputs else "centres"
    return StepShape(step, BLOCK, window, max(shared, min_shared), halo_side)


def choose_max_norm(objective: Objective) -> float:
    """Choose the maximum norm of a row's update in a step.

    Without a limit, the rows of the most frequent words grow without bound. The value for skip-gram
    with negative sampling was chosen by SimLex-999 over three seeds: 1.0 reached .300 and 0.5
    reached .296, which is about the difference between seeds; 0.1 was clearly worse.
    """
    return 1.0 if objective.skipgram and not objective.hierarchical else 0.5


def choose_product_dtype() -> str:
    """Choose the precision of the matrix products for this machine.

    On processors that multiply bfloat16 natively, it reduces the time of skip-gram by a seventh at
    D = 100 and by a quarter at D = 300, at the same quality.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "float32"  # not Linux: float32 works everywhere
    multiplies_natively = "avx512_bf16" in flags or "amx_bf16" in flags
    return (
        "bfloat16"
        if multiplies_natively and not tf.config.list_physical_devices("GPU")
        else "float32"
    )
