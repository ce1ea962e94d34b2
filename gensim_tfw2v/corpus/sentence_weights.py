"""Weights of sentences: their limits, and the random draws by which sentences are repeated."""

import itertools
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.messages import quoted

Item = TypeVar("Item")

#: Maximum weight. A float32 holds it exactly, and sums over a shard fit into int64.
MAX_WEIGHT = float(1 << 31)

#: Part of the key of these random numbers, so that they differ from those of training a unit.
_STREAM = 0x574754

#: Number of items whose repetitions `repeat_items` draws at a time.
_PIECE_ITEMS = 1024


def is_weight(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each number is a weight: finite, from 0 to `MAX_WEIGHT`."""
    return (values >= 0) & (values <= MAX_WEIGHT)


def weight_error(location: str, value: str) -> ValueError:
    """Return the error of a weight that is invalid, for its location and its printed value."""
    return ValueError(
        f"{location}: the weight is {value}, but must be a number from 0 to {MAX_WEIGHT:,.0f}: "
        "correct it, or leave the sentence out"
    )


def check_weight(location: str, value: Any) -> float:
    """Return a weight as a float; raise a TypeError or ValueError if it is invalid."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(
            f"{location}: the weight is {quoted(value)}, but must be a number: pass pairs of words "
            "and a weight, such as (['a', 'sentence'], 2.5)"
        )
    weight = float(value)
    if not 0 <= weight <= MAX_WEIGHT:
        raise weight_error(location, quoted(value))
    return weight


def draw_extra(
    weights: NDArray[np.floating[Any]], indices: NDArray[np.int64], epoch: int, training: int = 0
) -> NDArray[np.bool_]:
    """Draw for each sentence whether it is repeated once more than its weight, rounded down.

    The probability is the weight's fractional part. A draw is a hash of the sentence's index, the
    epoch and the training, so it does not depend on which sentences are drawn with it.

    Parameters
    ----------
    weights : ndarray [n]
    indices : ndarray of int64 [n]
        Index of each sentence, or of its first entry, in the corpus.
    epoch : int
    training : int
        Number of earlier training runs of the model.
    """
    key = np.random.SeedSequence([_STREAM, training, epoch]).generate_state(1, np.uint64)[0]
    draws = _mix(_mix(indices.astype(np.uint64)) ^ key)
    uniform = (draws >> np.uint64(11)).astype(np.float64) / (1 << 53)
    return uniform < weights - np.floor(weights)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash 64-bit words by a step of the generator SplitMix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def repeat_items(pairs: Iterable[tuple[Item, float]], epoch: int) -> Iterator[Item]:
    """Yield the first element of each pair as often as its weight, the second one, requires.

    The extra repetitions for the fractional parts of weights are new in each epoch.
    """
    pairs = iter(pairs)
    first = 0
    while piece := list(itertools.islice(pairs, _PIECE_ITEMS)):
        weights = np.array([weight for _, weight in piece], np.float64)
        is_extra = draw_extra(weights, np.arange(first, first + len(piece)), epoch)
        n_copies = np.floor(weights).astype(np.int64) + is_extra
        for (item, _), n in zip(piece, n_copies.tolist(), strict=True):
            yield from itertools.repeat(item, n)
        first += len(piece)
