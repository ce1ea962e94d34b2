"""Trained arrays of a model: listing, reading as tables, initializing and completing them.

All arrays are in C order, except while the kernels train them in place: see `Weights.move_apart`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v.files.row_file import RowFile
from gensim_tfw2v.initial_rows import InitialRows
from gensim_tfw2v.kernel.native.padded_rows import new_rows
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.training.huffman import compact_paths, keep_paths
from gensim_tfw2v.training.untrained import documents_seed
from gensim_tfw2v.weight_tables import ATTRIBUTES, INPUT_LAYER, OUTPUT_LAYER, WeightArray

#: Number of rows that are initialized at a time: few, so that the draws take little memory.
ROWS_AT_A_TIME = 1 << 14

#: Largest value of ``sample_int``: the word is never left out by subsampling.
NEVER_LEFT_OUT = 2**32 - 1


def keyed_vectors(model: Any) -> list[KeyedVectors]:
    """Return the vectors of a model: those of its words, and those of its documents' tags."""
    return [model.wv, model.dv] if model.has_documents else [model.wv]


def weights_of(model: Any) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Return, for a model and each of its KeyedVectors, the attributes and the trained arrays.

    The KeyedVectors are `wv` and, in Doc2Vec, `dv`.
    Each item is the object's ``__dict__`` and its arrays by name.
    """
    weights = []
    for holder in (model, *keyed_vectors(model)):
        attributes = vars(holder)
        arrays = {
            name: attributes[name]
            for name in ATTRIBUTES
            if isinstance(attributes.get(name), np.ndarray)
        }
        weights.append((attributes, arrays))
    return weights


def trained_inputs(model: Any) -> dict[WeightArray, Any]:
    """Return the arrays of inputs that training changes; `wv.vectors` of FastText is derived."""
    class_name = model._gensim_class.__name__
    return {
        array: attrgetter(array.name)(model)
        for array in INPUT_LAYER
        if class_name in array.class_names
    }


def trained_outputs(model: Any) -> dict[WeightArray, Any]:
    """Return the arrays of the output layer that the model's options use; None if missing."""
    attributes = vars(model)
    return {
        array: attributes.get(array.name) for array in OUTPUT_LAYER if getattr(model, array.option)
    }


def as_tables(model: Any, inputs: np.ndarray) -> Tables:
    """Return the inputs, and the model's output layer, as tables; unused tables have no rows."""
    size = model.vector_size
    outputs = dict.fromkeys(Tables._fields[1:], np.zeros((0, size), np.float32))
    for array, rows in trained_outputs(model).items():
        # with concatenated inputs, an output or node is several rows
        outputs[array.table] = rows.reshape(-1, size)
    return Tables(inputs, **outputs)


def join_inputs(model: Any) -> np.ndarray:
    """Return the vectors of a model's words and of its documents' tags, if any, in one array.

    With tags, the model's own arrays become views of it, so that they take no additional memory.
    """
    inputs = find_inputs(model)
    if inputs is None:
        words, tags = model.wv.vectors, model.dv.vectors
        inputs = np.concatenate([words, tags], dtype=np.float32)
        model.wv.vectors = inputs[: len(words)]
        model.dv.vectors = inputs[len(words) :]
    return inputs


def find_inputs(model: Any) -> np.ndarray | None:
    """Return the vectors of words and tags as one array; None unless they adjoin in memory."""
    words: np.ndarray = model.wv.vectors
    if not model.has_documents:
        return words
    tags = model.dv.vectors
    memory = words.base
    if (
        isinstance(memory, np.ndarray)
        and memory is tags.base
        and memory.flags.c_contiguous
        # shared memory is not enough: views may select or order its rows differently
        and tags.ctypes.data - words.ctypes.data == len(words) * words.strides[0]
        and tags.strides == words.strides
        and tags.dtype == words.dtype == np.float32
    ):
        shape = len(words) + len(tags), model.vector_size
        first = words.ctypes.data - memory.ctypes.data
        return np.ndarray(shape, np.float32, memory, first, words.strides)
    return None


def shapes(weights: list[Any]) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays in a result of `weights_of`."""
    return [np.shape(array) for _, arrays in weights for array in arrays.values()]


def copied_vocabulary(model: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the attributes of a model and of each of its vectors, each with a copy to restore.

    Arrays are not copied, because gensim replaces them. The exceptions are the keys and attributes
    of words, which gensim changes in place.
    """
    copies = []
    for attributes, _ in weights_of(model):
        copy = attributes.copy()
        if "expandos" in copy:
            copy["expandos"] = {name: array.copy() for name, array in copy["expandos"].items()}
            copy["index_to_key"] = copy["index_to_key"].copy()
            copy["key_to_index"] = copy["key_to_index"].copy()
        copies.append((attributes, copy))
    return copies


def make_contiguous(model: Any) -> None:
    """Replace arrays that are not in C order by copies that are: gensim's compiled code needs it.

    Such arrays are the user's, or another thread is training them in place.
    """
    for attributes, arrays in weights_of(model):
        for name, array in arrays.items():
            attributes[name] = np.require(array, requirements="C")


def renew_norms(model: Any) -> None:
    """Recompute the norms of vectors, if they have been computed.

    Norms are never set to None in between. gensim's queries compute missing norms, then rely on
    them, so a None from a concurrent thread would make them fail.
    """
    for vectors in keyed_vectors(model):
        if vectors.norms is not None:
            vectors.fill_norms(force=True)


def array_bytes(model: Any) -> int:
    """Return the size of a model's trained arrays, without subwords."""
    n_words = len(model.wv.index_to_key)
    n_inputs = sum(len(keyed.index_to_key) for keyed in keyed_vectors(model))
    n_outputs = n_words * len(trained_outputs(model))
    return 4 * (n_inputs * model.vector_size + n_outputs * model.layer1_size)


def init_weights(model: Any, folder: Path | None) -> None:
    """Initialize the weights of a TFWord2Vec as gensim's ``init_weights``.

    The arrays' memory has room for the kernels' padding. If a folder is passed, the arrays are
    mapped from new files in it instead, without such room; older files are replaced. Vectors of
    documents' tags follow the vectors of words, in one array.
    """

    def new(name: str, n_rows: int, size: int) -> np.ndarray | RowFile:
        if folder is not None:
            return RowFile.create(folder / f"{name}.npy", (n_rows, size))
        # with `dm_concat`, kernels treat a row of the output layer as several rows
        is_row = model.layer1_size == model.vector_size
        return new_rows(n_rows, size) if is_row else np.zeros((n_rows, size), np.float32)

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    holders = keyed_vectors(model)
    n_words = len(model.wv.index_to_key)
    n_inputs = sum(len(keyed.index_to_key) for keyed in holders)
    whole = new("vectors", n_inputs, model.wv.vector_size)
    first_row = 0
    for keyed, seed in zip(holders, seeds(model), strict=True):
        _init_rows(whole, first_row, keyed, seed)
        first_row += len(keyed.index_to_key)
    for keyed, vectors in zip(holders, np.split(array_of(whole), [n_words]), strict=False):
        keyed.vectors = vectors
        keyed.resize_vectors()  # keeps these rows, and adapts attributes and norms to them
    for array in trained_outputs(model):
        setattr(model, array.name, array_of(new(array.name, n_words, model.layer1_size)))


def array_of(rows: np.ndarray | RowFile) -> np.ndarray:
    """Return an array, or map the array of a file into memory."""
    return np.load(rows.path, "r+") if isinstance(rows, RowFile) else rows


def initial_inputs(model: Any) -> tuple[InitialRows, ...]:
    """Return the rows with which the table of inputs starts: those of words, then those of tags.

    The result is empty if they are not known: the model has no seed, or its inputs are subwords.
    """
    if model.seed is None or model.has_subwords:
        return ()
    return tuple(
        InitialRows(len(keyed), model.vector_size, seed)
        for keyed, seed in zip(keyed_vectors(model), seeds(model), strict=True)
    )


def seeds(model: Any) -> list[Any]:
    """Return the seeds of the initial vectors of words and, in Doc2Vec, of tags."""
    return [model.seed, documents_seed(model.seed)] if model.has_documents else [model.seed]


def _init_rows(whole: np.ndarray | RowFile, first_row: int, keyed: KeyedVectors, seed: Any) -> None:
    """Draw random vectors for the keys, from row `first_row` on; existing rows of keys are kept."""
    n_keys = len(keyed.index_to_key)
    initial = InitialRows(n_keys, keyed.vector_size, np.random.SeedSequence(seed))
    prior = keyed.vectors[:n_keys]
    for first in range(0, n_keys, ROWS_AT_A_TIME):
        last = min(n_keys, first + ROWS_AT_A_TIME)
        rows = initial.draw(first, last)
        kept = prior[first:last]
        rows[: len(kept)] = kept
        whole[first_row + first : first_row + last] = rows


@contextlib.contextmanager
def extended_outputs(model: Any) -> Iterator[None]:
    """Add the rows that the output layer lacks after gensim's code has added or counted words.

    gensim adds rows to its own arrays only. Arrays with a wrong number of rows before remain wrong,
    because their rows do not match the words: `check_state` refuses them.
    """
    n_words = len(model.wv.vectors)
    complete = {
        array
        for array, rows in trained_outputs(model).items()
        if rows is None or len(rows) == n_words
    }
    yield
    for array, rows in trained_outputs(model).items():
        if array not in complete:
            continue
        if rows is None:
            rows = np.zeros((0, model.layer1_size), np.float32)
        if len(rows) < len(model.wv):
            setattr(model, array.name, np.pad(rows, ((0, len(model.wv) - len(rows)), (0, 0))))


def complete_added_words(model: Any) -> None:
    """Complete the attributes of words that ``wv.add_vector`` has added, to train them.

    These words are neither subsampled nor drawn as negatives, and have empty paths in the Huffman
    tree. `cum_table` and the output layer are extended; the new output rows start from 0. In
    FastText, the words also get n-grams and rows of their own.

    In a loaded model, only the output layer lacks the words, because gensim makes a new `cum_table`
    of all words.

    Nothing changes if arrays do not fit the vocabulary for a different reason: `cum_table` or an
    array of the output layer is missing, these have different lengths or more rows than there are
    words, ``wv.vectors`` has a different number of rows, or gensim has added the words itself,
    when it counted a corpus.
    """
    n_words = len(model.wv)
    n_complete = _count_complete_words(model)
    if not 0 < n_complete < n_words or n_words != len(model.wv.vectors):
        return
    if any(np.ndim(path) for path in model.wv.expandos.get("point", ())[n_complete:]):
        # The added words have paths, so gensim has counted them in a corpus and built a new tree.
        # The output layer has not been extended to the nodes of that tree yet.
        return
    if model.negative:
        table = vars(model).get("cum_table")
        if not _leaves_out(table, n_complete, n_words):
            return
        # equal cumulative values give the added words a probability of 0
        model.cum_table = np.pad(table, (0, n_words - len(table)), "edge")
    _complete_attributes(model, n_complete)
    row_padding = (0, n_words - n_complete)
    for array, rows in trained_outputs(model).items():
        setattr(model, array.name, np.pad(rows, (row_padding, (0, 0))))
    if isinstance(model.wv, FastTextKeyedVectors):
        _complete_subwords(model.wv)


def _count_complete_words(model: Any) -> int:
    """Return the number of words that the output layer has rows for.

    The result is 0 if an array is missing, or the lengths of the arrays differ.
    """
    arrays = trained_outputs(model).values()
    lengths = {0 if array is None else len(array) for array in arrays}
    return lengths.pop() if len(lengths) == 1 else 0


def _leaves_out(table: Any, n_complete: int, n_words: int) -> bool:
    """Return whether words from row `n_complete` on are never drawn from a `cum_table`."""
    if table is None or not n_complete <= len(table) <= n_words:
        return False
    return bool(table[n_complete - 1] == table[-1])


def _complete_attributes(model: Any, n_complete: int) -> None:
    """Set the values of words from row `n_complete` on: no subsampling, and no path in the tree."""
    with keep_paths(model.wv):
        model.wv.allocate_vecattrs()
    compact_paths(model.wv)  # gensim stores the paths of a large vocabulary when it adds a vector
    attributes = model.wv.expandos
    if "sample_int" in attributes:
        attributes["sample_int"][n_complete:] = NEVER_LEFT_OUT


def _complete_subwords(vectors: FastTextKeyedVectors) -> None:
    """Compute n-grams and rows of added words in FastText, so that their vectors stay the same."""
    vectors.recalc_char_ngram_buckets()
    for word in range(len(vectors.vectors_vocab), len(vectors)):
        ngrams = vectors.vectors_ngrams[vectors.buckets_word[word]]
        # a vector is the mean of the word's own row and of the rows of its n-grams
        own_row = vectors.vectors[word] * (1 + len(ngrams)) - ngrams.sum(axis=0)
        vectors.vectors_vocab = np.vstack([vectors.vectors_vocab, own_row])
