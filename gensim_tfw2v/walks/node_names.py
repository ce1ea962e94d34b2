"""Numbers of nodes by their names, in order of first occurrence or, for integers, ascending."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.scanner import WordCounter, library
from gensim_tfw2v.typed_words import read_integer
from gensim_tfw2v.walks.csr_graph import Nodes

#: Integers are numbered by an array with an element per integer, if it has at most this number of
#: elements per end of an edge.
MAX_SPARSENESS = 4


class TextNames:
    """Names of nodes that are strings, numbered in order of first occurrence.

    A compiled hash table numbers them, or a dictionary if the compiled library is missing.
    """

    def __init__(self) -> None:
        self._table = None if library() is None else WordCounter()
        self._numbers: dict[bytes, int] = {}

    def encode(self, text: bytes, n_names: int) -> Nodes:
        """Return the number of each of `n_names` names in UTF-8, each followed by a zero byte.

        Raises
        ------
        ValueError
            If a name contains a null character.
        """
        if self._table is None:
            nodes = self._look_up(text, n_names)
        else:
            nodes = self._table.encode(text, n_names)
        if nodes is None:
            raise ValueError("a name contains a null character: remove it")
        return nodes

    def _look_up(self, text: bytes, n_names: int) -> Nodes | None:
        names = text.split(b"\0")[:-1]
        if len(names) != n_names:
            return None
        numbers = self._numbers
        return np.fromiter(
            (numbers.setdefault(name, len(numbers)) for name in names), np.int32, n_names
        )

    def all_names(self) -> list[str]:
        """Return all names, in the order of their numbers."""
        if self._table is not None:
            return self._table.encoded_words()
        return [name.decode("utf-8", "surrogatepass") for name in self._numbers]


def number_integers(ends: NDArray[Any]) -> tuple[Sequence[int], Nodes]:
    """Return the distinct integers, ascending, and the index of each element of `ends` in them.

    The integers are a range if they are 0, 1, 2, ... without gaps.
    """
    max_size = MAX_SPARSENESS * len(ends)
    if len(ends) and 0 <= ends.min() and ends.max() < max_size:
        is_name = np.zeros(int(ends.max()) + 1, bool)
        is_name[ends] = True
        if is_name.all():
            return range(len(is_name)), ends.astype(np.int32)
        nodes = (np.cumsum(is_name, dtype=np.int64) - 1).astype(np.int32)[ends]
        return np.flatnonzero(is_name).tolist(), nodes
    names, indices = np.unique(ends, return_inverse=True)
    return names.tolist(), indices.astype(np.int32)


def find_name(name: Any, names: Container[Any]) -> Any:
    """Return the integer that a string consists of, if it is in `names`; otherwise `name` itself.

    If `name` itself is in `names`, it is returned, too.
    """
    if name in names or not isinstance(name, str):
        return name
    integer = read_integer(name)
    return integer if integer is not None and integer in names else name
