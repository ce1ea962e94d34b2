"""Merging of separately trained sub-models: interface, input and result.

This subpackage works on arrays and row indices; `gensim_tfw2v.merge_models` accepts models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.files.mapped import is_mapped, new_like
from gensim_tfw2v.merging.concatenated_rows import Piece, Table
from gensim_tfw2v.merging.methods import METHODS, Merging, find_method
from gensim_tfw2v.row_blocks import row_blocks
from gensim_tfw2v.weight_tables import OUTPUT_LAYER

__all__ = ["METHODS", "MergeReport", "Merged", "Merging", "SubModel", "merge"]

#: Maximum number of example words in a report, for each number of sub-models.
N_EXAMPLES = 5

#: Name of the table of FastText's rows of words and n-grams, whose means are the input rows. Row j
#: belongs to the same word or n-gram in all sub-models. A row of zeros was not trained.
SUBWORDS = "subwords"

#: Tables that are merged in addition to the inputs. The value is what a row of the table belongs
#: to: "words", "nodes" or "subwords".
ROW_KINDS = {array.table: array.rows_of for array in OUTPUT_LAYER} | {SUBWORDS: SUBWORDS}


class SubModel(NamedTuple):
    """A model of some of the V words of a vocabulary.

    The arrays are read in pieces, so they may be memory-mapped files. If those of all sub-models
    are, the merged arrays are mapped from temporary files.

    Attributes
    ----------
    words : ndarray [n], int
        Vocabulary indices of the words that the sub-model contains, without duplicates.
    inputs : ndarray [n, D_i] or [V, D_i]
        Input rows. With n rows, row i belongs to word ``words[i]``. With V rows, row w belongs to
        word w, and only the rows in `words` are read.
    tables : mapping from str to ndarray
        Tables of the output layer and `SUBWORDS`, by name. Tables of words have the layout of
        `inputs`. Tables of nodes are [m, D_i]: row j belongs to inner node j of the Huffman tree,
        which must be the same in all sub-models (same words, same counts). A row of zeros means
        that the sub-model was not trained on the node.
    """

    words: np.ndarray
    inputs: np.ndarray
    tables: Mapping[str, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class MergeReport:
    """Counts of the words by the number of sub-models that contain them.

    Attributes
    ----------
    models : int
        Number N of sub-models.
    words : tuple of int
        N + 1 counts: element k is the number of words that are in exactly k sub-models.
    examples : mapping from int to tuple of str
        The first words of the vocabulary, up to five, for each k below N; empty if the words are
        not known.
    """

    models: int
    words: tuple[int, ...]
    examples: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def in_all(self) -> int:
        """Number of words that are in all sub-models."""
        return self.words[-1]

    @property
    def missing(self) -> int:
        """Number of words that are missing from at least one sub-model."""
        return sum(self.words) - self.in_all

    def lines(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """Return label, number of words and examples for each k from N down to 0.

        Each k below N without words is left out.
        """
        labels = {self.models: "in all", 0: "in none"}
        return [
            (labels.get(k, f"in {k} of {self.models}"), self.words[k], self.examples.get(k, ()))
            for k in range(self.models, -1, -1)
            if self.words[k] or k == self.models
        ]

    def __str__(self) -> str:
        parts = [
            f"{label}: {n_words:,}" + (f" ({', '.join(examples)}, …)" if examples else "")
            for label, n_words, examples in self.lines()
        ]
        return f"words of {self.models} sub-models: " + "; ".join(parts)


class Merged(NamedTuple):
    """Model merged from all sub-models.

    Attributes
    ----------
    inputs : ndarray [V, D], float32
        Input rows; zeros for words that no sub-model contains.
    tables : mapping from str to ndarray [rows, D], float32
        The remaining tables that all sub-models have. Rows of zeros for nodes, words and n-grams
        that no sub-model was trained on.
    n_holders : ndarray [V], int
        Number of sub-models that contain each word.
    n_models : int
        Number of sub-models.
    """

    inputs: np.ndarray
    tables: Mapping[str, np.ndarray]
    n_holders: np.ndarray
    n_models: int

    def report(self, words: Sequence[str] | None = None) -> MergeReport:
        """Count words by the number of sub-models that contain them.

        `words` is the vocabulary, from which the examples are taken.
        """
        counts = np.bincount(self.n_holders, minlength=self.n_models + 1)
        examples = {}
        for k in range(self.n_models):
            if words is not None and counts[k]:
                first_rows = np.flatnonzero(self.n_holders == k)[:N_EXAMPLES]
                examples[k] = tuple(str(words[row]) for row in first_rows)
        return MergeReport(self.n_models, tuple(map(int, counts)), examples)


def merge(
    sub_models: Sequence[SubModel],
    n_words: int,
    method: str = "alir",
    vector_size: int | None = None,
    seed: int = 1,
) -> Merged:
    """Merge sub-models into one model.

    Needs only some hundred megabytes of memory in addition to the result, because sub-models are
    read in pieces. They are read at most three times if their sizes D_i sum up to 4096 or less.

    Parameters
    ----------
    sub_models : sequence of SubModel
        One or more sub-models.
    n_words : int
        Number of words V of the vocabulary.
    method : {"alir", "pca", "concat"}
        See `gensim_tfw2v.merge_models`.
    vector_size : int, optional
        Size D of the merged model; by default that of the largest sub-model, and with ``"concat"``
        the sum of all sizes.
    seed : int
        Seed of random draws, which are needed only if the sizes sum up to more than 4096.

    Returns
    -------
    Merged
        Merged model, with the tables that all sub-models have.

    Raises
    ------
    ValueError
        If there is no sub-model, or one does not fit the vocabulary or has elements that are not
        finite; if the method is unknown, or cannot produce this size; with ``"alir"``, if
        sub-models have no words in common.
    """
    merging_class = find_method(method)
    if not len(sub_models):
        raise ValueError("no sub-models to merge: pass one or more")
    row_of = [_find_rows(index, sub_model, n_words) for index, sub_model in enumerate(sub_models)]
    inputs = _table("inputs", sub_models, row_of)
    merging = merging_class(inputs, vector_size, seed)

    merged_inputs = _apply(merging.merge_inputs, inputs, merging.size)
    tables = {}
    for name, rows_of in ROW_KINDS.items():
        if all(name in sub_model.tables for sub_model in sub_models):
            table = _table(name, sub_models, row_of if rows_of == "words" else None)
            tables[name] = _apply(merging.merge_outputs, table, merging.size)
    n_holders = np.array([rows >= 0 for rows in row_of]).sum(axis=0, dtype=np.int64)
    return Merged(merged_inputs, tables, n_holders, len(sub_models))


def _apply(merge_piece: Callable[[Piece], np.ndarray], table: Table, size: int) -> np.ndarray:
    """Return the merged rows [V, D] of a table, which `merge_piece` computes piece by piece.

    If the arrays of all sub-models are mapped, the result is in a mapped temporary file.
    """
    first_in_memory = min(table.arrays, key=is_mapped)
    merged = new_like(first_in_memory, (table.n_rows, size), np.float32)
    for piece in table.pieces():
        merged[piece.begin : piece.begin + len(piece.rows)] = merge_piece(piece)
    return merged


def _find_rows(index: int, sub_model: SubModel, n_words: int) -> np.ndarray:
    """Return the row of each word in a sub-model's arrays, or -1 for missing words: [V], int32."""
    words = np.asarray(sub_model.words)
    if words.ndim != 1 or not len(words) or words.dtype.kind not in "iu":
        raise ValueError(f"sub-model {index}: words must be a list of one or more word indices")
    if words.min() < 0 or words.max() >= n_words:
        raise ValueError(f"sub-model {index}: words must be from 0 to {n_words - 1}")
    has_row_per_word = len(sub_model.inputs) == len(words)
    if not has_row_per_word and len(sub_model.inputs) != n_words:
        raise ValueError(
            f"sub-model {index} has {len(sub_model.inputs)} rows: pass one row for each of its "
            f"{len(words)} words, or one for each of all {n_words} words"
        )
    row_of = np.full(n_words, -1, np.int32)
    row_of[words] = np.arange(len(words)) if has_row_per_word else words
    if np.count_nonzero(row_of >= 0) < len(words):
        raise ValueError(f"sub-model {index}: words contains duplicates")
    return row_of


def _are_trained(array: np.ndarray) -> np.ndarray:
    """Return, for each row, [V], whether an element is not 0."""
    return np.concatenate([np.any(array[block], axis=1) for block in row_blocks(array)])


def _table(
    name: str, sub_models: Sequence[SubModel], row_of: Sequence[np.ndarray] | None = None
) -> Table:
    """Return one table of the arrays that have this name in the sub-models.

    With `row_of`, rows of the table belong to words. Without it, they belong to nodes or subwords,
    and rows of zeros count as missing.
    """
    arrays = [
        sub_model.inputs if name == "inputs" else sub_model.tables[name] for sub_model in sub_models
    ]
    for index, (array, sub_model) in enumerate(zip(arrays, sub_models, strict=True)):
        inputs = sub_model.inputs
        if row_of is not None and (array.ndim != 2 or array.shape != inputs.shape):
            raise ValueError(
                f"sub-model {index}: {name} have the shape {array.shape}, but inputs have "
                f"{inputs.shape}: pass matrices of the same shape"
            )
        if row_of is None and array.shape != (len(arrays[0]), inputs.shape[1]):
            raise ValueError(
                f"sub-model {index}: {name} have the shape {array.shape}: they need as many "
                "columns as inputs, and the same number of rows in all sub-models, which must have "
                "the same Huffman tree or n-grams"
            )
    if row_of is None:  # rows of zeros were not trained, and count as missing
        order = np.arange(len(arrays[0]), dtype=np.int32)
        row_of = [np.where(_are_trained(array), order, np.int32(-1)) for array in arrays]
    return Table(name, arrays, row_of)
