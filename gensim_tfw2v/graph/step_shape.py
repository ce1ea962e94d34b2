"""Sizes of a step of the graph, and in which precision it multiplies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.kernel_config import Objective

#: Tokens of a step, at most. CBOW, whose tokens take part in few pairs, bears longer ones; and the
#: nodes near the root, which are on most paths, only shorter ones.
MAX_TOKENS = {"skipgram": 512, "cbow": 2048, "hierarchical softmax": 256}

#: And at least.
MIN_TOKENS = 64

#: Numbers in the rows of a step's tokens, T D, at most: above, what passes between its operations
#: is no longer in a core's cache. CBOW with D = 300 is half as fast again with T = 512 as with
#: 2048.
MAX_NUMBERS = 1 << 18

#: Steps that an epoch should have at least: below, updates of a step are too stale for a
#: small corpus, whose vectors are still far from where they are going.
MIN_EPOCH_STEPS = 512

#: Positions of a block.
BLOCK = 32


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
    turns : int
        Steps that tokens are trained in, each on every so manieth of the centres.

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


def choose_step(
    objective: Objective,
    tokens: int,
    window: int,
    pairs: float,
    alpha: float = 0.025,
    vector_size: int = 100,
    negative_shards: int = 1,
) -> StepShape:
    """Choose the step; parameters as for `choose_kernel_shape`.

    T is a power of two from `MIN_TOKENS` to `MAX_TOKENS`: as large as leaves `MIN_EPOCH_STEPS`
    steps, and no more than `MAX_NUMBERS` numbers in its rows.
    """
    of_tokens = "skipgram" if objective.skipgram else "cbow"
    longest = MAX_TOKENS["hierarchical softmax" if objective.hierarchical else of_tokens]
    while longest > MIN_TOKENS and longest * vector_size > MAX_NUMBERS:
        longest //= 2
    step = MIN_TOKENS
    while step < longest and tokens >= 2 * step * MIN_EPOCH_STEPS:
        step *= 2
    min_shared = max(1, objective.negative, negative_shards)
    # each of CBOW's predictions is one for all words of its window
    effective = sizes.effective_step(objective, pairs if objective.skipgram else 1, alpha)
    if objective.negative and effective > sizes.MAX_INPUT_STEP:
        # clipping alone would distort rows
        block = BLOCK
        while block > 1 and block * alpha > sizes.MAX_INPUT_STEP:
            block //= 2
        turns = math.ceil(min(effective / sizes.MAX_INPUT_STEP, 2 * window + 1))
        return StepShape(block, block, window, max(32, min_shared), turns=turns)
    # small corpora have few words, each drawn often: more negatives steady them
    shared = 16 if step == longest else 32
    # Skip-gram's negatives then meet a block's inputs, not the halo's: 8 % less to multiply.
    # With hierarchical softmax the centres bring more rows than the inputs do.
    by_inputs = not objective.skipgram or objective.hierarchical
    halo_side: Literal["inputs", "centres"] = "inputs" if by_inputs else "centres"
    return StepShape(step, BLOCK, window, max(shared, min_shared), halo_side)


def choose_max_norm(objective: Objective) -> float:
    """Choose the longest that a row's summed update of a step may be.

    Without a limit the rows of the most frequent words grow without bound. Skip-gram's with
    negative sampling was chosen by SimLex-999 over three seeds, where 1.0 gave .300 and 0.5 .296,
    about as far apart as seeds are; 0.1 is clearly worse.
    """
    return 1.0 if objective.skipgram and not objective.hierarchical else 0.5


def choose_product_dtype() -> str:
    """Choose the precision of the matrix products for this machine.

    bfloat16 takes a seventh of skip-gram's time away at D=100 and a quarter at D=300, at the
    same quality, where the processor multiplies it natively.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "float32"  # not Linux: it is right everywhere
    native = "avx512_bf16" in flags or "amx_bf16" in flags
    return "bfloat16" if native and not tf.config.list_physical_devices("GPU") else "float32"
