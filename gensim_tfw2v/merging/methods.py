"""The mergings that a user chooses from, and merging by one of them."""

from collections.abc import Callable, Sequence

import numpy as np

from gensim_tfw2v.merging.alir import ALiR
from gensim_tfw2v.merging.interface import Merged, Merging, SubModel
from gensim_tfw2v.merging.pca import PCA, Concatenation
from gensim_tfw2v.merging.table import Piece, Table
from gensim_tfw2v.messages import quoted

METHODS: dict[str, type[Merging]] = {"alir": ALiR, "pca": PCA, "concat": Concatenation}
"""Ways of merging, by the names that users give."""


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
    assert inputs is not None
    merging = chosen(inputs, vector_size, seed)

    def merged(table: Table | None) -> np.ndarray | None:
        return None if table is None else _apply(merging.merge_outputs, table, merging.size)

    return Merged(
        _apply(merging.merge_inputs, inputs, merging.size),
        merged(_table("outputs", sub_models, row_of)),
        merged(_trained_rows("nodes", sub_models)),
        np.array([of_one >= 0 for of_one in row_of]).sum(axis=0, dtype=np.int64),
        len(sub_models),
        merged(_trained_rows("subwords", sub_models)),
    )


def merging_named(method: str) -> type[Merging]:
    """The merging of a name; ValueError if there is none."""
    if method not in METHODS:
        *names, last = METHODS
        raise ValueError(f"unknown merging {quoted(method)}: give {', '.join(names)} or {last}")
    return METHODS[method]


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


def _table(name: str, sub_models: Sequence[SubModel], row_of: Sequence[np.ndarray]) -> Table | None:
    """The rows of words of one kind; None if a sub-model has none."""
    arrays = [getattr(sub_model, name) for sub_model in sub_models]
    if any(array is None for array in arrays):
        return None
    for number, (array, sub_model) in enumerate(zip(arrays, sub_models, strict=True)):
        if array.ndim != 2 or array.shape != sub_model.inputs.shape:
            raise ValueError(
                f"sub-model {number}: {name} have the shape {array.shape}, inputs "
                f"{sub_model.inputs.shape}: give matrices of one shape"
            )
    return Table(name, arrays, row_of)


def _trained_rows(name: str, sub_models: Sequence[SubModel]) -> Table | None:
    """Nodes or subwords that each sub-model was trained on; None if one has none."""
    arrays = [getattr(sub_model, name) for sub_model in sub_models]
    if any(array is None for array in arrays):
        return None
    for number, (array, sub_model) in enumerate(zip(arrays, sub_models, strict=True)):
        if array.shape != (len(arrays[0]), sub_model.inputs.shape[1]):
            raise ValueError(
                f"sub-model {number}: {name} have the shape {array.shape}: the Huffman tree or the "
                f"n-grams, and so the number of {name}, have to be the same in all, and the size "
                "that of inputs"
            )
    order = np.arange(len(arrays[0]), dtype=np.int32)
    row_of = [np.where(np.any(array, axis=1), order, np.int32(-1)) for array in arrays]
    return Table(name, arrays, row_of)
