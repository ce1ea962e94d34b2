"""Corpora that are read by Python: sentences of objects, and integers in arrays."""

import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.compact_word_ids import known_word_ids
from gensim_tfw2v.corpus.integer_sentences import (
    IntegerBatch,
    Integers,
    batch_integers,
    batch_sentences,
)
from gensim_tfw2v.corpus.protocol import Corpus, CountedParts
from gensim_tfw2v.corpus.sentences import Batch, batch_objects
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG, Ids, Progress
from gensim_tfw2v.corpus.shards import EncodedPart, Shard, save_shard
from gensim_tfw2v.corpus.word_ids import WordIds
from gensim_tfw2v.processes.threads import in_threads

#: Maximum entries of a shard. It is small because progress is reported only after each shard, and
#: Python is slow.
MAX_ENTRIES = 1 << 20


class BatchedCorpus(Corpus):
    """Corpus that Python reads in batches of words; a `WordIds` looks up their ids.

    Attributes
    ----------
    bytes_read : int
        Number of bytes on disk that were read so far, if the corpus is in files.
    """

    bytes_read = 0

    @abstractmethod
    def batches(self, ids: WordIds) -> Iterator[Batch | IntegerBatch]:
        """Yield the words in batches, one or more."""

    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Number and count the words."""
        ids = WordIds(folder)
        part = self._save(ids, folder, progress)
        return CountedParts(*ids.counted_words(), [(part, None)])

    def encode(
        self, key_to_index: Mapping[Any, int], folder: Path, progress: Progress | None
    ) -> list[EncodedPart]:
        """Write the corpus with the ids of a vocabulary."""
        return [self._save(known_word_ids(key_to_index), folder, progress)]

    def _save(self, ids: WordIds, folder: Path, progress: Progress | None) -> EncodedPart:
        """Write the ids of the words to shards; return an `EncodedPart` without words.

        The part's `n_sentences` is the number of the corpus's items, including empty ones.
        """
        shards = list[Shard]()
        n_raw_words = 0
        n_items = 0
        for entries, n_items in self._shard_entries(ids):  # noqa: B007  the last is returned
            n_sentences = int(np.count_nonzero(entries == END))
            n_words = int(np.count_nonzero(entries > FIRST_TAG)) - n_sentences
            entries = ids.finish(entries)
            # an empty shard is not written: EncodedCorpus counts its words in the remaining shards
            if len(entries):
                path = folder / f"{len(shards):05}.int32"
                shards.append(save_shard(path, [entries], n_words, n_sentences))
            n_raw_words += n_words
            if progress:
                progress(n_raw_words, n_items, ids.n_words, self.bytes_read)
        return EncodedPart(shards, n_raw_words, n_items)

    def _shard_entries(self, ids: WordIds) -> Iterator[tuple[Ids, int]]:
        """Yield the entries of each shard, and the number of items that were read so far."""
        max_entries = min(shard_files.SHARD_ENTRIES, MAX_ENTRIES)
        arrays = list[Ids]()  # entries that are in no shard yet
        n_items = 0
        # words are numbered in order, so only one thread can look them up
        for entries, n_items in in_threads(
            lambda batch, _: (ids.encode(batch), batch.n_items),
            self.batches(ids),
            threads=1,
            ahead=2,
        ):
            arrays.append(entries)
            while sum(map(len, arrays)) > max_entries:
                joined_entries = np.concatenate(arrays)
                ends = np.flatnonzero(joined_entries == END) + 1
                stop = ends[max(0, int(np.searchsorted(ends, max_entries, "right")) - 1)]
                yield joined_entries[:stop], n_items
                arrays = [joined_entries[stop:]]
        yield np.concatenate(arrays), n_items


class SentenceCorpus(BatchedCorpus):
    """Sentences of any objects.

    A warning is logged if the first sentence is a string, as in gensim.

    Parameters
    ----------
    sentences : iterable
        Lists of words. In a `tagged` corpus, pairs of the entries of a document's tags, and words.
    n_sentences : int
        Number of sentences for the progress bar; 0 if it is unknown.
    """

    def __init__(
        self, sentences: Iterable[Any], tagged: bool = False, n_sentences: int = 0
    ) -> None:
        self.sentences = sentences
        self.tagged = tagged
        if n_sentences:
            self.unit = "sentences"
            self.total = n_sentences

    def batches(self, ids: WordIds) -> Iterator[Batch | IntegerBatch]:
        """Yield batches of integers up to the first other word, then batches of any objects."""
        if self.tagged:
            return batch_objects(self.sentences, True, ids.join)
        return batch_sentences(
            self.sentences, lambda sentences: batch_objects(sentences, False, ids.join)
        )


class IntegerCorpus(BatchedCorpus):
    """Sentences of integers in arrays, without an object per word.

    Parameters
    ----------
    arrays : iterator of (values, lengths)
        Words of some sentences, int64 [n_words], and the number of words of each of these
        sentences, int64 [n_sentences].
    n_sentences : int
        Number of sentences for the progress bar; 0 if it is unknown.
    """

    def __init__(self, arrays: Iterable[tuple[Integers, Integers]], n_sentences: int = 0) -> None:
        self.arrays = arrays
        if n_sentences:
            self.unit = "sentences"
            self.total = n_sentences

    def batches(self, ids: WordIds) -> Iterator[IntegerBatch]:
        """Yield a batch for each pair of arrays, and an empty one at the end."""
        return batch_integers(self.arrays)


def open_sentences(source: Any, tagged: bool) -> SentenceCorpus:
    """Open any iterable of sentences, or of documents."""
    return SentenceCorpus(source, tagged, count_sentences(source))


def open_integers(source: Any, tagged: bool) -> IntegerCorpus | None:
    """Open an object with a method ``integer_batches()``, as an `IntegerCorpus` of its result.

    Returns None if the object has no such method, or the method returns None.
    """
    if tagged or not hasattr(source, "integer_batches"):
        return None
    arrays = source.integer_batches()
    return None if arrays is None else IntegerCorpus(arrays, count_sentences(source))


def count_sentences(source: Any) -> int:
    """Return the number of sentences for the progress bar; 0 if it is unknown.

    gensim never asks for the length of a corpus, so an error of its `__len__` must not end
    training.
    """
    try:
        return operator.length_hint(source, 0)
    except Exception:
        return 0
