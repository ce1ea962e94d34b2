"""Sizes of a training: of windows, blocks, spans, work units and steps.

They follow from gensim's parameters, from the size of the corpus and from measurements (see
docs/how-it-works.md).
"""

from __future__ import annotations

import math

from gensim_tfw2v.kernel.kernel_config import KernelShape, Objective

#: Entries of a work unit on one machine.
UNIT_ENTRIES = 1 << 16

#: The same where words and then tags of documents are trained: what one learns the other needs.
PAIRED_ENTRIES = 1 << 12

#: With more words than this, a negative seldom equals a target.
SMALL_VOCABULARY = 4096

#: Of the compiled kernels: positions of a block, and negatives that it shares.
NATIVE_BLOCK = NATIVE_SHARED = 32

#: A row's effective step is alpha times its updates that start from the same rows, as those of a
#: block do. Too long a step goes too far: of a position's input, and of the most frequent word, in
#: a block of skip-gram; beyond, windows are trained one after the other. gensim's defaults have .9.
DEFAULT_STEP = 0.025 * 6 * (1 + 5)
MAX_INPUT_STEP = 1.0
MAX_WORD_STEP = 2.0

#: Effective step of a centre's output by the words of its window.
MAX_GROUP_STEP = 0.25

#: Negatives of a prediction, at most, that may be the most frequent word without shorter groups.
MAX_SAME_NEGATIVES = 4

#: Effective step of a hidden layer of CBOW by the windows that are trained at a time, and how many
#: these are at most. A path of hierarchical softmax counts as so many predictions.
MAX_HIDDEN_STEP = 0.8
MAX_GROUP = 4
PATH_PREDICTIONS = 6

#: The same of the windows of a block of CBOW, where there is enough text; and the least block that
#: is worth it.
MAX_BLOCK_HIDDEN_STEP = 2.0
MIN_BLOCK = 8

#: Blocks of a deterministic training that start from the same rows, at most: so many threads have
#: work. What more blocks change no longer fits into a core's cache, and CBOW has little else to do.
ROUND_BLOCKS = {"skipgram": 8, "cbow": 4}

#: Effective step of the most frequent word in these blocks. They lie far apart, and twice
#: `MAX_WORD_STEP` is as good; with four times as much, analogies become worse.
MAX_ROUND_WORD_STEP = 4.0

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
GROUP = 4

#: Pairs of a tag and a word that share K negatives. They are trained four at a time, so four groups
#: in turn use the same ones. With `GROUP`, vectors are no better, and a cluster's traffic is 40 %
#: more.
TAG_GROUP = 16

#: Uses of each of a block's negatives by windows of CBOW: more push it too far from the same hidden
#: layer.
MAX_NEGATIVE_USES = 5

#: Negatives of a position, at most, and of a work unit: 32 MiB.
MAX_POSITION_NEGATIVES = 512
MAX_UNIT_NEGATIVES = 1 << 23

#: With fewer tokens, the parts of a corpus are trained in their own order, as in gensim: else the
#: step size of each is another with each seed, and so are the neighbours of the words. And windows
#: are trained one after the other: rows grow from 0, the faster the longer they are, and with
#: little text nothing makes up for the late start that blocks give them.
SMALL_CORPUS = 1 << 22

#: Positions of a span of subwords, at most, and at least with gensim's defaults; and updates of how
#: many other positions a word may take on in one: see `choose_span`.
MAX_SPAN = 512
MIN_SPAN = 64
MAX_OVERLAP = 4

#: Words share most of their n-grams: the next must have what one is updated by, in skip-gram, and
#: in CBOW where steps are longer than with gensim's defaults.
HIGH_OVERLAP = 0.05

#: Windows up to this are not cut to the corpus's longest sentence: each width is another function,
#: which takes seconds to build, and the parts of a stream are of different lengths.
NARROW_WINDOW = 16

#: The largest max_window: `draw` draws windows as int32.
WIDEST_WINDOW = (1 << 31) - 2

#: On a cluster: entries of a unit, at most and at least.
CLUSTER_ENTRIES = 1 << 22
MIN_ENTRIES = 1 << 12

#: As many units each thread should train in an epoch, if units of `MIN_ENTRIES` allow it: the
#: fewer, the less travels, and the longer some workers wait for others at an epoch's end.
UNITS = 8

#: The same where changes are not combined by direction, and the more threads train, the more of
#: others' changes are lacking: `UNITS` times the root of their number, and so many at most.
MAX_UNITS = 32

#: Entries that one worker trains before the others begin, and the largest share of an epoch that
#: these are. Rows begin at 0 and grow with what they are predicted with; workers that start
#: together lack that of each other, and then go different ways.
WARM_ENTRIES = 1 << 21
WARM_SHARE = 0.4

#: Effective step of an input up to which those of workers that train at the same time may grow.
#: With little text and longer steps, workers take turns.
MAX_CONCURRENT_STEP = 2.0


def effective_step(objective: Objective, pairs: float, alpha: float) -> float:
    """Step of an input by all the predictions that one position is part of: alpha times these.

    `pairs` is the number of words in a window, on average.
    """
    of_paths = PATH_PREDICTIONS * objective.hierarchical
    return alpha * pairs * (1 + objective.negative + of_paths)


def choose_kernel_shape(
    objective: Objective,
    tokens: int,
    window: int,
    pairs: float,
    alpha: float = 0.025,
    most_frequent: float = 0.0,
    negative_shards: int = 1,
    ngram_overlap: float | None = None,
    documents: bool = False,
) -> KernelShape:
    """Choose the sizes by which compiled kernels train.

    Parameters
    ----------
    tokens : int
        Tokens an epoch that are trained on.
    window, alpha
        gensim's parameters, the latter the largest step size.
    pairs : float
        Words in a window, on average.
    most_frequent : float
        Share of the most frequent word among the tokens.
    negative_shards : int
        Each has at least one of a block's negatives.
    ngram_overlap : float, optional
        Of subwords: see `choose_span`.
    documents : bool
        Whether tags of documents are inputs. Hidden layers of CBOW are alike then, as far as the
        document goes: windows are trained one after the other, each with negatives of its own.
    """
    negative = objective.negative
    step = effective_step(objective, pairs, alpha)
    block = NATIVE_BLOCK
    span = 1
    overlaps = False
    if ngram_overlap is not None:
        span = choose_span(ngram_overlap, step, objective.skipgram)
        block = min(block, span)
        overlaps = ngram_overlap > HIGH_OVERLAP
    min_shared = max(1, negative, negative_shards)
    is_large = tokens >= SMALL_CORPUS
    if objective.skipgram:
        word_step = block * most_frequent * step
        fits = is_large and word_step <= MAX_WORD_STEP and not (documents and negative_shards > 1)
        if step <= MAX_INPUT_STEP and (fits or overlaps):
            of_tags = max(1, math.ceil(block / TAG_GROUP) * negative)
            shared = of_tags if documents and window == 1 else max(NATIVE_SHARED, min_shared)
            return KernelShape(block, window, shared, span=span)
        # of few words, some negatives of a group are the same word
        output_step = alpha * max(1.0, negative * most_frequent / MAX_SAME_NEGATIVES)
        # an input predicts its window, pair by pair
        group = _group(MAX_GROUP_STEP, output_step, 1 if overlaps else 2 * window)
        negatives: float = negative * math.ceil(pairs / group)
    else:
        hidden_step = alpha * max(1 + negative, PATH_PREDICTIONS * objective.hierarchical)
        if is_large and negative_shards == 1 and not documents:
            for size in (block, block // 2, block // 4):
                of_hidden = hidden_step * min(size, 2 * pairs)
                fits = of_hidden <= MAX_BLOCK_HIDDEN_STEP
                fits &= size * most_frequent * step <= MAX_WORD_STEP
                if fits and size >= MIN_BLOCK:
                    shared = max(1, math.ceil(size / GROUP) * negative)
                    return KernelShape(size, window, shared, span=span)
        group = _group(MAX_HIDDEN_STEP, hidden_step, MAX_GROUP)
        # of a hidden layer that stays much the same, by 12 positions with gensim's defaults
        alike = alpha / 0.025 * min(block, 2 * pairs) / 12
        uses = 1 if documents else MAX_NEGATIVE_USES
        negatives = negative * min(1.0, max(1.0, alike) / uses)
    of_block = math.ceil(block * min(MAX_POSITION_NEGATIVES, negatives))
    floor = NATIVE_SHARED if block == NATIVE_BLOCK else 1
    shared = max(of_block, floor, min_shared)
    return KernelShape(block, window, shared, sequential=True, group=group, span=span)


def _group(max_step: float, step: float, most: int) -> int:
    """As many as take no more than the largest step together, from 1 to so many."""
    return int(max(1, min(max_step / step, most))) if step else most


def choose_round_blocks(
    shape: KernelShape, skipgram: bool, most_frequent: float, step: float
) -> int:
    """Choose how many blocks of a unit start from the same rows in a deterministic training.

    It is a power of two, so that threads get equal shares, and 1 where windows are trained one by
    one. `most_frequent` is as in `choose_kernel_shape`, `step` that of `effective_step`.
    """
    number = 1 if shape.sequential else ROUND_BLOCKS["skipgram" if skipgram else "cbow"]
    while number > 1 and number * shape.block * most_frequent * step > MAX_ROUND_WORD_STEP:
        number //= 2
    return number


def choose_span(ngram_overlap: float, step: float, skipgram: bool) -> int:
    """Choose how many positions of a unit have their inputs made of subwords at a time.

    Of longer spans fewer rows are read and written, but what words share is updated by all of them
    at once, from rows that none of them has changed. `ngram_overlap` is as in `Subwords`: n-grams
    of 3 to 6 letters have .003, which leaves 512 positions; of one letter .2 to .3, and 512
    diverge. `step` is that of `effective_step`: spans are the shorter, the longer it is than with
    gensim's defaults.
    """
    if ngram_overlap > HIGH_OVERLAP and (skipgram or step > MAX_INPUT_STEP):
        return 1
    span = MAX_SPAN
    times = max(1.0, step / DEFAULT_STEP)
    while span > 1 and span * times > MIN_SPAN and span * ngram_overlap * times > MAX_OVERLAP:
        span //= 2
    return span


def choose_window(window: int, longest_sentence: int) -> int:
    """Choose how far windows reach: no further than sentences, but to a power of two.

    `longest_sentence` is how many tokens the corpus's longest sentence has.
    """
    furthest = 1 << max(0, longest_sentence - 2).bit_length()  # longest_sentence - 1, or above
    return min(window, max(NARROW_WINDOW, furthest))


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
    units = UNITS if directed else min(MAX_UNITS, math.ceil(UNITS * math.sqrt(threads)))
    units = ROUNDS if in_rounds else units
    return min(CLUSTER_ENTRIES, max(MIN_ENTRIES, tokens // (threads * units)))


def choose_warm_units(units: int, entries: int) -> int:
    """Choose how many of an epoch's units, of so many entries, one worker trains alone at first."""
    return min(-(-WARM_ENTRIES // entries), math.ceil(WARM_SHARE * units))


def choose_max_growth(tokens: float, step: float) -> float:
    """Choose by how much the steps of workers may grow from this `effective_step`.

    With little text they don't grow: vectors would be longer than one worker's.
    """
    return max(1.0, MAX_CONCURRENT_STEP / step) if step and tokens >= SMALL_CORPUS else 1.0


def must_take_turns(tokens: float, step: float) -> bool:
    """Decide whether only one worker trains at a time.

    By long steps on a small corpus, workers find vectors so different that their mean is useless.
    """
    return tokens < SMALL_CORPUS and step > MAX_CONCURRENT_STEP
