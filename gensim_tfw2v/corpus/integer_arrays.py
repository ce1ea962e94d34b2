"""Arrays of sentences as a corpus of integers: of NumPy (2-D or ragged), pyarrow and polars."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.integer_sentences import (
    BATCH_WORDS,
    Integers,
    has_int64s,
    is_tensor,
    to_list,
)
from gensim_tfw2v.corpus.sentence_corpus import BatchedCorpus, IntegerCorpus, open_sentences

#: Number of pyarrow's lists that are converted to Python's lists at a time.
BATCH_LISTS = 1024


class SentenceBlock(NamedTuple):
    """Sentences whose words are in one block of memory."""

    offsets: Integers  # [n_sentences + 1] index of each sentence's first word, then of the end
    words_between: Callable[[int, int], NDArray[Any]]  # words of the sentences [i, j)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @classmethod
    def ragged(cls, values: NDArray[Any], offsets: Integers) -> "SentenceBlock":
        """Return the sentences ``values[offsets[i] : offsets[i + 1]]``."""
        return cls(offsets, lambda first, last: values[offsets[first] : offsets[last]])


class IntegerArrays:
    """Sentences of integers in arrays, as a corpus of integers."""

    def __init__(self, blocks: Sequence[SentenceBlock]) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return sum(block.n_sentences for block in self._blocks)

    def __iter__(self) -> Iterator[list[int]]:
        for values, lengths in self.integer_batches():
            words = iter(values.tolist())
            for length in lengths.tolist():
                yield [*islice(words, length)]

    def integer_batches(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield pairs of arrays: about `BATCH_WORDS` words, and the lengths of their sentences."""
        for offsets, words_between in self._blocks:
            first = 0
            while first < len(offsets) - 1:
                last = int(np.searchsorted(offsets, offsets[first] + BATCH_WORDS, "right")) - 1
                last = max(last, first + 1)
                values = words_between(first, last).astype(np.int64, order="C", copy=False)
                yield values.ravel(), np.diff(offsets[first : last + 1])
                first = last


class ArrowLists:
    """Sentences of a pyarrow array of lists, whose words are not int64; nulls are left out."""

    def __init__(self, chunks: Sequence[Any]) -> None:
        self._chunks = chunks

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def __iter__(self) -> Iterator[list[Any]]:
        for chunk in self._chunks:
            for start in range(0, len(chunk), BATCH_LISTS):
                for row in chunk.slice(start, BATCH_LISTS).to_pylist():
                    yield [word for word in row or () if word is not None]


class RowLists:
    """Iterable of lists, each with the elements of one of several arrays."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[list[Any]]:
        return map(to_list, self._rows)


def lists_for_gensim(source: Any) -> Any:
    """Return arrays of integers as lists of ints; any other source unchanged.

    gensim's own code accepts no arrays: its training threads fail, and `train` waits for ever.
    """
    is_rows = type(source) in (list, tuple) and any(map(_is_row, source[:1]))
    arrays = open_arrays(source)
    return RowLists(arrays) if is_rows and arrays is source else arrays


def open_array_corpus(source: Any, tagged: bool) -> BatchedCorpus | None:
    """Open arrays of sentences; return None for any other source.

    Errors are those of `open_arrays`.
    """
    arrays = source if tagged else open_arrays(source)
    if arrays is source:
        return None
    if isinstance(arrays, IntegerArrays):
        return IntegerCorpus(arrays.integer_batches(), len(arrays))
    return open_sentences(arrays, tagged)


def open_arrays(source: Any) -> Any:
    """Return arrays of sentences as a corpus; any other source unchanged.

    Raises
    ------
    ValueError
        If an array of integers is not 2-D, or if a tuple of two arrays may be two sentences as well
        as (values, offsets).
    """
    if is_tensor(source):
        source = np.asarray(source)
    if isinstance(source, np.ndarray):
        return _from_array(source)
    if type(source) is tuple and len(source) == 2:
        pair = [np.asarray(item) if is_tensor(item) else item for item in source]
        if all(map(_is_row, pair)):
            return _from_ragged(*pair)
    package, name = type(source).__module__.partition(".")[0], type(source).__name__
    lists = None
    if (package, name) == ("polars", "Series"):
        lists = _from_arrow(source.to_arrow())
    if package == "pyarrow":
        lists = _from_arrow(source)
    return source if lists is None else lists


def _is_row(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


def _from_array(array: NDArray[Any]) -> Any:
    if array.dtype.kind not in "iu":
        return array
    if array.ndim != 2:
        cure = "for one sentence, pass a list of the array" if array.ndim == 1 else "reshape it"
        raise ValueError(
            f"the corpus is an array of integers of shape {array.shape}, but must have the shape "
            f"(sentences, words): {cure}"
        )
    if not has_int64s(array):
        return array
    offsets = np.arange(len(array) + 1) * array.shape[1]
    return IntegerArrays([SentenceBlock(offsets, lambda first, last: array[first:last])])


def _from_ragged(values: NDArray[Any], offsets: NDArray[Any]) -> Any:
    edges = offsets.astype(np.int64) if has_int64s(offsets) else np.full(1, -1)
    is_valid = len(edges) and edges[0] == 0 and edges[-1] == len(values)
    if not is_valid or np.any(np.diff(edges) < 0):
        raise ValueError(
            f"the corpus is a tuple of two arrays of integers, of {len(values)} and {len(offsets)} "
            "elements: if they are two sentences, pass a list of them; if they are (values, "
            "offsets), the offsets must ascend from 0 to the number of values"
        )
    if not has_int64s(values):
        return np.split(values, edges[1:-1])
    return IntegerArrays([SentenceBlock.ragged(values, edges)])


def _from_arrow(source: Any) -> Any:
    """Return a pyarrow array of lists as a corpus; None if it is a different object of pyarrow."""
    import pyarrow as pa

    if not isinstance(source, pa.Array | pa.ChunkedArray):
        return None
    from gensim_tfw2v.corpus.tables.table_columns import items_of

    word_type = items_of(source.type)
    if word_type is None:
        return None
    chunks = source.chunks if isinstance(source, pa.ChunkedArray) else [source]
    if pa.types.is_dictionary(word_type):
        word_type = word_type.value_type
    if not pa.types.is_integer(word_type):
        return ArrowLists(chunks)
    blocks = list(map(_to_block, chunks))
    if not all(has_int64s(block.words_between(0, block.n_sentences)) for block in blocks):
        return ArrowLists(chunks)
    return IntegerArrays(blocks)


def _to_block(lists: Any) -> SentenceBlock:
    """Return the lists of integers of a pyarrow array, without nulls.

    The integers are copied only if the array has nulls or is a dictionary.
    """
    from pyarrow import compute

    values = lists.flatten()  # unlike `lists.values`, excludes lists outside of a slice
    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    offsets = np.append(0, np.cumsum(lengths.to_numpy(zero_copy_only=False), dtype=np.int64))
    if hasattr(values, "dictionary_decode"):
        values = values.dictionary_decode()
    if values.null_count:
        is_valid = values.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.append(0, np.cumsum(is_valid, dtype=np.int64))[offsets]
        values = values.drop_null()
    return SentenceBlock.ragged(values.to_numpy(zero_copy_only=False), offsets)
