"""Merging of sub-models that were trained apart: what is merged, and what comes out.

Everything here works on arrays and on numbers of words; `gensim_tfw2v.merge_models` takes models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gensim_tfw2v.merging.methods import METHODS, Merging, Piece, Table, merging_named

__all__ = ["METHODS", "MergeReport", "Merged", "Merging", "SubModel", "merge"]

#: Words that are named for each number of sub-models.
EXAMPLES = 5


class SubModel(NamedTuple):
    """A model of some of the V words of a vocabulary.

    Its arrays are read in pieces: they may be files mapped into memory.

    Attributes
    ----------
    words : ndarray [n], int
        Which words it holds: their rows in the vocabulary, each once.
    inputs : ndarray [n, D_i] or [V, D_i]
        In n rows, row i is that of ``words[i]``. In V rows, row w is that of word w, and those of
        words that the sub-model does not hold are not read.
    outputs : ndarray, optional
        ``syn1neg``, as `inputs`.
    nodes : ndarray [m, D_i], optional
        ``syn1``: row j is that of inner node j of the Huffman tree, which has to be the same in all
        sub-models (same words, same counts). Rows of zeros are those of nodes that the sub-model
        was not trained on.
    subwords : ndarray [R, D_i], optional
        Rows that inputs are sums of, the same in all sub-models, as `nodes`.
    """

    words: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray | None = None
    nodes: np.ndarray | None = None
    subwords: np.ndarray | None = None


@dataclass(frozen=True)
class MergeReport:
    """Counts of the words by the number of sub-models that held them.

    Attributes
    ----------
    models : int
        Number N of sub-models.
    words : tuple of int
        N + 1 counts: entry k is the number of words that were in exactly k sub-models.
    examples : mapping from int to tuple of str
        Up to five words for each k below N, the first in the vocabulary's order; empty if the
        words are not known.
    """

    models: int
    words: tuple[int, ...]
    examples: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def in_all(self) -> int:
        """Number of words that were in all sub-models."""
        return self.words[-1]

    @property
    def missing(self) -> int:
        """Number of words that were missing from at least one."""
        return sum(self.words) - self.in_all

    def lines(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """Label, number of words and examples for each k, from N down."""
        named = {self.models: "in all", 0: "in none"}
        return [
            (named.get(k, f"in {k} of {self.models}"), self.words[k], self.examples.get(k, ()))
            for k in range(self.models, -1, -1)
            if self.words[k] or k == self.models
        ]

    def __str__(self) -> str:
        parts = [
            f"{where}: {number:,}" + (f" ({', '.join(examples)}, …)" if examples else "")
            for where, number, examples in self.lines()
        ]
        return f"words of {self.models} sub-models: " + "; ".join(parts)


class Merged(NamedTuple):
    """One model of all sub-models.

    Attributes
    ----------
    inputs : ndarray [V, D], float32
        Zeros for words that no sub-model holds.
    outputs : ndarray [V, D], float32, optional
        None if a sub-model has none.
    nodes : ndarray [m, D], float32, optional
        None if a sub-model has none.
    held : ndarray [V], int
        In how many sub-models each word was.
    models : int
        Number of sub-models.
    subwords : ndarray [R, D], float32, optional
        None if a sub-model has none. Zeros for rows that no sub-model was trained on.
    """

    inputs: np.ndarray
    outputs: np.ndarray | None
    nodes: np.ndarray | None
    held: np.ndarray
    models: int
    subwords: np.ndarray | None = None

    def report(self, words: Sequence[str] | None = None) -> MergeReport:
        """Count which words, of this vocabulary, were missing in how many sub-models."""
        counts = np.bincount(self.held, minlength=self.models + 1)
        examples = {}
        for k in range(self.models):
            if words is not None and counts[k]:
                first = np.flatnonzero(self.held == k)[:EXAMPLES]
                examples[k] = tuple(str(words[row]) for row in first)
        return MergeReport(self.models, tuple(map(int, counts)), examples)


def merge(
    sub_models: Sequence[SubModel],
    rows: int,
    method: str = "alir",
    vector_size: int | None = None,
    seed: int = 1,
) -> Merged:
    """Merge sub-models into one model.

    Beside the result, which is in memory, some hundred megabytes are: sub-models are read in
    pieces, three times at most where their sizes sum up to 4096 or less.

    Parameters
    ----------
    sub_models : sequence of SubModel
        N of them, one or more.
    rows : int
        V, the number of words of the vocabulary.
    method : {"alir", "pca", "concat"}
    vector_size : int, optional
        D of the merged model; by default that of the largest sub-model, and with ``"concat"`` the
        sum of all.
    seed : int
        Of random draws, which are needed where the sizes sum up to more than 4096.

    Returns
    -------
    Merged
        With outputs, or nodes, if all sub-models have them.

    Raises
    ------
    ValueError
        If there is no sub-model, or one does not fit into the vocabulary, or has numbers that are
        not finite; if the method is unknown, or cannot give that size; with ``"alir"``, if
        sub-models have no words in common.
    """
    chosen = merging_named(method)
    if not len(sub_models):
        raise ValueError("there are no sub-models to merge: give one or more")
    row_of = [_rows_of_words(number, one, rows) for number, one in enumerate(sub_models)]
    inputs = _table("inputs", sub_models, row_of)
    merging = chosen(inputs, vector_size, seed)

    def merged(name: str) -> np.ndarray | None:
        if any(getattr(one, name) is None for one in sub_models):
            return None
        table = _table(name, sub_models, row_of if name == "outputs" else None)
        return _apply(merging.merge_outputs, table, merging.size)

    return Merged(
        _apply(merging.merge_inputs, inputs, merging.size),
        merged("outputs"),
        merged("nodes"),
        np.array([of_one >= 0 for of_one in row_of]).sum(axis=0, dtype=np.int64),
        len(sub_models),
        merged("subwords"),
    )


def _apply(to_piece: Callable[[Piece], np.ndarray], table: Table, size: int) -> np.ndarray:
    merged = np.empty((table.rows, size), np.float32)
    for piece in table.pieces():
        merged[piece.first : piece.first + len(piece.rows)] = to_piece(piece)
    return merged


def _rows_of_words(number: int, sub_model: SubModel, rows: int) -> np.ndarray:
    """In which row of a sub-model's arrays each word is, or -1: [V], int32."""
    words = np.asarray(sub_model.words)
    if words.ndim != 1 or not len(words) or words.dtype.kind not in "iu":
        raise ValueError(f"sub-model {number}: words must be the numbers of one word or more")
    if words.min() < 0 or words.max() >= rows:
        raise ValueError(f"sub-model {number}: words must be from 0 to {rows - 1}")
    in_order = len(sub_model.inputs) == len(words)
    if not in_order and len(sub_model.inputs) != rows:
        raise ValueError(
            f"sub-model {number} has {len(sub_model.inputs)} rows: give one for each of its "
            f"{len(words)} words, or for each of all {rows}"
        )
    row_of = np.full(rows, -1, np.int32)
    row_of[words] = np.arange(len(words)) if in_order else words
    if np.count_nonzero(row_of >= 0) < len(words):
        raise ValueError(f"sub-model {number}: a word is there twice")
    return row_of


def _table(
    name: str, sub_models: Sequence[SubModel], row_of: Sequence[np.ndarray] | None = None
) -> Table:
    """Rows of one kind: of words, in `row_of`; else nodes or subwords, without those of zeros."""
    arrays = [getattr(sub_model, name) for sub_model in sub_models]
    for number, (array, sub_model) in enumerate(zip(arrays, sub_models, strict=True)):
        inputs = sub_model.inputs
        if row_of is not None and (array.ndim != 2 or array.shape != inputs.shape):
            raise ValueError(
                f"sub-model {number}: {name} have the shape {array.shape}, inputs {inputs.shape}: "
                "give matrices of one shape"
            )
        if row_of is None and array.shape != (len(arrays[0]), inputs.shape[1]):
            raise ValueError(
                f"sub-model {number}: {name} have the shape {array.shape}: the Huffman tree or the "
                f"n-grams, and so the number of {name}, have to be the same in all, and the size "
                "that of inputs"
            )
    if row_of is None:  # those that each sub-model was trained on
        order = np.arange(len(arrays[0]), dtype=np.int32)
        row_of = [np.where(np.any(array, axis=1), order, np.int32(-1)) for array in arrays]
    return Table(name, arrays, row_of)
