"""How many bytes travel for each token that is trained on, with negative sampling."""

import numpy as np

from gensim_tfw2v.kernel.objectives.blocks import NearPairs
from gensim_tfw2v.planning.workload import Workload

#: Bytes of a number that travels, of a row's id, of a place in a step, of a row's length or size.
NUMBER, ID, PLACE, SIZE = 2, 4, 2, 4


def distinct_rows(work: Workload, tokens: float) -> tuple[float, float]:
    """Rows of inputs and of outputs that a run of n tokens needs.

    A word that has n p occurrences in the mean, in bursts of b, is in the run with a chance of
    1 - exp(-n p / b).
    """
    words = tokens * work.frequencies.words / work.frequencies.burst
    draws = tokens / work.shape.block * work.shape.shared
    inputs = -np.expm1(-words).sum()
    outputs = -np.expm1(-words - draws * work.frequencies.noise).sum()
    return float(inputs), float(outputs)


def row_bytes(work: Workload, tokens: float) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where rows travel once for so many tokens.

    These are the tokens of a job; of a step, where rows travel in each.
    """
    rows = sum(distinct_rows(work, tokens)) / tokens
    return rows * NUMBER * work.vector_size, rows * (NUMBER * work.vector_size + ID)


def column_bytes(work: Workload, shards: int) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where S ps tasks hold columns and multiply them."""
    shape = work.shape
    rows = sum(distinct_rows(work, shape.tokens))
    places = shape.blocks * (shape.inputs + shape.columns)
    if work.skipgram:
        products, windows = shape.blocks * NearPairs(shape).number, 0
    else:
        products = shape.blocks * shape.centres * (1 + shape.shared)
        windows = shape.blocks * shape.centres
    fetched = NUMBER * products + SIZE * rows
    # of each row its place in the step, and twice where its update is summed
    pushed = NUMBER * products + (ID + SIZE) * rows + 3 * PLACE * places + 4 * windows
    return shards * fetched / shape.tokens, shards * pushed / shape.tokens


def target_bytes(work: Workload, shards: int, own_negatives: bool) -> tuple[float, float]:
    """Bytes a token, fetched and pushed, where output rows stay and input rows travel to them.

    No layout does so: see docs/planning.md. An input row is sent to each of S ps tasks that has an
    output row for it, and the sum of its updates comes back (Stergiou et al. 2017, "Distributed
    Negative Sampling for Word Embeddings"); whoever trains fetches it from its own ps before, and
    pushes it there.

    Parameters
    ----------
    work : Workload
    shards : int
        S.
    own_negatives : bool
        Whether a target's negatives are of its own shard. Then an input row is sent only where a
        target is that it is in the window of; else also where one of its block's negatives is.
    """
    shape, window = work.shape, work.shape.window
    # a window is reduced to 1..w, so it reaches d words far with a chance of (w - d + 1) / w
    reached = np.arange(1, window + 1) / window
    without = float(np.prod((1.0 - reached / shards) ** 2))
    if not own_negatives:
        without *= (1.0 - 1.0 / shards) ** shape.shared
    needed = 1.0 - without
    words = shape.tokens * work.frequencies.words / work.frequencies.burst
    copies = -shards * float(np.expm1(-needed * words).sum())
    rows = (copies + distinct_rows(work, shape.tokens)[0]) / shape.tokens
    size = NUMBER * work.vector_size
    return rows * size, rows * (size + ID)
