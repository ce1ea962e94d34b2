"""Work of a training run: frequencies of words, size of the vectors, and traffic of its rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.graph.objectives import NearPairs
from gensim_tfw2v.graph.step_shape import StepShape, choose_step_shape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.parameter_server.wire import SCALE_BYTES
from gensim_tfw2v.planning.checks import add_deprecated_names, check_finite, check_whole
from gensim_tfw2v.unit_sizes import MIN_OTHER_NEGATIVES, NEGATIVE_USES
from gensim_tfw2v.weight_tables import OUTPUT_LAYER

#: Mean occurrences of a word in passages that contain it (Church and Gale 1995, "Poisson
#: mixtures"). With this value, the predicted number of distinct words in passages of 512 to 1 M
#: tokens of Wikipedia is correct within a tenth.
BURST = 1.6

# Zipf's law in the form of Mandelbrot 1953: the frequency of the word of rank r (from 1) is
# proportional to (r + ZIPF_OFFSET) ** -ZIPF_EXPONENT. Fitted to 69,000 words of Wikipedia.
ZIPF_OFFSET = 2.7
ZIPF_EXPONENT = 1.15

# Bytes on the network, in both layouts.
ELEMENT_BYTES = 1  # an element of a row
ID_BYTES = 4  # the id of a row
PRODUCT_BYTES = 2  # a dot product over the columns of a ps, or the coefficient computed from it
INDEX_BYTES = 2  # the index of a row within a step
NORM_BYTES = (
    4  # the squared norm of a row's update, or the factor by which the update is multiplied
)
# Bytes in memory.
FLOAT_BYTES = 4  # an element of a table

#: Number of tables of a model with negative sampling: the inputs, and tables of the output layer.
N_TABLES = 1 + sum(1 for array in OUTPUT_LAYER if array.option == "negative")

#: Processor to which `CORE_NS` is fitted.
PROCESSOR = "Intel Xeon (Emerald Rapids) with AVX-512"

#: Nanoseconds in which a core trains a token on one machine: a constant, and an addition per
#: dimension of the vectors. The key is False for CBOW, True for skip-gram. Fitted by
#: `benchmarks.fit`.
CORE_NS = {False: (195.9, 1.083), True: (222.0, 2.580)}


class Frequencies(NamedTuple):
    """Relative frequencies of words among the tokens left by subsampling.

    Attributes
    ----------
    words : ndarray [V]
        Relative frequency of each word; the sum is 1.
    noise : ndarray [V]
        Probability that a word is drawn as a negative; the sum is 1.
    kept : float
        Fraction of the corpus's tokens that subsampling leaves, in (0, 1].
    burst : float
        Mean occurrences of a word in passages that contain it; 1 if words occur independently
        (Church and Gale 1995, "Poisson mixtures").
    """

    words: np.ndarray
    noise: np.ndarray
    kept: float
    burst: float = BURST

    @classmethod
    def from_counts(
        cls, counts: np.ndarray, sample: float = 1e-3, ns_exponent: float = 0.75
    ) -> "Frequencies":
        """Compute the frequencies of a vocabulary from its counts [V].

        `sample` and `ns_exponent` are gensim's parameters.
        """
        share = np.asarray(counts, np.float64) / np.sum(counts)
        keep = np.minimum(1.0, (np.sqrt(share / sample) + 1) * sample / share) if sample else 1.0
        noise = share**ns_exponent
        words = share * keep
        return cls(words / words.sum(), noise / noise.sum(), float(words.sum()))

    @classmethod
    def zipf(cls, vocabulary: int, **options: float) -> "Frequencies":
        """Estimate the frequencies of `vocabulary` words of natural language.

        They follow Zipf's law in the form of Mandelbrot 1953: (rank + 2.7) ** -1.15. `options` are
        passed to `from_counts`.
        """
        ranks = np.arange(1, vocabulary + 1)
        return cls.from_counts((ranks + ZIPF_OFFSET) ** -ZIPF_EXPONENT, **options)


add_deprecated_names(Frequencies, {"of_counts": "from_counts"})


@dataclass(frozen=True)
class Workload:
    """Work of a training run: its vocabulary, the size of the vectors, and the shape of a step.

    Parameters
    ----------
    frequencies : Frequencies
        Frequencies of the V words.
    vector_size : int
        Dimensions D of the vectors.
    shape : StepShape
        Sizes of a training step, which `for_text` and `for_frequencies` choose.
    skipgram : bool
        Skip-gram if true, CBOW if false.
    """

    frequencies: Frequencies
    vector_size: int
    shape: StepShape
    skipgram: bool = True

    @classmethod
    def for_text(
        cls,
        vocabulary: int,
        tokens: float,
        vector_size: int = 100,
        window: int = 5,
        negative: int = 5,
        skipgram: bool = True,
        sample: float = 1e-3,
    ) -> "Workload":
        """Estimate the work of a text whose words follow Zipf's law.

        `vocabulary` is the number of words V, and `tokens` the length of the text in words. The
        remaining parameters are gensim's. A TypeError or ValueError is raised for a number of the
        wrong type or below its minimum.
        """
        check_whole("vocabulary", vocabulary)
        check_finite("tokens", tokens)
        for name, value in ("vector_size", vector_size), ("window", window), ("negative", negative):
            check_whole(name, value)
        check_finite("sample", sample, may_be_zero=True)
        if sample >= 1:
            raise ValueError(
                f"sample must be below 1, got {sample:g}: gensim compares larger values with "
                "counts of words, and the counts of this text are not known"
            )
        frequencies = Frequencies.zipf(vocabulary, sample=sample)
        return cls.for_frequencies(frequencies, tokens, vector_size, window, negative, skipgram)

    @classmethod
    def for_frequencies(
        cls,
        frequencies: Frequencies,
        tokens: float,
        vector_size: int = 100,
        window: int = 5,
        negative: int = 5,
        skipgram: bool = True,
    ) -> "Workload":
        """Return the work of a text of `tokens` words with these frequencies."""
        objective = Objective(skipgram, negative)
        n_kept = int(tokens * frequencies.kept)
        # Only columns train in steps. For rows, just the number of negatives per position is used.
        shape = choose_step_shape(
            objective, n_kept, window, window + 1, vector_size=vector_size, in_columns=True
        )
        return cls(frequencies, vector_size, shape, skipgram)

    @property
    def core_ns(self) -> float:
        """Nanoseconds that a core takes per raw word, on one machine."""
        per_word, per_dimension = CORE_NS[self.skipgram]
        return self.frequencies.kept * (per_word + per_dimension * self.vector_size)

    @property
    def tables(self) -> float:
        """Bytes of the input and output vectors, 8 · V · D."""
        return float(N_TABLES * len(self.frequencies.words) * self.vector_size * FLOAT_BYTES)


add_deprecated_names(Workload, {"of_text": "for_text"})


def distinct_rows(work: Workload, tokens: float, is_job: bool = False) -> tuple[float, float]:
    """Return the numbers of distinct input rows and output rows that a text of n tokens needs.

    A word of frequency p, whose n p expected occurrences come in bursts of b, occurs in the text
    with probability 1 - exp(-n p / b). A job (`is_job`) reuses negatives that do not occur in its
    text.
    """
    frequencies = work.frequencies
    absent = np.exp(-tokens * frequencies.words / frequencies.burst)
    draws = tokens / work.shape.block * work.shape.shared
    absent_draws = draws * float(absent @ frequencies.noise)
    if is_job and absent_draws:
        draws *= min(1.0, max(MIN_OTHER_NEGATIVES / absent_draws, 1 / NEGATIVE_USES))
    outputs = 1 - absent * np.exp(-draws * frequencies.noise)
    return float((1 - absent).sum()), float(outputs.sum())


def row_sizes(vector_size: int) -> tuple[int, int]:
    """Return the bytes of a row that is fetched, and of a row that is pushed."""
    size = ELEMENT_BYTES * vector_size + SCALE_BYTES
    return size, size + ID_BYTES


def row_bytes(work: Workload, tokens: float) -> tuple[float, float]:
    """Return the bytes per token, fetched and pushed, of a job of `tokens` tokens."""
    rows_per_token = sum(distinct_rows(work, tokens, is_job=True)) / tokens
    fetched_size, pushed_size = row_sizes(work.vector_size)
    return rows_per_token * fetched_size, rows_per_token * pushed_size


def column_bytes(work: Workload, n_shards: int) -> tuple[float, float]:
    """Return the bytes per token, fetched and pushed, if `n_shards` ps tasks multiply columns."""
    shape = work.shape
    n_rows = sum(distinct_rows(work, shape.tokens))
    n_indices = shape.blocks * (shape.inputs + shape.columns)
    n_windows = 0 if work.skipgram else shape.blocks * shape.centres
    n_products = n_windows * (1 + shape.shared)
    if work.skipgram:
        n_products = shape.blocks * NearPairs(shape).n_elements
    fetched = PRODUCT_BYTES * n_products + NORM_BYTES * n_rows
    # each row of a block needs three indices: to gather it, to sort its update, and to add that up
    pushed = (
        PRODUCT_BYTES * n_products
        + (ID_BYTES + NORM_BYTES) * n_rows
        + 3 * INDEX_BYTES * n_indices
        + 4 * n_windows
    )
    return n_shards * fetched / shape.tokens, n_shards * pushed / shape.tokens
