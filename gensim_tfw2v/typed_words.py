"""Keys of vectors as users type them: strings, and integers as their decimal digits."""

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors, ft_ngram_hashes


def is_integer(key: Any) -> bool:
    """Return whether a key is an integer. True and False do not count as integers."""
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def typed_form(key: Any) -> str | None:
    """Return the text that a user types for a key; None unless it is a string or an integer."""
    if isinstance(key, str):
        return key
    return str(int(key)) if is_integer(key) else None


def find_rows(
    vectors: KeyedVectors, forms: Container[str], n_words: int | None, fold: Callable[[str], str]
) -> dict[str, list[int]]:
    """Return the rows of the words whose typed form, folded, is among `forms`: ascending, by form.

    Only the first `n_words` words are searched, by default all. `fold` is a function such as
    `str.upper`, or `str` to respect case.
    """
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(islice(vectors.index_to_key, n_words)):
        form = typed_form(key)
        if form is not None and (folded_form := fold(form)) in forms:
            rows.setdefault(folded_form, []).append(row)
    return rows


def read_integer(text: str) -> int | None:
    """Return the integer whose typed form is a text; None for other texts, such as "07"."""
    try:
        integer = int(text)
    except ValueError:
        return None
    return integer if str(integer) == text else None


def has_key(vectors: KeyedVectors, key: Any) -> bool:
    """Return whether vectors have a key.

    gensim's operator `in` is also true of an integer that is the number of a row, but not a key.
    Integer tags of documents that equal the numbers of their rows are keys, although
    ``key_to_index`` does not contain them.
    """
    if key in vectors.key_to_index:
        return True
    keys = vectors.index_to_key
    return is_integer(key) and 0 <= key < len(keys) and bool(keys[key] == key)


def find_key(word: Any, vectors: KeyedVectors) -> Any:
    """Return the key that a typed word stands for; None if there is no vector for the word.

    The key is the word itself, if it is a key, or otherwise the integer with these digits. FastText
    also has vectors for strings that are not keys, but have n-grams: the result is then the string.
    """
    if has_key(vectors, word):
        return word
    if not isinstance(word, str):
        return None
    integer = read_integer(word)
    if integer is not None and has_key(vectors, integer):
        return integer
    if isinstance(vectors, FastTextKeyedVectors) and vectors.bucket:
        ngrams = ft_ngram_hashes(word, vectors.min_n, vectors.max_n, vectors.bucket)
        return word if len(ngrams) else None
    return None


class TypedSentences:
    """Sentences in which typed words are replaced by their keys. Unknown words stay strings."""

    def __init__(self, sentences: Iterable[list[str]], vectors: KeyedVectors) -> None:
        self.sentences = sentences
        self.vectors = vectors

    def __iter__(self) -> Iterator[list[Any]]:
        for sentence in self.sentences:
            keys = (find_key(word, self.vectors) for word in sentence)
            yield [word if key is None else key for word, key in zip(sentence, keys, strict=True)]
