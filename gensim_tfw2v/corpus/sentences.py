"""Sentences of objects, in batches with the entries to insert after each sentence."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.integer_sentences import BATCH, to_list
from gensim_tfw2v.corpus.shard_files import END, Ids

logger = logging.getLogger(__name__)

#: Sentences of a list that are fetched at a time.
SLICE = 256


class Batch(NamedTuple):
    """Words of successive sentences, and the entries to insert between them."""

    sentences: list[Sequence[Any]]  # without empty ones
    n_words: int
    text: bytes | None  # the words for a compiled table: see `join_strings`
    indices: Sequence[int] | Ids  # index of the word before which each mark is inserted
    marks: Sequence[int] | int  # entries of tags and of ends of sentences; or the only entry
    n_items: int  # items of the corpus so far

    @property
    def words(self) -> Iterator[Any]:
        """All words, in order."""
        return chain.from_iterable(self.sentences)


def batch_objects(
    documents: Iterable[Any], tagged: bool, join: Callable[[list[Sequence[Any]]], bytes | None]
) -> Iterator[Batch]:
    """Yield the words of items in batches; `join` makes their `text`.

    Sentences of more than 10,000 words are cut, as in LineSentence; each part has all tags.
    """
    # an iterable may yield the same list again, with different words
    keeps_items = type(documents) in (list, tuple)
    sentences = list[Sequence[Any]]()
    tags = list[Sequence[int]]()
    n_words = 0
    n_items = 0

    def batch() -> Batch:
        indices, marks = _marks(sentences, tags)  # before `join`: the lists are still in the cache
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
        if n_words >= BATCH:
            yield batch()
            sentences = []
            tags = []
            n_words = 0
    yield batch()


def _items(documents: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of an iterable.

    Items of a list or tuple are scattered over the memory. A slice fetches many of them in
    parallel.
    """
    if type(documents) not in (list, tuple):
        yield from documents
        return
    first = 0
    while items := documents[first : first + SLICE]:  # type: ignore[index]
        yield from items
        first += len(items)


def _marks(
    sentences: list[Sequence[Any]], tags: list[Sequence[int]]
) -> tuple[Sequence[int] | Ids, Sequence[int] | int]:
    """Return the `indices` and the `marks` of a `Batch`; each part of a long sentence has all tags.

    `tags` contains the tags of each sentence, or it is empty.
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
