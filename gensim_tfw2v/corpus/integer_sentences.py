"""Sentences of integers, in batches without an object per word."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import shard_files

Integers = NDArray[np.int64]
ObjectBatch = TypeVar("ObjectBatch", bound=Any)

#: Number of words of a batch. It is large, because waking the thread that encodes a batch takes as
#: long as encoding thousands of words.
BATCH_WORDS = 1 << 17

#: Containers that can be read repeatedly. Their subclasses may override `__iter__`.
LIST_TYPES = {list, tuple}

#: Packages that define tensors, which are converted to arrays.
TENSOR_PACKAGES = ("torch", "tensorflow", "jax", "jaxlib")


class IntegerBatch(NamedTuple):
    """Words of successive sentences; all are integers."""

    values: Integers  # words of all sentences
    lengths: Integers  # number of words of each sentence
    n_items: int  # number of sentences of the corpus up to the end of this batch

    def ends(self) -> Integers:
        """Return the index behind the last word of each sentence, or of each of its parts.

        Sentences of more than `MAX_SENTENCE` words are cut into parts.
        """
        max_words = shard_files.MAX_SENTENCE
        stops = np.cumsum(self.lengths)
        n_parts = -(-self.lengths // max_words)
        parts_before = np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
        # ordinal of each part in its sentence, from 1
        ordinals = np.arange(1, len(parts_before) + 1) - parts_before
        starts = np.repeat(stops - self.lengths, n_parts)
        return np.minimum(starts + ordinals * max_words, np.repeat(stops, n_parts))


#: Last batch of a corpus whose words are all integers, so that an empty corpus has a batch, too.
NO_WORDS = IntegerBatch(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


def batch_integers(arrays: Iterable[tuple[Integers, Integers]]) -> Iterator[IntegerBatch]:
    """Yield a batch for each pair of arrays: the words of some sentences, and their lengths."""
    n_items = 0
    for values, lengths in arrays:
        n_items += len(lengths)
        yield IntegerBatch(values, lengths, n_items)
    yield NO_WORDS._replace(n_items=n_items)


def batch_sentences(
    documents: Any, batch_objects: Callable[[Iterable[Any]], Iterator[ObjectBatch]]
) -> Iterator[IntegerBatch | ObjectBatch]:
    """Yield the sentences of an iterable in batches of integers.

    Once a sentence contains anything but integers of 64 bits, `batch_objects` makes all further
    batches.
    """
    # an iterable may yield the same list or array again, with different words
    keeps_items = type(documents) in LIST_TYPES
    sentences = iter(documents)
    n_items = 0
    while group := _next_group(sentences, keeps_items):
        batch = to_batch(group, n_items + len(group))
        if batch is None:
            # reading the corpus again is faster than reading `group`, but impossible if a sentence
            # is an iterator, which has been read
            is_unread = (
                keeps_items and not n_items and {*map(type, documents[: len(group)])} <= LIST_TYPES
            )
            unbatched = documents if is_unread else chain(group, sentences)
            for object_batch in batch_objects(unbatched):
                yield object_batch._replace(n_items=n_items + object_batch.n_items)
            return
        n_items = batch.n_items
        yield batch
    yield NO_WORDS._replace(n_items=n_items)


def _next_group(sentences: Iterator[Any], keeps_items: bool) -> list[Any]:
    """Return the next sentences, with at least `BATCH_WORDS` words unless the corpus ends."""
    group = list[Any]()
    n_words = 0
    for item in sentences:
        words = item if keeps_items and type(item) in LIST_TYPES else _to_words(item, keeps_items)
        group.append(words)
        n_words += len(words)
        if n_words >= BATCH_WORDS:
            break
    return group


def _to_words(item: Any, keeps_items: bool) -> Any:
    """Return the words of a sentence as an array of integers or a list; a string unchanged."""
    if isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "iu":
        return item if keeps_items else item.copy()
    if type(item) in LIST_TYPES:
        return list(item)
    if isinstance(item, str):
        return item
    # the array may share its memory with the tensor
    return _to_words(np.asarray(item), keeps_items) if is_tensor(item) else list(item)


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, which converts itself to an array."""
    package = type(value).__module__.partition(".")[0]
    return package in TENSOR_PACKAGES and hasattr(value, "__array__")


def to_list(item: Any) -> list[Any]:
    """Return the words of a sentence as a list. Integers in arrays become Python's ints."""
    if type(item) in LIST_TYPES:  # checked first, because most sentences are lists
        return list(item)
    if is_tensor(item):
        item = np.asarray(item)
    if isinstance(item, np.ndarray) and item.dtype.kind in "iu":
        return item.tolist()
    return list(item)


def to_batch(sentences: list[Any], n_items: int) -> IntegerBatch | None:
    """Return sentences as a batch; None if not all of their words fit into int64.

    Booleans are not accepted as integers, because in gensim words may be booleans.
    """
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    if (values := _concatenate(sentences)) is None:
        types = {*map(type, chain.from_iterable(sentences))}
        if not all(kind is int or issubclass(kind, np.integer) for kind in types):
            return None
        try:
            words = chain.from_iterable(sentences)
            values = np.fromiter(words, np.int64, int(lengths.sum()))
        except OverflowError:
            return None
    return IntegerBatch(values, lengths, n_items)


def _concatenate(sentences: list[Any]) -> Integers | None:
    """Return the words of arrays of one dtype; None if sentences are anything else."""
    if not all(issubclass(kind, np.ndarray) for kind in {*map(type, sentences)}):
        return None
    dtypes = {array.dtype for array in sentences}
    if len(dtypes) != 1 or not has_int64s(values := np.concatenate(sentences)):
        return None
    return values.astype(np.int64, copy=False)


def has_int64s(values: NDArray[Any]) -> bool:
    """Return whether all elements of an array of integers fit into int64."""
    is_uint64 = values.dtype.kind == "u" and values.dtype.itemsize == 8
    return not (is_uint64 and values.size and values.max() > np.iinfo(np.int64).max)
