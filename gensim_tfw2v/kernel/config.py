"""How training is laid out.

Users choose with gensim's parameters; what is chosen here follows from those, from the size of
the corpus and from measurements (see docs/how-it-works.md), and needs no thought.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import stride
from gensim_tfw2v.kernel.objectives import Objective
from gensim_tfw2v.kernel.objectives.blocks import StepShape

#: Entries of a work unit on one machine.
UNIT_ENTRIES = 1 << 16

#: With more words than this, a negative seldom equals a target.
FEW_WORDS = 4096

#: Tokens of a step, at most. CBOW, whose tokens take part in few pairs, bears longer ones; and the
#: nodes near the root, which are on most paths, only shorter ones.
LARGEST_STEP = {"skipgram": 512, "cbow": 2048, "hierarchical softmax": 256}

#: Of the compiled kernels: positions of a block, and negatives that it shares.
NATIVE_BLOCK = NATIVE_SHARED = 32

#: Pairs of a position, on average, from which skip-gram's blocks are shorter, by the square: all
#: changes of a block are computed from the same rows, and those of many pairs go too far. With 60
#: pairs blocks of 16 positions diverge and of 8 do not, with 120 those of 4 and of 1.
MANY_PAIRS = 21

#: With fewer tokens, the parts of a corpus are trained in their own order, as in gensim: else the
#: step size of each is another with each seed, and so are the neighbours of the words.
FEW_TOKENS = 1 << 22

#: Numbers in the rows of a step's tokens, T D, at most: above, what passes between its operations
#: is no longer in a core's cache. CBOW with D = 300 is half as fast again with T = 512 as with
#: 2048.
STEP_NUMBERS = 1 << 18

#: Positions of a span of subwords, at most and at least; and gains of how many other positions a
#: word may take on in one: see `choose_span`.
LONGEST_SPAN, SHORTEST_SPAN, MOST_SHARED = 512, 64, 4

#: Windows up to this are not cut to the corpus's longest sentence: each width is another program,
#: which takes seconds to build, and the parts of a stream are of different lengths.
NARROW_WINDOW = 16

#: The widest that `draw` can reduce windows from: it draws them as int32.
WIDEST_WINDOW = (1 << 31) - 2

#: Steps that an epoch should have at least: below, updates of a step are too stale for a
#: small corpus, whose vectors are still far from where they are going.
STEPS_PER_EPOCH = 512


@dataclass(frozen=True)
class KernelConfig:
    """Everything that is fixed when the program of a work unit is built.

    Parameters
    ----------
    vector_size, shrink_windows
        gensim's parameters.
    id_bits : int
        Row ids are below ``2 ** id_bits``.
    max_entries : int
        The longest unit.
    widest_window : int, optional
        What windows are reduced from: gensim's `window`, where the shape's is shorter.
    loss_of : {"none", "first", "all"}
        The steps of a unit whose loss is computed. The first one's takes next to no time; that of
        all takes some fifth of the whole.
    skip_targets : bool
        Whether a negative that equals a target is skipped for it, as gensim does. It matters
        where words are so few that most are drawn often; else it costs time for nothing.
    locked : bool
        Whether updates of input rows are multiplied by ``WordArrays.lock``.
    negative_shards : int
        Shards of the noise: a target's negatives are words of its own.
    product_dtype : {"float32", "bfloat16"}
        Precision of what goes into the matrix products and comes out of them. Rows and the
        sums of their updates are float32 in any case.
    max_norm : float
        The longest that a row's summed update of a step may be.
    adagrad : bool
        Whether rows have step sizes of their own: see `gensim_tfw2v.kernel.updates.adagrad`.
    span : int
        Positions whose words' inputs are made of rows of n-grams at a time: see `choose_span`.
    native : bool
        Whether compiled kernels train, instead of a graph: see `gensim_tfw2v.kernel.native`.
    """

    objective: Objective
    shape: StepShape
    vector_size: int
    id_bits: int
    max_entries: int
    shrink_windows: bool = True
    widest_window: int | None = None
    loss_of: str = "none"
    skip_targets: bool = True
    locked: bool = False
    negative_shards: int = 1
    product_dtype: str = "float32"
    max_norm: float = 0.5
    adagrad: bool = False
    span: int = 1
    native: bool = False

    @property
    def row_size(self) -> int:
        """Numbers that a row takes in a table that is trained."""
        return stride(self.vector_size) if self.native else self.vector_size

    @property
    def selects_negatives(self) -> bool:
        """Whether a block's negatives do not all count the same for each of its centres."""
        return self.skip_targets or self.negative_shards > 1

    @property
    def max_steps(self) -> int:
        """The most steps that a unit can have."""
        return -(-self.max_entries // self.shape.tokens)


def choose_shape(
    tokens: int,
    window: int,
    negative: int,
    skipgram: bool,
    hierarchical: bool = False,
    negative_shards: int = 1,
    vector_size: int = 100,
    native: bool = False,
    shrink_windows: bool = True,
) -> StepShape:
    """Choose the step for a corpus.

    Parameters
    ----------
    tokens : int
        Tokens an epoch that are trained on.
    window, negative, hierarchical, vector_size, shrink_windows
        gensim's parameters; `hierarchical` is `hs`.
    skipgram : bool
        Skip-gram, or CBOW.
    negative_shards, native
        As in `KernelConfig`. Each shard has at least one of a block's negatives.

    Returns
    -------
    StepShape
        T is a power of two from 64 to `LARGEST_STEP`: as large as leaves `STEPS_PER_EPOCH` steps,
        and no more than `STEP_NUMBERS` numbers in its rows.
    """
    objective = "skipgram" if skipgram else "cbow"
    step, largest = 64, LARGEST_STEP["hierarchical softmax" if hierarchical else objective]
    while largest > step and largest * vector_size > STEP_NUMBERS:
        largest //= 2
    while step < largest and tokens >= 2 * step * STEPS_PER_EPOCH:
        step *= 2
    if native:
        block, pairs = NATIVE_BLOCK, window + 1 if shrink_windows else 2 * window
        while skipgram and block > 1 and block * pairs**2 > NATIVE_BLOCK * MANY_PAIRS**2:
            block //= 2
        return StepShape(step, block, window, max(NATIVE_SHARED, negative, negative_shards))
    # small corpora have few words, each drawn often: more negatives steady them
    shared = 16 if step == largest else 32
    # Skip-gram's negatives then meet a block's inputs, not the halo's: 8 % less to multiply.
    # With hierarchical softmax the centres bring more rows than the inputs do.
    side: Literal["inputs", "centres"] = "centres" if skipgram and not hierarchical else "inputs"
    return StepShape(step, 32, window, max(shared, negative, negative_shards), side)


def choose_span(sharing: float) -> int:
    """Choose how many positions of a unit have their inputs made of subwords at a time.

    Of longer spans fewer rows are read and written, but what words share gains from all of them at
    once, from rows that none of them has changed. `sharing` is as in `Subwords`: n-grams of 3 to 6
    letters have .003, which leaves 512 positions; of one letter .2 to .3, and 512 diverge.
    """
    span = LONGEST_SPAN
    while span > SHORTEST_SPAN and span * sharing > MOST_SHARED:
        span //= 2
    return span


def choose_window(window: int, longest_sentence: int) -> int:
    """Choose how far windows reach: no further than sentences, but to a power of two.

    `longest_sentence` is how many tokens the corpus's longest sentence has.
    """
    furthest = 1 << max(0, longest_sentence - 2).bit_length()  # longest_sentence - 1, or above
    return min(window, max(NARROW_WINDOW, furthest))


def choose_max_norm(skipgram: bool, hierarchical: bool = False) -> float:
    """Choose the longest that a row's summed update of a step may be.

    Without a limit the rows of the most frequent words grow without bound. Skip-gram's with
    negative sampling was chosen by SimLex-999 over three seeds, where 1.0 gave .300 and 0.5 .296,
    about as far apart as seeds are; 0.1 is clearly worse.
    """
    return 1.0 if skipgram and not hierarchical else 0.5


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
