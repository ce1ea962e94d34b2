"""Sizes of blocks, groups, spans and windows.

The functions compute them from gensim's parameters and the size of the corpus. Most constants were
chosen by measurements.

The *effective step* of a row is alpha times the number of its updates that are computed from the
same rows ("load" in docs/how-it-works.md, "Blocks or windows"). If it is too large, the row
overshoots. The limits below were checked against gensim's vectors over a grid of options
(``python -m benchmarks.options``; docs/benchmarks/options.md has the results for one machine,
options-cluster.md for a cluster).
"""

import math
from dataclasses import asdict, fields
from typing import Any

from gensim_tfw2v.compiled_library import Options, kernel_number
from gensim_tfw2v.kernel.kernel_shape import KernelShape
from gensim_tfw2v.kernel.objective import Objective

#: Maximum number of words in a vocabulary for which negatives that equal their target are skipped.
SMALL_VOCABULARY = 4096

#: Positions of a full block of the compiled kernels, and minimum number of negatives that it
#: shares. Blocks of CBOW, of subwords and of (tag, word) pairs may have fewer positions or
#: negatives.
NATIVE_BLOCK = NATIVE_SHARED = 32

#: Effective step of an input with gensim's defaults: 0.9. alpha is 0.025. A window has 6 words on
#: average, each with a target and 5 negatives.
DEFAULT_STEP = 0.025 * 6 * (1 + 5)

#: Maximum effective step of one position's input for which skip-gram trains in blocks. Beyond it,
#: the compiled kernels train window by window, and a step of the TensorFlow fallback is one block.
MAX_INPUT_STEP = 1.0

#: Maximum effective step of the most frequent word within a block. Beyond it, CBOW trains in
#: shorter blocks or by windows, and skip-gram trains by windows.
MAX_WORD_STEP = 2.0

#: Maximum effective step of a word that occurs often in a certain block of skip-gram, such as in
#: lists and tables. A block with a larger one is trained in parts. With twice this step, the
#: longest vectors of a text of source code are 1.6 times as long as gensim's. With gensim's
#: defaults, 2 % of the blocks of Wikipedia exceed it, and 38 % of those of source code.
MAX_REPEATED_STEP = 4.0

#: Maximum effective step of a centre's output row in skip-gram by windows: alpha times the words of
#: a window that are trained as one group. With alpha = 0.025, a group has at most 10 words.
MAX_GROUP_STEP = 0.25

#: Maximum expected number of one prediction's negatives that are the most frequent word. Above it,
#: the groups of skip-gram by windows are smaller in proportion.
MAX_SAME_NEGATIVES = 4

#: Maximum effective step of a hidden layer of CBOW by windows: alpha times the predictions of the
#: windows that are trained as one group.
MAX_HIDDEN_STEP = 0.8

#: Maximum number of windows in a group of CBOW by windows.
MAX_GROUP = 4

#: In an effective step, a path of hierarchical softmax counts as this many predictions.
PATH_PREDICTIONS = 6

#: Maximum effective step of a hidden layer for which CBOW trains in blocks. The step is alpha times
#: the predictions of n positions. Here n is the size of the block, or the mean number of words in
#: two windows if that is smaller. With gensim's defaults, the step is 1.8.
MAX_BLOCK_HIDDEN_STEP = 2.0

#: Minimum positions of a block of CBOW. With fewer, CBOW trains by windows.
MIN_BLOCK = 8

#: Maximum number of blocks that start from the same rows in a deterministic training on one
#: machine. No more threads than blocks have work. The updates of more blocks would not fit into a
#: core's cache, which slows CBOW down first, because it computes little per update.
ROUND_BLOCKS = {"skipgram": 8, "cbow": 4}

#: Maximum effective step of the most frequent word in blocks that start from the same rows in a
#: deterministic training. These blocks are distant parts of the text, so twice `MAX_WORD_STEP` is
#: as good as `MAX_WORD_STEP`. With four times that step, accuracy on analogies is lower.
MAX_ROUND_WORD_STEP = 4.0

#: Number of positions in a group of a CBOW block: kGroup in native/src/kernels/cbow_sums.h. They
#: share K negatives, where K is gensim's `negative`.
GROUP = 4

#: Number of (tag, word) pairs per K negatives of a block. The kernel trains four pairs as one
#: group, and every second group of a block uses the same negatives. With K negatives for only four
#: pairs, vectors are no better, and a cluster's traffic is 40 % higher.
TAG_GROUP = 16

#: Maximum number of windows of CBOW that use the same negative of a block. Hidden layers of nearby
#: windows are alike, so updates by more windows would move the negative too far.
MAX_NEGATIVE_USES = 5

#: Maximum number of negatives that are drawn per position.
MAX_POSITION_NEGATIVES = 512

#: Minimum tokens of a corpus that is trained in blocks, and whose work units skip-gram shuffles.
#: A smaller one is trained window by window in the order of the text, as in gensim. If it were
#: shuffled, each part would have a different learning rate with each seed, and words would have
#: different neighbours. Blocks delay the first growth of output rows, which start from 0 and grow
#: faster the longer they are. In a small corpus, they do not catch up.
SMALL_CORPUS = 1 << 22

#: Maximum positions of a span of subwords; see `choose_span`.
MAX_SPAN = 512

#: Minimum positions of a span with gensim's default alpha, window and negative. With a larger
#: effective step, the minimum is smaller in proportion. For spans of one position, see
#: `HIGH_OVERLAP`.
MIN_SPAN = 64

#: Maximum product of a span's positions and the n-gram overlap. The product is about the number of
#: positions whose updates are added to a word's input although they are computed from the same
#: rows.
MAX_OVERLAP = 4

#: N-gram overlap above which words share so many n-grams that each needs the update of the word
#: before it. A span then has one position in skip-gram, and in CBOW if the effective step exceeds
#: `MAX_INPUT_STEP`.
HIGH_OVERLAP = 0.05

#: Maximum window that is not cut to the longest sentence of the corpus. Each window size needs its
#: own function, which takes TensorFlow seconds to trace. If small windows were cut too, functions
#: would often be traced, because the parts of a streamed corpus differ in their longest sentence.
NARROW_WINDOW = 16

#: Maximum of the option `window`. `gensim_tfw2v.graph.draws.draw` needs ``window + 1`` as an int32.
WIDEST_WINDOW = (1 << 31) - 2


def effective_step(objective: Objective, pairs: float, alpha: float) -> float:
    """Return the effective step of an input at one position: alpha times its predictions.

    `pairs` is the mean number of words in a window.
    """
    path_predictions = PATH_PREDICTIONS * objective.hierarchical
    return alpha * pairs * (1 + objective.negative + path_predictions)


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
    """Choose the sizes of the compiled kernels.

    Parameters
    ----------
    tokens : int
        Tokens per epoch, after subsampling.
    window, alpha
        gensim's parameters; `alpha` is the maximum learning rate.
    pairs : float
        Mean number of words in a window.
    most_frequent : float
        Fraction of the tokens that are the most frequent word.
    negative_shards : int
        Number of shards of the noise. Each has at least one of a block's negatives.
    ngram_overlap : float, optional
        `Subwords.ngram_overlap`; None without subwords.
    documents : bool
        Whether tags of documents are inputs. Hidden layers of CBOW are then alike throughout a
        document, so CBOW trains by windows, each with negatives of its own.
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
            tag_negatives = max(1, math.ceil(block / TAG_GROUP) * negative)
            shared = tag_negatives if documents and window == 1 else max(NATIVE_SHARED, min_shared)
            repeats = int(min(block, MAX_REPEATED_STEP / step)) if step else block
            return KernelShape(block, window, shared, span=span, repeats=repeats)
        # in a small vocabulary, several negatives of a prediction are the same word
        output_step = alpha * max(1.0, negative * most_frequent / MAX_SAME_NEGATIVES)
        # with a high overlap, each word of a window is trained by itself
        group = _group(MAX_GROUP_STEP, output_step, 1 if overlaps else 2 * window)
        negatives: float = negative * math.ceil(pairs / group)
    else:
        hidden_step = alpha * max(1 + negative, PATH_PREDICTIONS * objective.hierarchical)
        if is_large and negative_shards == 1 and not documents:
            for size in (block, block // 2, block // 4):
                repeated_step = hidden_step * min(size, 2 * pairs)
                fits = repeated_step <= MAX_BLOCK_HIDDEN_STEP
                fits &= size * most_frequent * step <= MAX_WORD_STEP
                if fits and size >= MIN_BLOCK:
                    shared = max(1, math.ceil(size / GROUP) * negative)
                    return KernelShape(size, window, shared, span=span)
        group = _group(MAX_HIDDEN_STEP, hidden_step, MAX_GROUP)
        # total learning rate of successive windows with similar hidden layers, relative to gensim's
        # defaults (12 positions of alpha = 0.025)
        alike = alpha / 0.025 * min(block, 2 * pairs) / 12
        uses = 1 if documents else MAX_NEGATIVE_USES
        negatives = negative * min(1.0, max(1.0, alike) / uses)
    block_negatives = math.ceil(block * min(MAX_POSITION_NEGATIVES, negatives))
    floor = NATIVE_SHARED if block == NATIVE_BLOCK else 1
    shared = max(block_negatives, floor, min_shared)
    return KernelShape(block, window, shared, sequential=True, group=group, span=span)


def kernels_can_train(objective: Objective) -> bool:
    """Return whether the compiled kernels can train an objective.

    A field of `Objective` that is not an option of the kernels must have its default value.
    """
    return all(
        field.name in Options._fields or getattr(objective, field.name) == field.default
        for field in fields(objective)
    )


def choose_kernel_options(problem: Any) -> Options:
    """Choose the options of the compiled kernels for a `gensim_tfw2v.engines.problem.Problem`.

    Raises a ValueError if ``problem.kernel`` is not the name of a kernel.
    """
    options = problem.options
    objective = options.objective
    shape = choose_kernel_shape(
        objective,
        window=problem.window,
        pairs=problem.pairs,
        alpha=options.alpha,
        ngram_overlap=problem.ngram_overlap,
        tokens=problem.tokens,
        most_frequent=problem.most_frequent,
        negative_shards=options.negative_shards,
        documents=options.has_documents,
    )
    objective_options = {
        name: value for name, value in asdict(objective).items() if name in Options._fields
    }
    kernel_options = Options(
        **objective_options,
        **asdict(shape),
        skip_targets=must_skip_targets(objective, problem.n_words),
        shards=options.negative_shards,
        shrink=options.shrink_windows,
        max_window=options.window if options.shrink_windows else problem.window,
        documents=options.has_documents,
        train_words=not options.has_documents or options.dbow_words,
        concatenated=options.concatenated,
        padding=problem.padding,
        learn_hidden=options.learn_hidden,
        kernel=kernel_number(problem.kernel) if problem.kernel else 0,
    )
    return Options._make(map(int, kernel_options))  # ints, because TensorFlow refuses bools


def _group(max_step: float, step: float, max_updates: int) -> int:
    """Return how many updates of size `step` fit into `max_step`, from 1 to `max_updates`."""
    return int(max(1, min(max_step / step, max_updates))) if step else max_updates


def choose_round_blocks(
    shape: KernelShape | Options, skipgram: bool, most_frequent: float, step: float
) -> int:
    """Choose how many blocks of a unit start from the same rows in a deterministic training.

    The number is a power of two, so that threads get equal numbers of blocks. It is 1 if training
    is by windows. `most_frequent` is as in `choose_kernel_shape`, `step` is the `effective_step`.
    """
    n_blocks = 1 if shape.sequential else ROUND_BLOCKS["skipgram" if skipgram else "cbow"]
    while n_blocks > 1 and n_blocks * shape.block * most_frequent * step > MAX_ROUND_WORD_STEP:
        n_blocks //= 2
    return n_blocks


def must_skip_targets(objective: Objective, n_words: int) -> bool:
    """Return whether a negative that equals its target is skipped, as in gensim.

    In a small vocabulary, such negatives are frequent. In a large one, the comparison only costs
    time.
    """
    return objective.negative > 0 and n_words <= SMALL_VOCABULARY


def choose_span(ngram_overlap: float, step: float, skipgram: bool) -> int:
    """Choose the number of positions in a span.

    The inputs of a span's words are composed from their n-gram rows once, at its start. Longer
    spans read and write fewer rows. But a shared n-gram row then gets the updates of all its words
    at the end of the span, each computed without the others.

    `ngram_overlap` is `Subwords.ngram_overlap`. It is .003 for n-grams of 3 to 6 letters, which
    allows 512 positions. It is .2 to .3 for n-grams of one letter, with which 512 positions
    diverge. `step` is the `effective_step`: if it exceeds gensim's default, spans are shorter in
    proportion.
    """
    if ngram_overlap > HIGH_OVERLAP and (skipgram or step > MAX_INPUT_STEP):
        return 1
    span = MAX_SPAN
    times = max(1.0, step / DEFAULT_STEP)
    while span > 1 and span * times > MIN_SPAN and span * ngram_overlap * times > MAX_OVERLAP:
        span //= 2
    return span


def choose_window(window: int, longest_sentence: int) -> int:
    """Choose the window: `window`, unless the longest sentence needs less.

    A sentence of n tokens needs a window of n - 1, which is rounded up to a power of two, and to at
    least `NARROW_WINDOW`. `longest_sentence` is the number of tokens of the longest sentence.
    """
    furthest = 1 << max(0, longest_sentence - 2).bit_length()  # longest_sentence - 1, or above
    return min(window, max(NARROW_WINDOW, furthest))
