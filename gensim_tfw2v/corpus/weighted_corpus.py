"""Corpus whose sentences have weights: its words are counted, and its shards written, by them."""

from array import array
from collections.abc import Iterable, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.encode import renumber_parts
from gensim_tfw2v.corpus.protocol import Corpus, CountedParts
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG, ID, UNKNOWN, Progress
from gensim_tfw2v.corpus.shards import EncodedPart, Shard, save_ids, save_shard
from gensim_tfw2v.corpus.weighted_shard import WeightedShard, insert_weights
from gensim_tfw2v.keys.compact import find_indices

#: Weight of a sentence on disk, little-endian on all machines.
WEIGHT = np.dtype("<f4")


class PartWeights:
    """Weights of the sentences of a corpus that were read so far.

    A sentence of more than 10,000 words is stored in several parts, each with its weight. An empty
    sentence has no parts.

    Attributes
    ----------
    total : float
        Sum of the weights of all sentences, including empty ones.
    """

    def __init__(self) -> None:
        self._weights = array("f")
        self.total = 0.0

    def add(self, weight: float, n_words: int) -> None:
        """Append the weight of a sentence."""
        self.total += weight
        self._weights.extend(repeat(weight, -(-n_words // shard_files.MAX_SENTENCE)))

    def add_many(self, weights: NDArray[np.float32], lengths: NDArray[np.int64]) -> None:
        """Append the weights of sentences with these numbers of words."""
        self.total += float(weights.sum(dtype=np.float64))
        n_parts = -(-lengths // shard_files.MAX_SENTENCE)
        self._weights.frombytes(np.repeat(weights, n_parts).tobytes())

    def to_array(self) -> NDArray[np.float32]:
        """Return the weight of each part of a sentence: [parts]."""
        return np.frombuffer(self._weights, np.float32)


class _WeighedShard(NamedTuple):
    """Shard with weights, and sums of the weights of its sentences and of their words."""

    shard: WeightedShard
    counts: NDArray[Any]  # float64, weights of the occurrences of each word, by its number
    n_raw_words: float
    n_sentences: float


class WeightedCorpus(Corpus):
    """Corpus with weights.

    A word's count is the sum of the weights of its occurrences, rounded once all are added. Numbers
    of words and of sentences are also sums of weights: expected numbers per epoch.

    Parameters
    ----------
    corpus : Corpus
        Corpus without weights. If it is tagged, the tag of a sentence is the number of its row.
    weights : PartWeights or iterable of ndarray
        For a tagged corpus, an iterable that yields the weights of successive rows, float32. For
        any other corpus, `PartWeights`, which are complete once the corpus has been counted.
    """

    def __init__(
        self, corpus: Corpus, weights: PartWeights | Iterable[NDArray[np.float32]]
    ) -> None:
        self._corpus = corpus
        self._weights = weights
        self.unit = corpus.unit
        self.total = corpus.total

    def count(self, folder: Path, progress: Progress | None) -> CountedParts:
        """Number the words, sum the weights of their occurrences, and insert weights in shards."""
        words, _, parts = self._corpus.count(folder, progress)
        if isinstance(self._weights, PartWeights):
            weights = self._weights.to_array()
        else:
            weights = _save_weights(folder / "weights.float32", self._weights)
        counts = np.zeros(len(words))
        n_raw_words = 0.0
        n_sentences = 0.0
        first = 0  # number of rows, or of parts of sentences, before those of a shard
        weighted_parts = list[tuple[EncodedPart, Path | None]]()
        for part, ids_path in parts:
            earlier_words = round(n_raw_words)
            earlier_sentences = round(n_sentences)
            ids = None if ids_path is None else np.fromfile(ids_path, ID)
            shards = list[Shard]()
            for shard in part.shards:
                weighed = self._weigh(shard, weights[first:])
                n_shard_words = len(weighed.counts)
                shard_ids = slice(n_shard_words) if ids is None else ids[:n_shard_words]
                counts[shard_ids] += weighed.counts
                n_raw_words += weighed.n_raw_words
                n_sentences += weighed.n_sentences
                if weighed.shard.n_entries:
                    shards.append(weighed.shard)
                first += 0 if self._corpus.tagged else shard.n_sentences
            if isinstance(self._weights, PartWeights):
                n_sentences = self._weights.total
            else:
                first += part.n_sentences
            new_part = EncodedPart(
                shards, round(n_raw_words) - earlier_words, round(n_sentences) - earlier_sentences
            )
            weighted_parts.append((new_part, ids_path))
        return CountedParts(words, np.rint(counts).astype(np.int64), weighted_parts)

    def _weigh(self, shard: Shard, weights: NDArray[np.float32]) -> _WeighedShard:
        """Insert the weights of sentences in a shard's file.

        `weights` begins with those of the part's rows if the corpus is tagged, and with those of
        the shard's sentences otherwise.
        """
        entries = shard.read(0, shard.n_entries)
        if self._corpus.tagged:
            is_tag = entries <= FIRST_TAG
            weights = weights[FIRST_TAG - entries[is_tag]]
            entries = entries[~is_tag]
        lengths = np.diff(np.flatnonzero(entries == END), prepend=-1)
        weights = weights[: len(lengths)]
        is_word = entries != END
        counts = np.bincount(entries[is_word], np.repeat(weights, lengths)[is_word])
        n_words = float(counts.sum())
        n_sentences = float(weights.sum(dtype=np.float64))
        pieces = [insert_weights(entries, lengths, weights)]
        file = save_shard(Path(shard.path), pieces, round(n_words), round(n_sentences))
        return _WeighedShard(WeightedShard.from_file(file), counts, n_words, n_sentences)

    def encode(
        self, key_to_index: Mapping[Any, int], folder: Path, progress: Progress | None
    ) -> list[EncodedPart]:
        """Write the corpus with the ids of a vocabulary.

        All words are numbered first, because unknown words count, too, by their weights.
        """
        words, _, parts = self.count(folder, progress)
        ids = find_indices(key_to_index, words, UNKNOWN)
        return [renumber_parts(parts, folder, ids, None)]


def _save_weights(path: Path, weights: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Write the weights of all rows to a file, and map it into memory."""
    save_ids(path, np.zeros(0, ID))
    for piece in weights:
        save_ids(path, piece.astype(WEIGHT).view(ID), "ab")
    if not path.stat().st_size:
        return np.zeros(0, np.float32)
    return np.memmap(path, WEIGHT, "r")
