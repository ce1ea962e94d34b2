"""Choices of how training is laid out.

Users choose with gensim's parameters; what is chosen here follows from those, from the size of
the corpus and from measurements (see docs/how-it-works.md), and needs no thought.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.objectives import StepShape

#: Entries of a work unit on one machine.
UNIT_ENTRIES = 1 << 16

#: The same where words and then tags of documents are trained: what one learns the other needs.
PAIRED_ENTRIES = 1 << 12

#: With more words than this, a negative seldom equals a target.
FEW_WORDS = 4096

#: Tokens of a step, at most. CBOW, whose tokens take part in few pairs, bears longer ones; and the
#: nodes near the root, which are on most paths, only shorter ones.
LARGEST_STEP = {"skipgram": 512, "cbow": 2048, "hierarchical softmax": 256}

#: Of the compiled kernels: positions of a block, and negatives that it shares.
NATIVE_BLOCK = NATIVE_SHARED = 32

#: Steps of a row are alpha times its predictions. Those of a block start from the same rows, and
#: too many go too far: of a position's input, and of the most frequent word, in a block of
#: skip-gram; beyond, windows are trained one after the other. gensim's defaults take .9.
BLOCK_STEPS = 1.0
WORD_STEPS = 2.0

#: Steps of a centre's output by the words of its window that start from the same rows.
GROUP_STEPS = 0.25

#: Negatives of a prediction, at most, that may be the most frequent word without shorter groups.
SAME_NEGATIVES = 4

#: Steps of a hidden layer by the windows of CBOW that start from the same rows, and how many these
#: are at most. A path of hierarchical softmax takes steps as so many predictions do.
HIDDEN_STEPS = 0.8
LARGEST_GROUP = 4
PATH_PREDICTIONS = 6

#: The same of the windows of a block of CBOW, where there is enough text; and the least block that
#: is worth it.
BLOCK_HIDDEN_STEPS = 2.0
LEAST_BLOCK = 8

#: Blocks of a deterministic training that start from the same rows, at most: so many threads have
#: work. What more blocks change no longer fits into a core's cache, and CBOW has little else to do.
ROUND_BLOCKS = {"skipgram": 8, "cbow": 4}

#: Steps of the most frequent word in these blocks. They lie far apart, and twice `WORD_STEPS` is as
#: good; with four times as many, analogies become worse.
ROUND_WORD_STEPS = 4.0

#: Jobs of a round of a deterministic training on a cluster, whatever tasks there are: as many
#: workers have work. With 8, which are shorter, four workers take 1.4 times as long. And how many
#: rounds an epoch has, about: with a quarter of them CBOW rates word pairs far worse.
ROUND_JOBS = 4
ROUNDS = 32

#: Shares and steps of asynchronous jobs allow for all workers, but jobs overlap only in part. Those
#: of a round start from the same rows: they count as so many times as many.
ROUND_TIMES = 6

#: Positions of a block of CBOW that share negatives, and are trained at a time: kGroup in
#: native/src/cbow_sums.h.
SHARING = 4

#: Pairs of a tag and a word that share K negatives. They are trained four at a time, so four groups
#: in turn use the same ones. With `SHARING`, vectors are no better, and a cluster's traffic is 40 %
#: more.
PAIRS_SHARING = 16

#: Uses of each of a block's negatives by windows of CBOW: more push it too far from the same hidden
#: layer.
NEGATIVE_USES = 5

#: Negatives of a position, at most, and of a work unit: 32 MiB.
POSITION_NEGATIVES = 512
UNIT_NEGATIVES = 1 << 23

#: With fewer tokens, the parts of a corpus are trained in their own order, as in gensim: else the
#: step size of each is another with each seed, and so are the neighbours of the words. And windows
#: are trained one after the other: rows grow from 0, the faster the longer they are, and with
#: little text nothing makes up for the late start that blocks give them.
FEW_TOKENS = 1 << 22

#: Numbers in the rows of a step's tokens, T D, at most: above, what passes between its operations
#: is no longer in a core's cache. CBOW with D = 300 is half as fast again with T = 512 as with
#: 2048.
STEP_NUMBERS = 1 << 18

#: Positions of a span of subwords, at most, and at least with gensim's defaults; and gains of how
#: many other positions a word may take on in one: see `choose_span`.
LONGEST_SPAN = 512
SHORTEST_SPAN = 64
MOST_SHARED = 4

#: Words share most of their n-grams: what one gains the next must have, in skip-gram, and in CBOW
#: where steps are longer than gensim's defaults take.
MUCH_SHARED = 0.05

#: Windows up to this are not cut to the corpus's longest sentence: each width is another program,
#: which takes seconds to build, and the parts of a stream are of different lengths.
NARROW_WINDOW = 16

#: The largest max_window: `draw` draws windows as int32.
WIDEST_WINDOW = (1 << 31) - 2

#: Steps that an epoch should have at least: below, updates of a step are too stale for a
#: small corpus, whose vectors are still far from where they are going.
STEPS_PER_EPOCH = 512

#: On a cluster: entries of a unit, at most and at least.
CLUSTER_ENTRIES = 1 << 22
LEAST_ENTRIES = 1 << 12

#: As many units each thread should train in an epoch, if units of `LEAST_ENTRIES` allow it: the
#: fewer, the less travels, and the longer some workers wait for others at an epoch's end.
UNITS = 8

#: The same where changes are not combined by direction, and the more threads train, the more of
#: others' changes are lacking: `UNITS` times the root of their number, and so many at most.
MOST_UNITS = 32

#: Entries that one worker trains before the others begin, and the largest share of an epoch that
#: these are. Rows begin at 0 and grow with what they are predicted with; workers that start
#: together lack that of each other, and then go different ways.
WARM_ENTRIES = 1 << 21
WARM_SHARE = 0.4

#: Steps of a position (see `steps_of`; gensim's defaults take .9) up to which those of workers that
#: train at the same time may grow. With little text and longer steps, workers take turns.
CONCURRENT_STEPS = 2.0


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
    alpha: float = 0.025,
    most_frequent: float = 0.0,
    span: int | None = None,
    sharing: float = 0.0,
    documents: bool = False,
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
        As in `Program`. Each shard has at least one of a block's negatives.
    alpha : float
        The largest step size.
    most_frequent : float
        Share of the most frequent word among the tokens.
    span, sharing
        Of subwords: see `choose_span`.
    documents : bool
        Whether tags of documents are inputs. Hidden layers of CBOW are alike then, as far as the
        document goes: windows are trained one after the other, each with negatives of its own.

    Returns
    -------
    StepShape
        T is a power of two from 64 to `LARGEST_STEP`: as large as leaves `STEPS_PER_EPOCH` steps,
        and no more than `STEP_NUMBERS` numbers in its rows.
    """
    objective = "skipgram" if skipgram else "cbow"
    step = 64
    largest = LARGEST_STEP["hierarchical softmax" if hierarchical else objective]
    while largest > step and largest * vector_size > STEP_NUMBERS:
        largest //= 2
    while step < largest and tokens >= 2 * step * STEPS_PER_EPOCH:
        step *= 2
    pairs = window + 1 if shrink_windows else 2 * window
    steps = steps_of(alpha, pairs, negative, hierarchical)
    least = max(1, negative, negative_shards)
    if native:
        block = min(NATIVE_BLOCK, span or NATIVE_BLOCK)
        word_steps = block * most_frequent * steps
        in_blocks = not (documents and negative_shards > 1)
        in_blocks &= tokens >= FEW_TOKENS and steps <= BLOCK_STEPS and word_steps <= WORD_STEPS
        shares_much = sharing > MUCH_SHARED
        if skipgram and (in_blocks or shares_much and steps <= BLOCK_STEPS):
            own = max(1, -(-block // PAIRS_SHARING) * negative)
            shared = own if documents and window == 1 else max(NATIVE_SHARED, least)
            return StepShape(step, block, window, shared)
        predictions = max(1 + negative, PATH_PREDICTIONS * hierarchical)
        hidden = alpha * predictions
        if not skipgram and tokens >= FEW_TOKENS and negative_shards == 1 and not documents:
            for size in (block, block // 2, block // 4):
                of_hidden = hidden * min(size, 2 * pairs)
                of_word = size * most_frequent * steps
                fits = of_hidden <= BLOCK_HIDDEN_STEPS and of_word <= WORD_STEPS
                if fits and size >= LEAST_BLOCK:
                    return StepShape(step, size, window, max(1, -(-size // SHARING) * negative))
        if skipgram:
            most = 1 if shares_much else 2 * window  # an input predicts its window, pair by pair
            # of few words, some negatives of a group are the same word
            of_output = alpha * max(1.0, negative * most_frequent / SAME_NEGATIVES)
            group = _at_least_1(GROUP_STEPS / of_output if alpha else most, most)
            negatives: float = negative * -(-pairs // group)
        else:
            group = _at_least_1(HIDDEN_STEPS / hidden if hidden else LARGEST_GROUP, LARGEST_GROUP)
            # of a hidden layer that stays much the same, by 12 positions with gensim's defaults
            alike = alpha / 0.025 * min(block, 2 * pairs) / 12
            uses = 1 if documents else NEGATIVE_USES
            negatives = negative * min(1.0, max(1.0, alike) / uses)
        of_block = math.ceil(block * min(POSITION_NEGATIVES, negatives))
        floor = NATIVE_SHARED if block == NATIVE_BLOCK else 1
        return StepShape(
            *(step, block, window, max(of_block, floor, least)), sequential=True, group=group
        )
    if not skipgram:  # each of a position's predictions is one for all words of its window
        steps = steps_of(alpha, 1, negative, hierarchical)
    if negative and steps > BLOCK_STEPS:  # clipping alone would distort rows
        block = 32
        while block > 1 and block * alpha > BLOCK_STEPS:
            block //= 2
        turns = math.ceil(min(steps / BLOCK_STEPS, 2 * window + 1))
        return StepShape(block, block, window, max(32, least), turns=turns)
    # small corpora have few words, each drawn often: more negatives steady them
    shared = 16 if step == largest else 32
    # Skip-gram's negatives then meet a block's inputs, not the halo's: 8 % less to multiply.
    # With hierarchical softmax the centres bring more rows than the inputs do.
    side: Literal["inputs", "centres"] = "centres" if skipgram and not hierarchical else "inputs"
    return StepShape(step, 32, window, max(shared, least), side)


def choose_round_blocks(
    shape: StepShape, skipgram: bool, most_frequent: float, steps: float
) -> int:
    """Choose how many blocks of a unit start from the same rows in a deterministic training.

    It is a power of two, so that threads get equal shares, and 1 where windows are trained one by
    one. `most_frequent` is as in `choose_shape`, and `steps` are those of `steps_of`.
    """
    number = 1 if shape.sequential else ROUND_BLOCKS["skipgram" if skipgram else "cbow"]
    while number > 1 and number * shape.block * most_frequent * steps > ROUND_WORD_STEPS:
        number //= 2
    return number


def steps_of(alpha: float, pairs: int, negative: int, hierarchical: bool = False) -> float:
    """Steps of an input by all the predictions that one position is part of; see `BLOCK_STEPS`."""
    return alpha * pairs * (1 + negative + PATH_PREDICTIONS * hierarchical)


def _at_least_1(number: float, most: int) -> int:
    return int(max(1, min(number, most)))


def choose_span(sharing: float, steps: float, skipgram: bool) -> int:
    """Choose how many positions of a unit have their inputs made of subwords at a time.

    Of longer spans fewer rows are read and written, but what words share gains from all of them at
    once, from rows that none of them has changed. `sharing` is as in `Subwords`: n-grams of 3 to 6
    letters have .003, which leaves 512 positions; of one letter .2 to .3, and 512 diverge. `steps`
    are those of `steps_of`: spans are the shorter, the more these are than with gensim's defaults.
    """
    if sharing > MUCH_SHARED and (skipgram or steps > BLOCK_STEPS):
        return 1
    span = LONGEST_SPAN
    times = max(1.0, steps / steps_of(0.025, 6, 5))
    while span > 1 and span * times > SHORTEST_SPAN and span * sharing * times > MOST_SHARED:
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


def choose_unit_entries(
    tokens: int, threads: int, directed: bool = True, in_rounds: bool = False
) -> int:
    """Choose how many entries a work unit on a cluster has, at most.

    Parameters
    ----------
    tokens : int
        Of the corpus.
    threads : int
        Of all workers together.
    directed : bool
        Whether their changes are combined by direction; see `curvature`.
    in_rounds : bool
        Whether these are those of `ROUNDS`.
    """
    units = UNITS if directed else min(MOST_UNITS, math.ceil(UNITS * math.sqrt(threads)))
    units = ROUNDS if in_rounds else units
    return min(CLUSTER_ENTRIES, max(LEAST_ENTRIES, tokens // (threads * units)))


def choose_warm_units(units: int, entries: int) -> int:
    """Choose how many of an epoch's units, of so many entries, one worker trains alone at first."""
    return min(-(-WARM_ENTRIES // entries), math.ceil(WARM_SHARE * units))


def choose_largest_growth(tokens: float, steps: float) -> float:
    """Choose by how much the steps of workers may grow, where a position takes so many.

    With little text they don't grow: vectors would be longer than one worker's.
    """
    return max(1.0, CONCURRENT_STEPS / steps) if steps and tokens >= FEW_TOKENS else 1.0


def must_take_turns(tokens: float, steps: float) -> bool:
    """Decide whether only one worker trains at a time.

    By long steps on a small corpus, workers find vectors so different that their mean is useless.
    """
    return tokens < FEW_TOKENS and steps > CONCURRENT_STEPS
