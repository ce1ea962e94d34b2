"""Writer of word2vec's files of vectors, in place of gensim's ``save_word2vec_format``.

Importing this module makes gensim's ``KeyedVectors.save_word2vec_format`` faster. Vectors that are
mapped from a file are read once, in parts.
"""

import copy
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors, keyedvectors

from gensim_tfw2v import compiled_library
from gensim_tfw2v.processes.threads import in_threads, usable_cores
from gensim_tfw2v.typed_words import read_integer

#: Approximate number of vector elements that a thread encodes at a time.
NUMBERS_PER_PART = 1 << 17

#: Maximum length in bytes of a formatted number and its separator.
MAX_NUMBER_BYTES = 16

_SAME_TEXT = (
    "an integer and a string among the keys have the same digits, so that a file of text cannot "
    "hold both: rename one of them, or use save()"
)


def _format_rows() -> Any:
    """Return the compiled function that formats rows without the GIL; None if it is missing."""
    return getattr(compiled_library.load_optional(), "tfw2v_format_rows", None)


_gensim_save = KeyedVectors.save_word2vec_format


@functools.wraps(_gensim_save)
def save_word2vec_format(
    self: KeyedVectors,
    fname: Any,
    fvocab: Any = None,
    binary: bool = False,
    total_vec: int | None = None,
    write_header: bool = True,
    prefix: str = "",
    append: bool = False,
    sort_attr: str = "count",
) -> None:
    """Write the same bytes as gensim, but encode parts of the rows in threads.

    If the word in row 0 is the integer 0, gensim writes it twice. This function writes it once.
    """
    words = self.index_to_key
    size = self.vector_size
    are_tags_once = not _has_own_rows_twice(self)
    format_rows = _format_rows()
    is_float = self.vectors.dtype == np.float32 and self.vectors.shape == (len(words), size)
    can_encode = binary or format_rows is not None
    if not (can_encode and is_float and fvocab is None):
        vectors = self if are_tags_once else _with_text_keys(self)
        return _gensim_save(
            vectors, fname, fvocab, binary, total_vec, write_header, prefix, append, sort_attr
        )
    if not are_tags_once:
        _check_texts(self.key_to_index)
    values = self.expandos.get(sort_attr)
    if values is None:
        message = "attribute %s not present in %s; will store in internal index_to_key order"
        keyedvectors.logger.warning(message, sort_attr, self)
        values = np.zeros(len(words))
    if total_vec is None:
        total_vec = len(words)
    keyedvectors.logger.info("storing %sx%s projection weights into %s", total_vec, size, fname)

    def encode_rows(rows: np.ndarray, _: object) -> bytes:
        texts = [f"{prefix}{words[row]}".encode() for row in rows.tolist()]
        elements = self.vectors.take(rows, axis=0)
        if binary:
            pairs = zip(texts, elements, strict=True)
            return b"".join(b"%b %b" % (text, row.tobytes()) for text, row in pairs)
        text = b"".join(texts)
        ends = np.cumsum([*map(len, texts)], dtype=np.int64)
        buffer = np.empty(len(text) + len(rows) * (MAX_NUMBER_BYTES * size + 1), np.uint8)
        arguments = (
            text,
            ends.ctypes.data,
            elements.ctypes.data,
            *elements.shape,
            buffer.ctypes.data,
        )
        return buffer[: format_rows(*arguments)].tobytes()

    order = _order_rows(self, np.asarray(values), are_tags_once)
    parts = np.array_split(order, len(order) * size // NUMBERS_PER_PART + 1)
    with utils.open(fname, "ab" if append else "wb") as out:
        if write_header:
            out.write(f"{total_vec} {size}\n".encode())
        for part in in_threads(encode_rows, parts, ahead=2 * len(usable_cores())):
            out.write(part)


def _order_rows(vectors: KeyedVectors, values: np.ndarray, are_tags_first: bool) -> np.ndarray:
    """Return the rows in the order in which gensim writes them: by descending values, [V].

    If `are_tags_first`, Doc2Vec's integer tags, which equal the numbers of their rows, come first.
    """
    words = vectors.index_to_key
    n_tags = 0
    if are_tags_first:
        n_tags = next((row for row, key in enumerate(words) if row != key), len(words))
    n_keys = len(vectors.key_to_index)
    rows = np.fromiter(vectors.key_to_index.values(), np.int32, n_keys)
    values = values[rows]
    if (values[1:] > values[:-1]).any():
        rows = rows[np.argsort(-values, kind="stable")]
    return np.concatenate([np.arange(n_tags, dtype=np.int32), rows])


def _check_texts(key_to_index: Mapping[Any, int]) -> None:
    """Raise a ValueError if an integer and a string among the keys have the same text."""
    for key in key_to_index:
        if isinstance(key, str) and read_integer(key) in key_to_index:
            raise ValueError(_SAME_TEXT)


def _has_own_rows_twice(vectors: KeyedVectors) -> bool:
    """Return whether gensim's ``save_word2vec_format`` would write a word twice.

    If the first keys equal the numbers of their rows, gensim takes them for tags of documents. It
    writes the tags, and then all words in `key_to_index`, which usually lacks tags.
    """
    keys = vectors.index_to_key
    return bool(keys) and keys[0] == 0 and 0 in vectors.key_to_index


def _with_text_keys(vectors: KeyedVectors) -> KeyedVectors:
    """Return vectors with the same arrays, whose keys are the texts of the original keys."""
    text_vectors = copy.copy(vectors)
    text_vectors.index_to_key = [*map(str, vectors.index_to_key)]
    text_vectors.key_to_index = {str(key): row for key, row in vectors.key_to_index.items()}
    if len(text_vectors.key_to_index) < len(vectors.key_to_index):
        raise ValueError(_SAME_TEXT)
    return text_vectors


# The method of gensim's class is replaced. If the vectors of models were of a subclass instead,
# files of models could not be loaded without this package.
KeyedVectors.save_word2vec_format = save_word2vec_format
