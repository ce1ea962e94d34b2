"""Models of time slices, or of other parts of a corpus, whose vectors can be compared.

`align_models` rotates trained models into one space, `train_slice` trains models in the space of a
model of all slices, and `self_similarities` compares words between models.
"""

import copy
import logging
import os
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors

from gensim_tfw2v.files.mapped import is_mapped, take_rows
from gensim_tfw2v.gensim_classes import Doc2Vec, FastText, Word2Vec
from gensim_tfw2v.merged import list_models, options_of, vectors_in
from gensim_tfw2v.merging.methods import rotation
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.model import TFWord2Vec
from gensim_tfw2v.options.contents import KEPT, names
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import option_names
from gensim_tfw2v.row_blocks import row_blocks
from gensim_tfw2v.training import huffman
from gensim_tfw2v.training.corpus_reader import CorpusReader
from gensim_tfw2v.training.model_arrays import trained_outputs
from gensim_tfw2v.weight_tables import ATTRIBUTES

#: Number of common words, the most frequent ones, that are compared to recognize unaligned models.
MAX_COMPARED_WORDS = 1000

#: Minimum number of common words. Models with fewer are not compared.
MIN_COMMON_WORDS = 20

#: Two models are not in one space if the mean cosine similarity of common words is below this.
#: Without alignment, the mean is about 0. After alignment, it is far higher, even if the meanings
#: of many words have changed.
MIN_SIMILARITY = 0.1

#: Options that a slice must share with its compass, because the output layer depends on them.
SHARED_OPTIONS = [
    name for name in option_names(Use.ARRAYS) if name not in option_names(Use.RUNNING)
]

logger = logging.getLogger(__name__)


def align_models(
    models: Iterable[Word2Vec | KeyedVectors],
) -> list[Word2Vec | KeyedVectors]:
    """Rotate models into the space of the first, so that vectors of different models compare.

    Each model is rotated by the orthogonal matrix that brings it closest to the previous one, which
    is already aligned (orthogonal Procrustes; Hamilton, Leskovec and Jurafsky 2016, "Diachronic
    Word Embeddings Reveal Statistical Laws of Semantic Change", "Aligning historical embeddings").
    The matrix is computed from the words that both have. Their vectors are scaled to length 1, as
    in the authors' program, histwords, because lengths depend on the frequency of a word. They are
    not centred: a rotation about the origin preserves all similarities of a model.

    All trained arrays are rotated: ``wv.vectors``, and in full models also ``syn1neg``, ``syn1``,
    and the rows of n-grams and documents. So the rotation changes neither scores nor further
    training.

    Parameters
    ----------
    models : iterable of Word2Vec or KeyedVectors
        One or more models, in the order of their slices, of V_i words and of D dimensions each.

    Returns
    -------
    list of Word2Vec or KeyedVectors
        The first model itself, and rotated copies of the remaining ones. Copies of arrays that are
        mapped from files (``load(path, mmap="r")``) are mapped from temporary files.

    Raises
    ------
    ValueError
        If `models` is empty, sizes differ, vectors of common words are not finite, or a model has
        no word in common with the previous one.
    TypeError
        If an element of `models` is neither a model nor vectors.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> parts = [common_texts[:6], common_texts[3:]]
    >>> models = [TFWord2Vec(part, vector_size=4, min_count=1) for part in parts]
    >>> aligned = align_models(models)
    >>> aligned[1].wv.most_similar(aligned[0].wv["system"], topn=1)  # doctest: +SKIP
    """
    models = list_models(models)
    vectors = _check_vectors(models)
    aligned_models = [models[0]]
    for index, model in enumerate(models[1:], 1):
        previous = vectors_in(index - 1, aligned_models[-1])
        common = [word for word in previous.index_to_key if word in vectors[index].key_to_index]
        if not common:
            raise ValueError(
                f"model {index} has no word in common with the previous one, so it cannot be "
                "aligned: leave it out, or pass the models in a different order"
            )
        if len(common) < previous.vector_size:
            logger.warning(
                "model %i shares only %i words with the previous one, fewer than its %i "
                "dimensions: the alignment of its remaining words is not determined",
                index,
                len(common),
                previous.vector_size,
            )
        products = _sum_products(vectors[index], previous, common)
        if not np.isfinite(products).all():
            raise ValueError(f"model {index} or the previous one has vectors that are not finite")
        rotated_model = _copy_model(model)
        _rotate(rotated_model, rotation(products).astype(np.float32))
        aligned_models.append(rotated_model)
    return aligned_models


def train_slice(
    compass: Word2Vec,
    sentences: Iterable[list[str]] | None = None,
    corpus_file: str | os.PathLike[str] | None = None,
    *,
    callbacks: Iterable[Any] = (),
    **options: Any,
) -> TFWord2Vec:
    """Train a model of a slice in the space of a model of all slices, the compass.

    The model starts with the compass's output rows (``syn1neg``, ``syn1``), which training doesn't
    change, and with new random vectors. So words get vectors that predict contexts by the same
    output rows in every slice, and vectors of different slices, and of the compass, can be compared
    (Di Carlo, Bianchi and Palmonari 2019, "Training Temporal Word Embeddings with a Compass", AAAI,
    "Temporal Word Embeddings with a Compass").

    The vocabulary consists of the compass's words that occur at least `min_count` times in the
    slice. Their counts in the slice determine subsampling and the noise distribution. With
    hierarchical softmax, the Huffman tree is that of the compass, without the words that the slice
    lacks, and without nodes that then have one branch. Files and folders of the slice contain this
    tree.

    Words that ``build_vocab(update=True)`` and `partial_fit` add to a slice later get vectors. They
    get no output row and no place in the tree, because these would not be trained. So the slice
    learns which contexts the new words have, but does not predict the new words.

    Parameters
    ----------
    compass : Word2Vec
        A full model, trained on all slices. It does not change.
    sentences, corpus_file
        The slice, as for `TFWord2Vec`; pass exactly one of the two.
    callbacks : iterable of CallbackAny2Vec
        As for `TFWord2Vec`.
    **options
        Parameters of `TFWord2Vec`. Those from `cluster` on, `max_final_vocab` and `comment` have
        the defaults of `TFWord2Vec`. The remaining ones are by default those of the compass, and
        `vector_size`, `sg`, `hs`, `negative` and `cbow_mean` cannot differ from them.

    Returns
    -------
    TFWord2Vec
        The model of the slice. Its `learn_hidden` is False, so further training keeps the space.

    Raises
    ------
    TypeError
        If `compass` is not a full Word2Vec model (models of FastText and Doc2Vec are not), or there
        is no corpus.
    ValueError
        If an option differs from the compass's that cannot differ, if a `cluster` or `regime` is
        set, or if no word of the compass occurs at least `min_count` times.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> compass = TFWord2Vec(common_texts, vector_size=4, min_count=1)
    >>> len(train_slice(compass, common_texts[:3]).wv)
    8
    """
    if not isinstance(compass, Word2Vec) or isinstance(compass, FastText | Doc2Vec):
        raise TypeError(f"the compass is a {type(compass).__name__}: pass a full Word2Vec model")
    compass_options = options_of(compass, names("slice", KEPT))
    for name in SHARED_OPTIONS:
        if name in options and options[name] != compass_options[name]:
            raise ValueError(
                f"{name}={quoted(options[name])} differs from "
                f"{name}={quoted(compass_options[name])} of the compass, whose output layer slices "
                "share: leave it out"
            )
    trim_rule = _make_trim_rule(compass.wv, options.pop("trim_rule", None))
    model = TFWord2Vec(**compass_options | options)
    model.learn_hidden = False
    compute_loss = model.compute_loss
    try:
        model._state.corpus_reader.keeps_scan = True
        model.build_vocab(sentences, corpus_file, trim_rule=trim_rule)
        if not len(model.wv):
            raise ValueError(
                f"no word of the compass occurs at least min_count={model.min_count} times in the "
                "slice: pass a lower min_count, or a larger slice"
            )
        _copy_outputs(model, compass)
        model.train(
            sentences,
            corpus_file,
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=model.epochs,
            start_alpha=model.alpha,
            end_alpha=model.min_alpha,
            compute_loss=compute_loss,
            callbacks=callbacks,
        )
    finally:
        model._state.corpus_reader = CorpusReader()
    return model


def self_similarities(
    models: Iterable[Word2Vec | KeyedVectors], words: Iterable[str] | None = None
) -> dict[str, np.ndarray]:
    """Compare words between N models in one space.

    Parameters
    ----------
    models : iterable of Word2Vec or KeyedVectors
        Models of `align_models` or `train_slice`, in the order of their slices.
    words : iterable of str, optional
        By default the words that all models have, in the order of the first.

    Returns
    -------
    dict from str to ndarray [N, N]
        For each word, the cosine similarities of its vectors in models i and j; NaN if one of the
        models lacks the word. A word whose meaning has changed has a low similarity. A warning is
        logged if successive models are not in one space.

    Raises
    ------
    ValueError
        If `models` is empty, or sizes differ.
    TypeError
        If an element of `models` is neither a model nor vectors, or `words` is a string.
    """
    if isinstance(words, str | bytes) or not isinstance(words, Iterable | None):
        raise TypeError(f"words is {quoted(words)}: pass a list of words")
    vectors = _check_vectors(models)
    _warn_of_unaligned(vectors)
    if words is None:
        words = [
            w
            for w in vectors[0].index_to_key
            if all(w in keyed_vectors.key_to_index for keyed_vectors in vectors)
        ]
    words = list(words)
    similarities: dict[str, np.ndarray] = {}
    for block in row_blocks(vectors[0].vectors, len(words)):
        part = words[block]
        rows = np.full((len(vectors), len(part), vectors[0].vector_size), np.nan, np.float32)
        for keyed_vectors, model_rows in zip(vectors, rows, strict=True):
            word_ids = [i for i, word in enumerate(part) if word in keyed_vectors.key_to_index]
            model_rows[word_ids] = _unit_rows(keyed_vectors, [part[i] for i in word_ids])
        similarities |= zip(part, np.einsum("iwd,jwd->wij", rows, rows), strict=True)
    return similarities


def _check_vectors(models: Iterable[Word2Vec | KeyedVectors]) -> list[KeyedVectors]:
    """Return the vectors of models; raise a ValueError if `models` is empty, or sizes differ."""
    vectors = [vectors_in(index, model) for index, model in enumerate(list_models(models))]
    sizes = [keyed_vectors.vector_size for keyed_vectors in vectors]
    if not vectors:
        raise ValueError("there are no models: pass one or more")
    if len(set(sizes)) != 1:
        raise ValueError(f"models have vectors of {sizes} dimensions: pass models of one size")
    return vectors


def _warn_of_unaligned(vectors: Sequence[KeyedVectors]) -> None:
    """Log a warning for each model that is not in the space of the previous one."""
    for index, (previous, current) in enumerate(pairwise(vectors), 1):
        all_common = (word for word in previous.index_to_key if word in current.key_to_index)
        common = list(islice(all_common, MAX_COMPARED_WORDS))
        if len(common) >= MIN_COMMON_WORDS:
            rows = _unit_rows(previous, common) * _unit_rows(current, common)
            if (mean := float(rows.sum(axis=1).mean())) < MIN_SIMILARITY:
                logger.warning(
                    "models %i and %i are not in one space, because the mean similarity of %i "
                    "words is %.2f: align them first (align_models, tfw2v align), or train them "
                    "by a compass (train_slice)",
                    *(index - 1, index, len(common), mean),
                )


def _unit_rows(vectors: KeyedVectors, words: Sequence[str]) -> np.ndarray:
    """Return the vectors of words, scaled to length 1; zeros stay zeros."""
    rows = vectors.vectors[[vectors.key_to_index[word] for word in words]]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _sum_products(
    vectors: KeyedVectors, previous: KeyedVectors, words: Sequence[str]
) -> np.ndarray:
    """Return the sum, over words, of the products of their unit vectors in two models, [D, D]."""
    products = np.zeros((vectors.vector_size, previous.vector_size))
    for block in row_blocks(vectors.vectors, len(words)):
        products += _unit_rows(vectors, words[block]).T @ _unit_rows(previous, words[block])
    return products


def _copy_model(model: Any) -> Any:
    """Return a deep copy of a full model, or of KeyedVectors; see `take_rows` for its arrays."""
    copies: dict[int, Any] = {}
    for holder in (model, *(vars(model).get(name) for name in ("wv", "dv"))):
        for value in vars(holder).values() if holder is not None else ():
            if isinstance(value, np.ndarray) and is_mapped(value):
                copies[id(value)] = take_rows(value)
    return copy.deepcopy(model, copies)  # takes these copies instead of making its own


def _rotate(model: Any, rotation_matrix: np.ndarray) -> None:
    """Multiply all trained rows of a full model, or of KeyedVectors, by a matrix, [D, D].

    The rows are changed in place.
    """
    # without n-grams, the vectors of FastText and the rows of its words are the same array
    rotated_ids: set[int] = set()
    for holder in (model, *(vars(model).get(name) for name in ("wv", "dv"))):
        attributes = vars(holder) if holder is not None else {}
        for name in ATTRIBUTES:
            array = attributes.get(name)
            if isinstance(array, np.ndarray) and id(array) not in rotated_ids:
                rotated_ids.add(id(array))
                # in models with `dm_concat`, an output row is a concatenation of rows of D elements
                rows = array.reshape(-1, len(rotation_matrix))
                for block in row_blocks(rows):
                    rows[block] = rows[block] @ rotation_matrix
        if attributes.get("norms") is not None:
            holder.fill_norms(force=True)


def _make_trim_rule(vectors: KeyedVectors, known_rule: Any = None) -> Any:
    """Return a `trim_rule` for gensim that drops words without a vector in `vectors`.

    It applies `known_rule`, a `trim_rule` or None, to the remaining words.
    """

    def trim_rule(word: str, count: int, min_count: int) -> int:
        if word not in vectors.key_to_index:
            return utils.RULE_DISCARD
        return known_rule(word, count, min_count) if known_rule else utils.RULE_DEFAULT

    return trim_rule


def _copy_outputs(model: Word2Vec, compass: Word2Vec) -> None:
    """Copy the output rows of a model's words, and their Huffman tree, from the compass.

    The model may have a null word, which no text contains. If the compass lacks the null word, it
    has no output row and is not in the tree.
    """
    compass_rows = [compass.wv.key_to_index.get(word) for word in model.wv.index_to_key]
    words = [row for row, compass_row in enumerate(compass_rows) if compass_row is not None]
    # rows of the model, and the compass's rows from which they are copied
    row_pairs: dict[str, tuple[Any, Any]] = {"words": (words, [compass_rows[row] for row in words])}
    if model.hs:
        tree, nodes = huffman.select(huffman.Paths.of(compass.wv), compass_rows)
        tree.store(model.wv)
        row_pairs["nodes"] = np.arange(len(nodes)), nodes
    for array, rows in trained_outputs(model).items():
        model_ids, compass_ids = row_pairs[array.rows_of]
        rows[model_ids] = getattr(compass, array.name)[compass_ids]
