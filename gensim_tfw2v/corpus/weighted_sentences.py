"""Pairs of words and a weight as a corpus."""

from collections.abc import Iterable, Iterator
from typing import Any

from gensim_tfw2v.corpus.protocol import Corpus, CorpusSource
from gensim_tfw2v.corpus.sentence_corpus import SentenceCorpus, count_sentences
from gensim_tfw2v.corpus.sentence_weights import check_weight, repeat_items
from gensim_tfw2v.corpus.weighted_corpus import PartWeights, WeightedCorpus
from gensim_tfw2v.messages import quoted


class WeightedSentences(CorpusSource):
    """Sentences with weights, which are trained as if they were repeated.

    A sentence of weight 2.5 is trained twice in each epoch, and a third time with probability 0.5.
    Sentences of weight 0 are left out. Only one copy of each sentence is stored. Counts of words
    are sums of weights, so weights also determine which words are in the vocabulary, subsampling
    and negative samples.

    Iterating yields the words of the sentences, repeated, so gensim's classes can be trained, too.
    Each iteration has new draws.

    Parameters
    ----------
    pairs : iterable of (words, weight)
        `words` is a sequence of words, as in the `sentences` of `TFWord2Vec`. `weight` is a number
        from 0 to 2^31.

    Raises
    ------
    TypeError
        While reading, if an item is not such a pair.
    ValueError
        While reading, if a weight is negative, NaN, infinite or above 2^31.

    Examples
    --------
    >>> from gensim_tfw2v import TFWord2Vec, WeightedSentences
    >>> queries = [(["cheap", "flights"], 120), (["flights", "to", "rome"], 2.5)]
    >>> model = TFWord2Vec(WeightedSentences(queries), min_count=1)
    >>> model.wv.get_vecattr("cheap", "count")
    120
    """

    def __init__(self, pairs: Iterable[tuple[Any, float]]) -> None:
        if isinstance(pairs, str | bytes) or not hasattr(pairs, "__iter__"):
            raise TypeError(
                f"pairs is {quoted(pairs)}, but must be an iterable of pairs of words and a weight"
            )
        self.pairs = pairs
        self._n_iterations = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield the words of each sentence, repeated; each iteration is a new epoch."""
        epoch = self._n_iterations
        self._n_iterations += 1
        return repeat_items(self._checked_pairs(), epoch)

    def _checked_pairs(self) -> Iterator[tuple[Any, float]]:
        for number, item in enumerate(self.pairs, 1):
            location = f"item {number:,}"
            if isinstance(item, str | bytes) or not hasattr(item, "__len__") or len(item) != 2:
                raise TypeError(
                    f"{location} is {quoted(item)}, but must be a pair of words and a weight, such "
                    "as (['a', 'sentence'], 2.5)"
                )
            words, weight = item
            if isinstance(words, str | bytes) or not hasattr(words, "__iter__"):
                raise TypeError(
                    f"{location}: the words are {quoted(words)}, but must be a list, such as the "
                    "result of split()"
                )
            yield words, check_weight(location, weight)

    def open_corpus(self, tagged: bool) -> Corpus:
        """Open the pairs for one reading."""
        if tagged:
            raise TypeError(
                "WeightedSentences are no documents, because sentences have no tags: pass them to "
                "TFWord2Vec or TFFastText"
            )
        weights = PartWeights()
        sentences = self._record_weights(weights)
        return WeightedCorpus(
            SentenceCorpus(sentences, False, count_sentences(self.pairs)), weights
        )

    def _record_weights(self, weights: PartWeights) -> Iterator[Any]:
        """Yield the words of each sentence, and append its weight to `weights`.

        Sentences of weight 0 are left out, so their words don't become part of the vocabulary.
        """
        for words, weight in self._checked_pairs():
            if not weight:
                continue
            sentence = words if hasattr(words, "__len__") else list(words)
            weights.add(weight, len(sentence))
            yield sentence
