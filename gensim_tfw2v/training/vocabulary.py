"""Vocabulary that training reads from gensim's attributes; models made from vectors alone."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v.corpus.shards import EncodedCorpus
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays, noise_shares, pair_rates
from gensim_tfw2v.keyed import held_counts
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.originals import Doc2Vec, Word2Vec
from gensim_tfw2v.training.subwords import Subwords

#: A model's arrays, and those of its vectors.
WEIGHTS = ("vectors", "vectors_vocab", "vectors_ngrams", "syn1neg", "syn1")


@dataclass(frozen=True)
class Vocabulary:
    """Arrays of the V words of a vocabulary."""

    counts: np.ndarray  # [V], float64
    keep: np.ndarray  # [V], float32: chance of each word to survive subsampling
    noise: np.ndarray | None  # [V]: proportions of negatives; None without negative sampling
    #: Points and codes, see `huffman_tree`; None without hierarchical softmax.
    paths: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] | None
    #: [rows of inputs], float32: factors of each row's updates; None if all are 1.
    lock: np.ndarray | None
    subwords: Subwords | None = None  # None where a word's input is its own row
    tags: int = 0  # of documents, whose rows come after those of the words
    padding: int = 0  # the word that stands for what lies outside of a document

    @classmethod
    def of(cls, model: Word2Vec) -> Vocabulary:
        """Read the attributes of a model."""
        of_words = model.wv.expandos
        keep = np.ones(len(model.wv))
        if model.sample and "sample_int" in of_words:
            keep = (np.array(of_words["sample_int"], np.float64) + 1) / 2**32
        counts = np.array(of_words["count"], np.float64)
        subwords = None
        tagged = [model.dv] if isinstance(model, Doc2Vec) else []
        if isinstance(model.wv, FastTextKeyedVectors):
            subwords = Subwords.of(model.wv, counts * keep)
            lock = subwords.lock
        else:
            factors = ((getattr(of, "vectors_lockf", 1.0), len(of)) for of in (model.wv, *tagged))
            lock = np.concatenate([np.resize(*each) for each in factors], dtype=np.float32)
        return cls(
            counts=counts,
            keep=keep.astype(np.float32),
            noise=np.diff(model.cum_table, prepend=0) if model.negative else None,
            paths=(of_words["point"], of_words["code"]) if model.hs else None,
            lock=None if np.all(lock == 1.0) else lock,
            subwords=subwords,
            tags=sum(map(len, tagged)),
            padding=model.wv.key_to_index.get("\0", 0),
        )

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def kept_share(self) -> float:
        """Share of the text's known words that survives subsampling."""
        return float((self.counts * self.keep).sum() / max(1.0, self.counts.sum()))

    @property
    def most_frequent(self) -> float:
        """Share of the most frequent word among the tokens that are trained on.

        Or that of the most frequent tag, if tags are so few that it is larger in any case.
        """
        kept = self.counts * self.keep
        of_words = float(kept.max(initial=0.0) / max(1e-9, kept.sum()))
        return max(of_words, 1 / self.tags if self.tags else 0.0)

    def words(self, negative_shards: int) -> WordArrays:
        """The arrays that a unit is trained with."""
        of_words = (self.keep, self.noise, self.paths, self.lock, negative_shards)
        of_rows = (self.subwords.lists, self.subwords.weights) if self.subwords else ()
        return WordArrays.of(*of_words, *of_rows)

    def rows(self, config: TrainingConfig) -> Tables:
        """Number of rows of each table; 0 of an unused one."""
        words = len(self)
        objective = config.objective
        return Tables(
            inputs=words + self.tags if self.subwords is None else len(self.subwords.weights),
            outputs=words if objective.negative else 0,
            nodes=words if objective.hierarchical else 0,
        )

    def rates(self, config: TrainingConfig, window: int, corpus: EncodedCorpus) -> Tables:
        """Rates at which rows are trained on, for windows of this reach; see `pair_rates`.

        Those of tags that one document alone has are below 0: no two jobs train them at a time.
        """
        frequency = self.counts * self.keep
        skipgram = config.objective.skipgram
        pairs: float = min(config.window + 1, 2 * window) if config.shrink_windows else 2 * window
        counts = corpus.tag_counts(self.tags) if self.tags else np.zeros(0)
        tags = counts / max(1, corpus.total_sentences)
        if config.has_documents and skipgram:
            positions = config.dbow_words + tags.sum() or 1.0
            pairs = config.dbow_words * pairs / positions
            tags = tags / positions
        rates = pair_rates(
            frequency / frequency.sum(),
            pairs=pairs,
            skipgram=skipgram,
            negative=config.objective.negative,
            noise=(
                None
                if self.noise is None
                else noise_shares(self.noise, frequency, config.negative_shards)
            ),
            paths=self.paths and self.paths[0],
            tags=tags,
        )
        rates.inputs[len(self) :][counts == 1] *= -1
        if self.subwords is None:
            return rates
        return rates._replace(inputs=self.subwords.spread(rates.inputs))


def seed_of(model: Any) -> int:
    """The model's seed as a whole number from 0 up; without one, drawn anew in each call.

    NumPy, and so gensim, takes sequences of numbers, too.
    """
    if model.seed is None:
        return secrets.randbits(63)
    if isinstance(model.seed, Integral | np.bool_):
        return abs(int(model.seed))
    numbers = np.abs(np.asarray(model.seed, np.int64)).ravel()
    return int(np.random.SeedSequence(numbers.tolist()).generate_state(1, np.uint64)[0])


def tables_of(model: Word2Vec, subwords: Subwords | None = None) -> Tables:
    """The model's arrays, with subwords a copy of the inputs' rows; none of what is not trained.

    Arrays that are not in C order, such as slices of columns, are copied.
    """
    nothing = np.zeros((0, model.vector_size), np.float32)
    inputs = joined(model) if isinstance(model, Doc2Vec) else model.wv.vectors
    tables = Tables(
        inputs=inputs if subwords is None else subwords.gather(model.wv),
        # where hidden layers are several rows, so are these
        outputs=model.syn1neg.reshape(-1, model.vector_size) if model.negative else nothing,
        nodes=model.syn1.reshape(-1, model.vector_size) if model.hs else nothing,
    )
    return Tables(*(np.require(table, requirements="C") for table in tables))


def complete(model: Any) -> None:
    """Give words that ``wv.add_vector`` has added what else training needs of each word.

    They are neither subsampled nor drawn as negatives, and their output rows start from 0. If other
    arrays do not fit the vocabulary, nothing is changed.
    """
    vectors = model.wv
    words = len(model.wv)
    attributes = model.wv.expandos
    outputs = ["syn1neg"] * bool(model.negative) + ["syn1"] * bool(model.hs)
    names = [*outputs, "cum_table"] if model.negative else outputs
    arrays = [getattr(model, name, None) for name in names]
    lengths = {0 if array is None else len(array) for array in arrays}
    known = min(lengths, default=0)
    if len(lengths) > 1 or not 0 < known < words == len(vectors.vectors):
        return
    if any(np.ndim(path) for path in attributes.get("point", ())[known:]):
        return  # these words were counted: syn1 has lost their nodes
    vectors.allocate_vecattrs()
    if "sample_int" in attributes:
        attributes["sample_int"][known:] = 2**32 - 1
    for name in ("point", "code") if model.hs else ():
        for word in range(known, words):
            attributes[name][word] = attributes[name][0][:0]
    if model.negative:
        model.cum_table = np.pad(model.cum_table, (0, words - known), "edge")
    for name in outputs:
        setattr(model, name, np.pad(getattr(model, name), ((0, words - known), (0, 0))))
    if isinstance(vectors, FastTextKeyedVectors):
        vectors.recalc_char_ngram_buckets()
        for word in range(len(vectors.vectors_vocab), words):
            of_ngrams = vectors.vectors_ngrams[vectors.buckets_word[word]]
            own = vectors.vectors[word] * (1 + len(of_ngrams)) - of_ngrams.sum(axis=0)
            vectors.vectors_vocab = np.vstack([vectors.vectors_vocab, own])


@contextlib.contextmanager
def undone_on_error(model: Any) -> Iterator[None]:
    """Within it, an error or Ctrl-C leaves the vocabulary and the weights as they were.

    gensim replaces arrays, except those of the words' attributes, whose elements it replaces.
    """
    holders = [held for held, _ in weights_of(model)]
    before = [held.copy() for held in holders]
    for kept in before[1:]:
        kept["expandos"] = {name: array.copy() for name, array in kept["expandos"].items()}
        kept |= {name: kept[name].copy() for name in ("index_to_key", "key_to_index")}
    try:
        yield
    except BaseException:
        for held, kept in zip(holders, before, strict=True):
            held.update(kept)
        raise


def joined(model: Any) -> np.ndarray:
    """Vectors of a model's words, and then of its documents' tags, in one array [V + N, D].

    The model's own arrays become parts of it, so that none is there twice.
    """
    words, tags = parts = model.wv.vectors, model.dv.vectors
    whole = words.base
    rows = np.split(whole, [len(words)]) if whole is not None and whole is tags.base else ()
    # views may have the rows in another place or order
    if [x.__array_interface__ for x in rows] != [x.__array_interface__ for x in parts]:
        whole = np.concatenate(parts, dtype=np.float32)
        model.wv.vectors = whole[: len(words)]
        model.dv.vectors = whole[len(words) :]
    return whole


def weights_of(model: Any) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Attributes of a model and of each of its vectors, and those that are trained arrays."""
    keyed = [model.wv, model.dv] if model.has_documents else [model.wv]
    of_holders = [vars(holder) for holder in (model, *keyed)]
    return [(held, {n: held[n] for n in WEIGHTS if n in held}) for held in of_holders]


def take_vectors(
    model: Word2Vec, vectors: KeyedVectors, counts: Mapping[str, int] | None = None
) -> None:
    """Give a new model, of the vectors' size, their words and themselves, in their order.

    Counts are those of `word_counts`.
    """
    in_order = model.sorted_vocab
    model.sorted_vocab = 0
    try:
        model.build_vocab_from_freq(
            word_counts(vectors, counts), trim_rule=lambda *_: utils.RULE_KEEP
        )
    finally:
        model.sorted_vocab = in_order
    model.wv.vectors[:] = vectors.vectors


def renew_norms(vectors: KeyedVectors) -> None:
    """Make vectors' lengths anew, if there are any; never None, which another thread may meet.

    gensim's queries make them if they are None, and then take for granted that they are there.
    """
    if vectors.norms is not None:
        vectors.fill_norms(force=True)


def word_counts(vectors: KeyedVectors, counts: Mapping[str, int] | None = None) -> dict[str, int]:
    """Count that each word is taken to have.

    What is given, which raises a ValueError if it lacks a word or a count is none; else what the
    vectors hold; else, as for files in word2vec's form, by Zipf's law from the order of the words.
    """
    words = vectors.index_to_key
    number = len(vectors)
    if counts is not None:
        missing = [word for word in words if word not in counts]
        if missing:
            raise ValueError(
                f"counts lacks {len(missing)} of the {number} words, the first "
                f"{quoted(missing[0])}: give a count for each word, or no counts"
            )
        return {word: _count(word, counts[word]) for word in words}
    found = held_counts(vectors)
    if found is None:
        found = np.ceil(number / np.arange(1, number + 1))
    return {word: _count(word, count) for word, count in zip(words, found, strict=True)}


def _count(word: Any, value: Any) -> int:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or not 1 <= value < 1 << 63 or value != int(value):
        raise ValueError(f"the count of {word!r} is {value!r}: give whole numbers from 1 up")
    return int(value)
