"""Keys of vectors as users type them: strings, and integers as their decimal digits."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors, ft_ngram_hashes


def is_integer(key: Any) -> bool:
    """Return whether a key is an integer; True and False are none."""
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def typed_form(key: Any) -> str | None:
    """Return the text by which a key is typed; None if it is neither a string nor an integer."""
    if isinstance(key, str):
        return key
    return str(int(key)) if is_integer(key) else None


def read_integer(text: str) -> int | None:
    """Return the integer whose typed form is a text; None if there is none, as for "07"."""
    try:
        integer = int(text)
    except ValueError:
        return None
    return integer if str(integer) == text else None


def has_key(vectors: KeyedVectors, key: Any) -> bool:
    """Return whether vectors have a key.

    gensim's `in` is also true for an integer that is no key but the number of a row. Tags of
    documents that are their own rows are keys, too, though ``key_to_index`` does not contain them.
    """
    if key in vectors.key_to_index:
        return True
    keys = vectors.index_to_key
    return is_integer(key) and 0 <= key < len(keys) and bool(keys[key] == key)


def find_key(word: Any, vectors: KeyedVectors) -> Any:
    """Return the key that a typed word stands for; None if vectors have no vector for it.

    It is the word itself, if that is a key, or otherwise the integer with these digits. A string
    that is no key has a vector in FastText's vectors if it has n-grams.
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
    """Sentences of typed words, with the keys that these stand for; unknown words stay strings."""

    def __init__(self, sentences: Iterable[list[str]], vectors: KeyedVectors) -> None:
        self.sentences = sentences
        self.vectors = vectors

    def __iter__(self) -> Iterator[list[Any]]:
        for sentence in self.sentences:
            keys = (find_key(word, self.vectors) for word in sentence)
            yield [word if key is None else key for word, key in zip(sentence, keys, strict=True)]
