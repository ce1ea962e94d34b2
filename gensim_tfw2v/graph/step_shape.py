"""Sizes of a step of the TensorFlow fallback, and precision of the step's matrix products."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.objective import Objective

#: Maximum number of tokens in a step. CBOW allows longer steps than skip-gram, because CBOW makes
#: only one prediction per token. Hierarchical softmax needs shorter steps, because nodes near the
#: root are on most paths, so their rows get many updates per step.
MAX_TOKENS = {"skipgram": 512, "cbow": 2048, "hierarchical softmax": 256}

#: Minimum number of tokens in a step that has more than one block.
MIN_TOKENS = 64

#: Maximum number of floats in the rows of a step's tokens, T * D. With more, the tensors that are
#: passed between operations do not fit into a core's cache: CBOW with D = 300 is 1.5 times as fast
#: with T = 512 as with T = 2048.
MAX_FLOATS = 1 << 18

#: Minimum number of steps per epoch. All updates of a step are computed from the rows at its start.
#: With fewer steps, vectors would change too much during a step, in particular in a small corpus.
MIN_EPOCH_STEPS = 512

#: Number of positions in a block.
BLOCK_SIZE = 32

#: Maximum effective step of a shared negative in a block: alpha times the number of predictions
#: that it stands for. The more negatives share these predictions, the smaller is the step of each.
#: With a larger step, negatives overshoot, and vectors are shorter than gensim's.
#:
#: Skip-gram with gensim's defaults and 16, 64 and 128 negatives per block has steps of 1.5, 0.38
#: and 0.19. On 17 million words (five epochs), SimLex-999 is .290, .300 and .299, gensim's .305,
#: and training takes 1, 1.3 and 1.9 times as long.
MAX_NEGATIVE_STEP = 0.4

#: `MAX_NEGATIVE_STEP` of a corpus of fewer than `sizes.SMALL_CORPUS` tokens. On 1.2 million words
#: (one epoch), models with 16, 64 and 128 negatives per block share .156, .220 and .234 of a word's
#: neighbours with gensim's, whose own seeds share .284.
MAX_NEGATIVE_STEP_OF_SMALL_CORPUS = 0.2

#: `MAX_NEGATIVE_STEP` of tables in columns. Their traffic grows with the number of negatives: 64
#: instead of 16 would almost triple it.
MAX_NEGATIVE_STEP_IN_COLUMNS = 1.6

#: The number of shared negatives is a multiple of this number.
NEGATIVES_MULTIPLE = 16

#: gensim's learning rate, for which the sizes were chosen.
DEFAULT_ALPHA = 0.025


@dataclass(frozen=True)
class StepShape:
    """Layout of tokens in a step.

    Parameters
    ----------
    tokens, block, window : int
        Number of tokens in a step T, of positions in a block B, and maximum number of positions on
        either side of a window's centre w. T is a multiple of B.
    shared : int
        Number of negatives shared by the pairs of a block.
    halo_side : {"inputs", "centres"}
        Side of the pairs that comes from the halo.
    turns : int
        Number of steps that train each block. Each of these steps trains every `turns`-th centre.
        `turns` may be above 1 only if T = B.

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


def choose_step_shape(
    objective: Objective,
    tokens: int,
    window: int,
    pairs: float,
    alpha: float = DEFAULT_ALPHA,
    vector_size: int = 100,
    negative_shards: int = 1,
    in_columns: bool = False,
) -> StepShape:
    """Choose the sizes of a step.

    The parameters are those of `choose_kernel_shape`, and `in_columns`, which is whether the tables
    are in columns.

    T is the largest power of two from `MIN_TOKENS` to `MAX_TOKENS` with at least `MIN_EPOCH_STEPS`
    steps per epoch and at most `MAX_FLOATS` floats in the tokens' rows. If the effective step of an
    input (the size of its update, see `sizes.effective_step`) exceeds `sizes.MAX_INPUT_STEP`, a
    step trains only one block, or only some centres of one block.
    """
    kind = "skipgram" if objective.skipgram else "cbow"
    max_tokens = MAX_TOKENS["hierarchical softmax" if objective.hierarchical else kind]
    while max_tokens > MIN_TOKENS and max_tokens * vector_size > MAX_FLOATS:
        max_tokens //= 2
    step_tokens = MIN_TOKENS
    while step_tokens < max_tokens and tokens >= 2 * step_tokens * MIN_EPOCH_STEPS:
        step_tokens *= 2
    # CBOW makes one prediction per position, skip-gram one per pair
    predictions = pairs if objective.skipgram else 1
    update_size = sizes.effective_step(objective, predictions, alpha)
    # If the centres of skip-gram are from the halo, negatives are multiplied by only B inputs, not
    # by H inputs. CBOW needs the halo for its inputs. With hierarchical softmax, H centres would
    # need more rows than H inputs.
    has_input_halo = not objective.skipgram or objective.hierarchical
    halo_side: Literal["inputs", "centres"] = "inputs" if has_input_halo else "centres"

    block, turns = BLOCK_SIZE, 1
    if objective.negative and update_size > sizes.MAX_INPUT_STEP:
        # Train fewer positions per step. Otherwise updates are so large that clipping them would
        # distort rows.
        while block > 1 and block * alpha > sizes.MAX_INPUT_STEP:
            block //= 2
        turns = math.ceil(min(update_size / sizes.MAX_INPUT_STEP, 2 * window + 1))
        step_tokens = block

    max_negative_step = MAX_NEGATIVE_STEP
    if in_columns:
        max_negative_step = MAX_NEGATIVE_STEP_IN_COLUMNS
    elif tokens < sizes.SMALL_CORPUS:
        max_negative_step = MAX_NEGATIVE_STEP_OF_SMALL_CORPUS
    # effective step of a negative if the block had only one
    total_step = alpha * block * predictions / turns * objective.negative
    n_multiples = max(1, math.ceil(total_step / max_negative_step / NEGATIVES_MULTIPLE))
    shared = max(NEGATIVES_MULTIPLE * n_multiples, objective.negative, negative_shards)
    return StepShape(step_tokens, block, window, shared, halo_side, turns)


def problem_step_shape(problem: Any) -> StepShape:
    """Choose the sizes of a step for a `gensim_tfw2v.engines.problem.Problem`.

    Adagrad scales updates itself, and needs a large `alpha`. Steps for the effective step of this
    `alpha` without Adagrad would have two words each, and training would take forty times as long.
    """
    options = problem.options
    adapts_alpha = options.regime is not None and options.regime.adapts_alpha
    return choose_step_shape(
        options.objective,
        tokens=problem.tokens,
        window=problem.window,
        pairs=problem.pairs,
        alpha=DEFAULT_ALPHA if adapts_alpha else options.alpha,
        vector_size=options.vector_size,
        negative_shards=options.negative_shards,
        in_columns=options.layout == "columns",
    )


def choose_max_norm(objective: Objective) -> float:
    """Choose the maximum norm of a row's update in a step.

    Without a limit, the rows of the most frequent words grow without bound. The value for skip-gram
    with negative sampling was chosen by SimLex-999 over three seeds: 1.0 reached .300 and 0.5
    reached .296, which is about the difference between seeds; 0.1 was clearly worse.
    """
    return 1.0 if objective.skipgram and not objective.hierarchical else 0.5


def choose_product_dtype() -> str:
    """Choose the precision of the matrix products for this machine.

    On processors that multiply bfloat16 natively, bfloat16 reduces the time of skip-gram by a
    seventh at D = 100 and by a quarter at D = 300, at the same quality.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "float32"  # Only Linux lists a processor's features there.
    multiplies_natively = "avx512_bf16" in flags or "amx_bf16" in flags
    return (
        "bfloat16"
        if multiplies_natively and not tf.config.list_physical_devices("GPU")
        else "float32"
    )
