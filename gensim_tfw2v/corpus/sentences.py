"""Batches of sentences of any objects, with the entries of tags and of ends of sentences."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.integer_sentences import BATCH_WORDS, to_list
from gensim_tfw2v.corpus.shard_files import END, Ids

logger = logging.getLogger(__name__)

#: Number of items of a list that are read at a time.
SLICE_ITEMS = 256


class Batch(NamedTuple):
    """Words of successive sentences, and marks: the entries to insert between the words' ids."""

    sentences: list[Sequence[Any]]  # without empty sentences
    n_words: int
    text: bytes | None  # the words as `join_strings` returns them; None if one is not a string
    indices: Sequence[int] | Ids  # index of the word before which each mark is inserted
    marks: Sequence[int] | int  # a tag's entry, or END, for each of `indices`; or one for all
    n_items: int  # number of items of the corpus up to the end of this batch

    @property
    def words(self) -> Iterator[Any]:
        """All words, in order."""
        return chain.from_iterable(self.sentences)


def batch_objects(
    documents: Iterable[Any], tagged: bool, join: Callable[[list[Sequence[Any]]], bytes | None]
) -> Iterator[Batch]:
    """Yield the words of items in batches; `join` makes the `text` of a batch.

    Sentences of more than 10,000 words are cut, as in LineSentence. Each part of a document that is
    cut has all of its tags.
    """
    # an iterable may yield the same list again, with different words
    keeps_items = type(documents) in (list, tuple)
    sentences = list[Sequence[Any]]()
    tags = list[Sequence[int]]()
    n_words = 0
    n_items = 0

    def make_batch() -> Batch:
        # first the lengths of lists, which are still in the processor's cache, and then all words
        indices, marks = _place_marks(sentences, tags)
        return Batch(sentences, n_words, join(sentences), indices, marks, n_items)

    for n_items, item in enumerate(_items(documents), 1):
        if tagged:
            item_tags, item = item
        elif n_items == 1 and isinstance(item, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(item),
            )
        words = item if keeps_items and type(item) in (list, tuple) else to_list(item)
        if not words:
            continue
        sentences.append(words)
        if tagged:
            tags.append(item_tags)
        n_words += len(words)
        if n_words >= BATCH_WORDS:
            yield make_batch()
            sentences = []
            tags = []
            n_words = 0
    yield make_batch()


def _items(documents: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of an iterable.

    Items of a list or tuple are scattered over the memory. Slicing touches many of them at once,
    so that the processor fetches them in parallel.
    """
    if type(documents) not in (list, tuple):
        yield from documents
        return
    first = 0
    while items := documents[first : first + SLICE_ITEMS]:  # type: ignore[index]
        yield from items
        first += len(items)


def _place_marks(
    sentences: list[Sequence[Any]], tags: list[Sequence[int]]
) -> tuple[Sequence[int] | Ids, Sequence[int] | int]:
    """Return the `indices` and the `marks` of a `Batch`.

    `tags` contains the entries of each sentence's tags, or is empty. Each part of a sentence that
    is cut has all tags.
    """
    max_words = shard_files.MAX_SENTENCE
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    n_parts = -(-lengths // max_words)
    last_parts = np.cumsum(n_parts) - 1
    part_lengths = np.full(n_parts.sum(), max_words)
    part_lengths[last_parts] = lengths - max_words * (n_parts - 1)
    stops = np.cumsum(part_lengths)
    if not tags:
        return stops, END
    indices = list[int]()
    marks = list[int]()
    starts = (stops - part_lengths).tolist()
    tags_of_parts = chain.from_iterable(map(repeat, tags, n_parts.tolist()))
    for start, stop, part_tags in zip(starts, stops.tolist(), tags_of_parts, strict=True):
        indices.extend(repeat(start, len(part_tags)))
        indices.append(stop)
        marks.extend(part_tags)
        marks.append(END)
    return indices, marks
