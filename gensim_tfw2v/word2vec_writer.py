"""Writer of word2vec's files of vectors, in place of gensim's ``save_word2vec_format``.

Importing this module makes gensim's ``KeyedVectors.save_word2vec_format`` write text faster.
"""

import copy
import functools
from typing import Any

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors, keyedvectors

from gensim_tfw2v import compiled_library
from gensim_tfw2v.processes.threads import in_threads, usable_cores

#: Approximate number of vector elements that a thread formats at a time.
NUMBERS_PER_PART = 1 << 17

#: Maximum length in bytes of a formatted number and its separator.
MAX_NUMBER_BYTES = 16


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
    """Write the same bytes as gensim, but format text by compiled code in threads.

    If the word in row 0 is the integer 0, gensim writes it twice. This function writes it once.
    """
    if _has_own_rows_twice(self):
        self = _with_text_keys(self)
    words = self.index_to_key
    size = self.vector_size
    format_rows = _format_rows()
    is_float = self.vectors.dtype == np.float32 and self.vectors.shape == (len(words), size)
    if format_rows is None or not is_float or binary or fvocab is not None:
        return _gensim_save(
            self, fname, fvocab, binary, total_vec, write_header, prefix, append, sort_attr
        )
    values = self.expandos.get(sort_attr)
    if values is None:
        message = "attribute %s not present in %s; will store in internal index_to_key order"
        keyedvectors.logger.warning(message, sort_attr, self)
        values = np.zeros(len(words))
    if total_vec is None:
        total_vec = len(words)
    keyedvectors.logger.info("storing %sx%s projection weights into %s", total_vec, size, fname)

    def format_lines(rows: np.ndarray, _: object) -> bytes:
        texts = [f"{prefix}{words[row]}".encode() for row in rows.tolist()]
        text = b"".join(texts)
        ends = np.cumsum([*map(len, texts)], dtype=np.int64)
        elements = self.vectors.take(rows, axis=0)
        buffer = np.empty(len(text) + len(rows) * (MAX_NUMBER_BYTES * size + 1), np.uint8)
        arguments = (
            text,
            ends.ctypes.data,
            elements.ctypes.data,
            *elements.shape,
            buffer.ctypes.data,
        )
        return buffer[: format_rows(*arguments)].tobytes()

    # Doc2Vec's integer tags, which equal the numbers of their rows, come first
    n_tags = next((row for row, key in enumerate(words) if row != key), len(words))
    rows = np.fromiter(self.key_to_index.values(), np.int64)
    order = np.r_[:n_tags, rows[np.argsort(-np.asarray(values)[rows], kind="stable")]]
    parts = np.array_split(order, len(order) * size // NUMBERS_PER_PART + 1)
    with utils.open(fname, "ab" if append else "wb") as out:
        if write_header:
            out.write(f"{total_vec} {size}\n".encode())
        for part in in_threads(format_lines, parts, ahead=2 * len(usable_cores())):
            out.write(part)


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
        raise ValueError(
            "an integer and a string among the keys have the same digits, so that a file of text "
            "cannot hold both: rename one of them, or use save()"
        )
    return text_vectors


# The method of gensim's class is replaced. If the vectors of models were of a subclass instead,
# files of models could not be loaded without this package.
KeyedVectors.save_word2vec_format = save_word2vec_format
