"""Ids of the words of a compact vocabulary, which has no Python object per word."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.integer_sentences import IntegerBatch
from gensim_tfw2v.corpus.sentences import Batch
from gensim_tfw2v.corpus.shard_files import END, ID, UNKNOWN, Ids, without_unknown
from gensim_tfw2v.corpus.strings import join_strings
from gensim_tfw2v.corpus.word_ids import KnownWordIds, WordIds
from gensim_tfw2v.keys.compact import keys_of
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.string_keys import StringKeys


def known_word_ids(key_to_index: Mapping[Any, int]) -> WordIds:
    """Return the ids of a vocabulary's words, and `UNKNOWN` for any other word."""
    keys = keys_of(key_to_index)
    return KnownWordIds(key_to_index) if keys is None else CompactWordIds(keys)


class CompactWordIds(WordIds):
    """Ids of the words of a compact vocabulary, and `UNKNOWN` for any other word.

    The words are looked up in the vocabulary's own table.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.n_words = len(keys)

    def join(self, sentences: list[Sequence[Any]]) -> bytes | None:
        """Join words that are strings; return None if one is not, or if the keys are integers."""
        return join_strings(sentences) if isinstance(self._keys, StringKeys) else None

    def encode(self, batch: Batch | IntegerBatch) -> Ids:
        """Return the entries of a batch: the ids of its words, and its marks."""
        if isinstance(batch, IntegerBatch):
            ids = np.full(len(batch.values), UNKNOWN, ID)
            if isinstance(self._keys, IntegerKeys):
                ids = self._keys.find_all(batch.values)
                ids[ids < 0] = UNKNOWN
            return np.insert(ids, batch.ends(), END)
        return batch.marks.insert(self._look_up(batch))

    def _look_up(self, batch: Batch) -> Ids:
        """Return the ids of the words of a batch of any objects."""
        if isinstance(self._keys, StringKeys) and batch.text is not None:
            ids = self._keys.find_terminated(batch.text, batch.n_words)
            if ids is not None:
                ids[ids < 0] = UNKNOWN
                return ids
        find_id = KeyIndex(self._keys).get
        return np.fromiter(map(find_id, batch.words, repeat(UNKNOWN)), ID, batch.n_words)

    def finish(self, entries: Ids) -> Ids:
        """Return the entries of a shard without unknown words."""
        return without_unknown(entries)
