"""Batches of sentences of any objects, with the entries of tags and of ends of sentences."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.integer_sentences import to_list
from gensim_tfw2v.corpus.marks import Marks
from gensim_tfw2v.corpus.shard_files import END, ID

logger = logging.getLogger(__name__)

#: Number of words of the largest batches. The thread that encodes a batch needs the GIL before and
#: after it, and waits for it longer than it takes to encode tens of thousands of words.
BATCH_WORDS = 1 << 20

#: The first batch is smaller than the largest ones by this factor, so that encoding starts early.
#: Batches of sentences that are not in a list stay that small, because their words take memory.
FIRST_BATCH_DIVISOR = 8

#: Number of words that are joined at a time. While they are joined, no other thread gets the GIL.
PIECE_WORDS = 1 << 14

#: Number of items of a list that are read at a time.
SLICE_ITEMS = 256


class Batch(NamedTuple):
    """Words of successive sentences, and marks: the entries to insert between the words' ids."""

    sentences: list[Sequence[Any]]  # without empty sentences
    n_words: int
    text: bytes | None  # the words as `join_strings` returns them; None if one is not a string
    marks: Marks  # entries of tags, and the ends of sentences
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
    lengths = list[int]()
    tags = list[Sequence[int]]()
    texts = list[bytes | None]()
    n_joined = 0  # number of sentences whose words are in `texts`
    n_joined_words = 0
    n_words = 0
    n_batch_words = max(1, BATCH_WORDS // FIRST_BATCH_DIVISOR)
    n_items = 0

    def make_batch() -> Batch:
        texts.append(join(sentences[n_joined:]))
        text = None if None in texts else b"".join(texts)  # type: ignore[arg-type]
        return Batch(sentences, n_words, text, _place_marks(lengths, tags), n_items)

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
        lengths.append(len(words))
        if tagged:
            tags.append(item_tags)
        n_words += len(words)
        if n_words >= n_batch_words:
            yield make_batch()
            sentences = []
            lengths = []
            tags = []
            texts = []
            n_joined = n_joined_words = n_words = 0
            if keeps_items:
                n_batch_words = min(2 * n_batch_words, BATCH_WORDS)
        elif n_words >= n_joined_words + PIECE_WORDS:
            texts.append(join(sentences[n_joined:]))
            n_joined = len(sentences)
            n_joined_words = n_words
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


def _place_marks(n_words: list[int], tags: list[Sequence[int]]) -> Marks:
    """Return the marks of a `Batch`, whose sentences have `n_words` words each.

    `tags` contains the entries of each sentence's tags, or is empty. Each part of a sentence that
    is cut has all tags.
    """
    max_words = shard_files.MAX_SENTENCE
    lengths = np.array(n_words, np.int64)
    n_parts = -(-lengths // max_words)
    last_parts = np.cumsum(n_parts) - 1
    part_lengths = np.full(n_parts.sum(), max_words)
    part_lengths[last_parts] = lengths - max_words * (n_parts - 1)
    stops = np.cumsum(part_lengths)
    if not tags:
        return Marks(stops, np.full(len(stops), END, ID))
    places = list[int]()
    entries = list[int]()
    starts = (stops - part_lengths).tolist()
    tags_of_parts = chain.from_iterable(map(repeat, tags, n_parts.tolist()))
    for start, stop, part_tags in zip(starts, stops.tolist(), tags_of_parts, strict=True):
        places.extend(repeat(start, len(part_tags)))
        places.append(stop)
        entries.extend(part_tags)
        entries.append(END)
    return Marks(np.array(places, np.int64), np.array(entries, ID))
