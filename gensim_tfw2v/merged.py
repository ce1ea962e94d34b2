"""`merge_models`: one model from several that were trained separately."""

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.mapped import is_mapped
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.keyed import held_counts, keyed, keyed_like, with_keys
from gensim_tfw2v.merging import SubModel, merge
from gensim_tfw2v.model import TFWord2Vec
from gensim_tfw2v.options.contents import KEPT, names
from gensim_tfw2v.training.from_vectors import count_array, take_vectors
from gensim_tfw2v.training.huffman import common_paths
from gensim_tfw2v.training.model_arrays import trained_outputs
from gensim_tfw2v.weight_tables import OUTPUT_LAYER


def merge_models(
    models: Sequence[Word2Vec | KeyedVectors],
    method: str = "alir",
    vector_size: int | None = None,
    seed: int = 1,
) -> TFWord2Vec:
    """Merge models that were trained separately into one.

    The merged model has the words of all models and the options of the first, or the default ones
    if the first consists only of vectors, and can be trained further. Output rows (``syn1neg``) are
    merged if all inputs are full models, and start from 0 otherwise. Output rows of hierarchical
    softmax (``syn1``) belong to a Huffman tree: they are merged only if all models have the same
    words and the same tree, which the merged model keeps.

    Word counts are summed, as if each model had been trained on a different sample. If the models
    agree on the count of every word that they share, these counts are kept instead. If a model has
    no counts, all counts are estimated by Zipf's law from the order of the words.

    Parameters
    ----------
    models : sequence of Word2Vec or KeyedVectors
        One or more models, of V_i words and D_i dimensions. If the arrays of all models are mapped
        from files (``load(path, mmap="r")``), those of the result are mapped from temporary files.
    method : "alir", "pca" or "concat", default "alir"
        ``"alir"`` aligns and averages the models, and restores words that some of them lack (Anand
        et al. 2019, "Asynchronous Training of Word Embeddings for Large Text Corpora", WSDM);
        ``"pca"`` concatenates the vectors and reduces them to `vector_size` dimensions;
        ``"concat"`` concatenates them.
    vector_size : int, optional
        Number of dimensions D of the merged model, from 1 up; by default that of the largest model,
        and with ``"concat"`` the sum over all models.
    seed : int, default 1
        Seed of the random draws, any number.

    Returns
    -------
    TFWord2Vec
        A model of all V words. Its `merge_report` counts the words that some models lacked.

    Raises
    ------
    ValueError
        If `models` is empty, a vector is not finite, the method is unknown or cannot produce
        `vector_size` dimensions, or, with ``"alir"``, the models have no words in common.
    TypeError
        If an element of `models` is neither a model nor vectors.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> parts = [common_texts[:6], common_texts[3:]]
    >>> models = [TFWord2Vec(part, vector_size=4, min_count=1) for part in parts]
    >>> len(merge_models(models, "pca").wv)
    12
    """
    models = list_models(models)
    vectors = [vectors_in(index, model) for index, model in enumerate(models)]
    are_full_models = all(isinstance(model, Word2Vec) for model in models)
    vectors_with_counts = vectors
    if any(held_counts(keyed_vectors) is None for keyed_vectors in vectors):
        # vectors without any counts, so that `count_array` estimates those of all models
        vectors_with_counts = [
            keyed_like(keyed_vectors, keyed_vectors.vectors) for keyed_vectors in vectors
        ]
    model_counts = [count_array(keyed_vectors) for keyed_vectors in vectors_with_counts]
    vocabularies = [keyed_vectors.index_to_key for keyed_vectors in vectors]
    words, counts, row_ids = unite(vocabularies, model_counts)
    tree = common_paths(models, row_ids) if are_full_models else None
    mergeable_arrays = [
        array for array in OUTPUT_LAYER if tree is not None or array.rows_of != "nodes"
    ]
    sub_models = []
    for model, keyed_vectors, rows in zip(models, vectors, row_ids, strict=True):
        tables = {
            array.table: getattr(model, array.name)
            for array in mergeable_arrays
            if getattr(model, array.name, None) is not None
        }
        sub_models.append(SubModel(rows, keyed_vectors.vectors, tables))
    merged = merge(sub_models, len(words), method, vector_size, seed)
    first = models[0]
    options = options_of(first, names("merged", KEPT)) if isinstance(first, Word2Vec) else {}
    model = TFWord2Vec(vector_size=merged.inputs.shape[1], **options)
    with _new_arrays_in_files(model) if is_mapped(merged.inputs) else contextlib.nullcontext():
        count_of_word = dict(zip(words, counts.tolist(), strict=True))
        take_vectors(model, keyed(words, merged.inputs), count_of_word)
    if tree is not None and model.hs:
        tree.store(model.wv)
    for array in trained_outputs(model):
        if array.table in merged.tables:
            setattr(model, array.name, merged.tables[array.table])
    model.merge_report = merged.report(words)
    return model


@contextlib.contextmanager
def _new_arrays_in_files(model: TFWord2Vec) -> Iterator[None]:
    """Map the arrays that a model creates in this context from temporary files.

    The files have no names after that, and are removed when the arrays are freed.
    """
    with TemporaryFolder("merged") as folder:
        model.tables_dir = folder
        try:
            yield
        finally:
            model.tables_dir = None


def list_models(models: Any) -> list[Any]:
    """Return models as a list; raise a TypeError if `models` is a model or not iterable."""
    if isinstance(models, Word2Vec | KeyedVectors) or not isinstance(models, Iterable):
        raise TypeError(f"models is a {type(models).__name__}: pass a list of models or vectors")
    return list(models)


def vectors_in(index: int, model: Any) -> KeyedVectors:
    """Return the vectors of a model, or `model` itself if it is vectors.

    Raises a TypeError, which names the model by its index, for anything else.
    """
    vectors = getattr(model, "wv", model)
    if not isinstance(vectors, KeyedVectors):
        raise TypeError(
            f"model {index} is a {type(model).__name__}: pass Word2Vec models or KeyedVectors"
        )
    return with_keys(vectors)


def options_of(model: Word2Vec, attributes: Sequence[str]) -> dict[str, Any]:
    """Return the values of a model's attributes that are also parameters of `TFWord2Vec`."""
    parameters = inspect.signature(TFWord2Vec).parameters
    return {
        name: getattr(model, name, parameters[name].default)
        for name in attributes
        if name in parameters
    }


def unite(
    vocabularies: Sequence[Sequence[str]], counts: Sequence[np.ndarray]
) -> tuple[list[str], np.ndarray, list[np.ndarray]]:
    """Unite vocabularies, each with the counts of its words, [n_i].

    Returns the V words of the union, their counts [V], and for each vocabulary the rows of its
    words in the union, [n_i]. Words are sorted by descending count. If all vocabularies are equal,
    their order is kept.

    Counts are summed, as counts of different samples. If the vocabularies agree on the count of
    every word that they share, they were counted on the same corpus, and the counts are kept.
    """
    row_of: dict[str, int] = {}
    word_rows = [
        np.array([row_of.setdefault(word, len(row_of)) for word in words], np.int64)
        for words in vocabularies
    ]
    count_sums, max_counts = np.zeros((2, len(row_of)), np.int64)
    for rows, vocabulary_counts in zip(word_rows, counts, strict=True):
        count_sums[rows] += vocabulary_counts
        max_counts[rows] = np.maximum(max_counts[rows], vocabulary_counts)
    is_same_corpus = all(
        np.array_equal(max_counts[rows], vocabulary_counts)
        for rows, vocabulary_counts in zip(word_rows, counts, strict=True)
    )
    united_counts = max_counts if is_same_corpus else count_sums
    order = np.argsort(-united_counts, kind="stable")
    if all(np.array_equal(rows, np.arange(len(row_of))) for rows in word_rows):
        order = np.arange(len(row_of))
    new_row_of = np.argsort(order)
    words = list(row_of)
    sorted_words = [words[row] for row in order]
    return sorted_words, united_counts[order], [new_row_of[rows] for rows in word_rows]
