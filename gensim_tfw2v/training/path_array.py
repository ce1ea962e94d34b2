"""gensim's arrays ``point`` and ``code``, computed from a `HuffmanTree` when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gensim_tfw2v.training.huffman_tree import HuffmanTree

#: gensim's dtype of ``point``.
POINT = np.uint32

#: gensim's dtype of ``code``.
CODE = np.uint8


class PathArray(Sequence[Any]):
    """A sequence that behaves as gensim's array of objects: [V], an array for each word.

    Each word's array is made when it is read first. It is kept, because gensim's compiled code uses
    its memory without a reference to it, and it is read-only.

    Assigning an array to a word, or using a method of NumPy's arrays, replaces the sequence by a
    NumPy array inside of this object, which takes as much memory as gensim's.

    Parameters
    ----------
    tree : HuffmanTree
    is_code : bool
        Whether this is ``code``, the branch taken at each node, rather than ``point``, the nodes.
    """

    dtype = np.dtype(object)
    ndim = 1

    def __init__(self, tree: HuffmanTree, is_code: bool) -> None:
        self._tree = tree
        self._is_code = is_code
        self._paths: dict[int, np.ndarray] = {}  # by word: the arrays that have been read
        self._plain: np.ndarray | None = None  # [V] of arrays; None until one is assigned

    @property
    def tree(self) -> HuffmanTree | None:
        """The tree from which paths are computed; None after an assignment."""
        return self._tree if self._plain is None else None

    @property
    def size(self) -> int:
        """Number of words, V."""
        return self._tree.n_words

    @property
    def shape(self) -> tuple[int]:
        """Shape of the array: V."""
        return (self.size,)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        if self._plain is not None:
            return self._plain[index]
        if not isinstance(index, int | np.integer):
            return PathArray(self._tree.select_words(np.arange(len(self))[index]), self._is_code)
        word = range(len(self))[index]
        if word not in self._paths:
            path = self._convert(self._tree.path(word))
            path.flags.writeable = False
            self._paths.setdefault(word, path)  # concurrent threads get the same array
        return self._paths[word]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._plain is None:
            self._plain = self.__array__()
        self._plain[index] = value

    def __getattr__(self, name: str) -> Any:
        """Return a method or attribute of the NumPy array, which replaces the sequence."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if self._plain is None:
            self._plain = self.__array__()
        return getattr(self._plain, name)

    def __iter__(self) -> Iterator[np.ndarray]:
        if self._plain is not None:
            yield from self._plain
            return
        for path in self._new_arrays():
            path.flags.writeable = False
            yield path

    def _new_arrays(self) -> Iterator[np.ndarray]:
        """Yield a new array for each word."""
        for lengths, path in self._tree.iterate_paths():
            yield from np.split(self._convert(path), np.cumsum(lengths)[:-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._plain is not None:
            return np.array(self._plain) if copy else self._plain
        return np.fromiter(self._new_arrays(), object, len(self))

    def copy(self) -> PathArray:
        """Return a copy, which shares the tree."""
        copied = PathArray(self._tree, self._is_code)
        if self._plain is not None:
            copied._plain = self._plain.copy()
        return copied

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> PathArray:
        copied = PathArray(self._tree, self._is_code)
        if self._plain is not None:
            copied._plain = np.fromiter(map(np.copy, self._plain), object, len(self))
        return copied

    def __reduce__(self) -> Any:
        """Pickle as a NumPy array of arrays, which gensim loads without this package."""
        if self._plain is not None or not len(self):
            return self.__array__().__reduce__()
        return np.fromiter, (_Split(self), object, len(self))

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def _convert(self, path: np.ndarray) -> np.ndarray:
        """Return the codes or nodes of branches."""
        return (path & 1).astype(CODE) if self._is_code else (path >> 1).astype(POINT)

    def concatenate(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths of the arrays, [V], and all of them, concatenated."""
        blocks = [(lengths, self._convert(path)) for lengths, path in self._tree.iterate_paths()]
        lengths, paths = zip(*blocks, strict=True)
        return np.concatenate(lengths), np.concatenate(paths)


class _Split:
    """The arrays of a `PathArray` in a pickle: one array, which is split when it is loaded.

    This takes less time and memory than an array per word.
    """

    def __init__(self, paths: PathArray) -> None:
        self._paths = paths

    def __reduce__(self) -> Any:
        lengths, path = self._paths.concatenate()
        return np.split, (path, np.cumsum(lengths)[:-1])
