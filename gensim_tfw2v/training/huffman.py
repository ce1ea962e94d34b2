"""Huffman tree of hierarchical softmax: a part of the model, whose nodes are rows of ``syn1``.

gensim stores it as the path of each word: ``point``, the nodes from the root, and ``code``, the
branch taken at each node. Rows of ``syn1`` that were trained with one tree do not fit a tree built
from different counts.
"""

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gensim.models import KeyedVectors

#: gensim's dtype of ``point``.
_POINT = np.uint32

#: gensim's dtype of ``code``.
_CODE = np.uint8

_NO_TREE_MESSAGE = (
    "wv.expandos['point'] and ['code'] are not the paths of a tree in which each node has two "
    "branches: call create_binary_tree(), which makes one from the counts"
)


class Paths(NamedTuple):
    """The paths of V words, which are empty for words without a place in the tree."""

    points: Sequence[np.ndarray]  # [V], nodes from the root
    codes: Sequence[np.ndarray]  # [V], branch taken at each node, 0 or 1

    @classmethod
    def of(cls, vectors: KeyedVectors) -> "Paths":
        """Read the paths of a vocabulary; gensim stores 0 for words that were added later."""
        return cls(
            *(
                [
                    path if np.ndim(path) else np.zeros(0, np.int64)
                    for path in vectors.expandos[name]
                ]
                for name in ("point", "code")
            )
        )

    def store(self, vectors: KeyedVectors) -> None:
        """Set the paths of a vocabulary of V words."""
        for name, paths, dtype in (("point", self.points, _POINT), ("code", self.codes, _CODE)):
            array = vectors.expandos[name] = np.empty(len(paths), object)
            for word, path in enumerate(paths):
                array[word] = np.asarray(path, dtype)

    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lengths of the paths, [V], and their points and codes, concatenated."""
        lengths = np.fromiter(map(len, self.points), np.int64, len(self.points))
        points, codes = (np.concatenate([np.zeros(0, np.int64), *paths]) for paths in self)
        if len(points) != len(codes):
            raise ValueError("the lengths of wv.expandos['point'] and ['code'] differ")
        return lengths, points.astype(np.int64), codes.astype(np.int64)

    def equal(self, paths: "Paths") -> bool:
        """Return whether the trees are equal."""
        return all(map(np.array_equal, self.flat(), paths.flat()))

    def checksum(self) -> int:
        """Return a checksum of the tree."""
        return zlib.crc32(b"".join(array.tobytes() for array in self.flat()))


def encode(paths: Paths) -> np.ndarray:
    """Return the children of each node: [number of nodes, 2], uint32.

    A child is numbered as by gensim: below V, it is a word, and V + j is node j.

    Raises
    ------
    ValueError
        If the paths are not those of a tree in which each node has two branches.
    """
    n_words = len(paths.points)
    lengths, points, codes = paths.flat()
    if not (_are_below(points, n_words) and _are_below(codes, 2)):
        raise ValueError(_NO_TREE_MESSAGE)
    words = np.flatnonzero(lengths)
    ends = np.cumsum(lengths)[words]
    # for each node on a path, the next node; for the last one, the word
    next_nodes = np.roll(points, -1) + n_words
    next_nodes[ends - 1] = words
    children = np.full((points.max(initial=-1) + 1, 2), -1)
    children[points, codes] = next_nodes
    roots = np.unique(points[ends - lengths[words]])
    if (
        not np.array_equal(children[points, codes], next_nodes)
        or not _are_below(children, 2 * n_words)
        or len(np.unique(children)) < children.size
        or len(roots) != (len(children) > 0)
        or np.isin(roots + n_words, children).any()
    ):
        raise ValueError(_NO_TREE_MESSAGE)
    return children.astype(np.uint32)


def _are_below(indices: np.ndarray, limit: int) -> bool:
    return bool(indices.min(initial=0) >= 0 and indices.max(initial=-1) < limit)


def decode(children: np.ndarray, n_words: int) -> Paths:
    """Return the paths of a tree from the children of its nodes; see `encode`.

    Raises
    ------
    ValueError
        If the children are not those of a tree.
    """
    children = children.astype(np.int64)
    n_nodes = len(children)
    points = [np.zeros(0, _POINT)] * n_words
    codes = [np.zeros(0, _CODE)] * n_words
    roots = np.setdiff1d(np.arange(n_nodes), children - n_words)
    if (
        children.shape != (n_nodes, 2)
        or not _are_below(children, n_words + n_nodes)
        or len(np.unique(children)) < children.size
        or len(roots) != (n_nodes > 0)
    ):
        raise ValueError("the children of nodes are not those of a tree")
    nodes = roots
    n_reached = 0
    point, code = np.zeros((len(nodes), 0), _POINT), np.zeros((len(nodes), 0), _CODE)
    while len(nodes):  # for each level; row i of `point` and `code` is the path to nodes[i]
        n_reached += len(nodes)
        point = np.column_stack([point, nodes.astype(_POINT)])
        inner_nodes = []
        for branch in (0, 1):
            next_nodes = children[nodes, branch]
            next_codes = np.column_stack([code, np.full(len(nodes), branch, _CODE)])
            is_word = next_nodes < n_words
            words = next_nodes[is_word].tolist()
            for word, *path in zip(words, point[is_word], next_codes[is_word], strict=True):
                points[word], codes[word] = path
            next_inner_nodes = next_nodes[~is_word] - n_words
            inner_nodes.append((next_inner_nodes, point[~is_word], next_codes[~is_word]))
        nodes, point, code = map(np.concatenate, zip(*inner_nodes, strict=True))
    if n_reached < n_nodes:
        raise ValueError("the children of nodes are not those of a tree")
    return Paths(points, codes)


def select(paths: Paths, rows: Sequence[int | None]) -> tuple[Paths, np.ndarray]:
    """Return the tree of some words; nodes with a single remaining branch are removed.

    `rows` are the rows of the words in `paths`, or None for words without a place in the tree. Also
    returns, for each node of the new tree, its index in the old one.
    """
    no_path = np.zeros(0, _POINT)
    points = [no_path if row is None else paths.points[row] for row in rows]
    codes = [no_path if row is None else paths.codes[row] for row in rows]
    lengths, nodes, labels = Paths(points, codes).flat()
    old_nodes = np.intersect1d(nodes[labels == 0], nodes[labels == 1])  # nodes with both branches
    new_nodes = np.full(nodes.max(initial=-1) + 1, -1)
    new_nodes[old_nodes] = np.arange(len(old_nodes))
    are_kept = new_nodes[nodes] >= 0
    word = np.repeat(np.arange(len(rows)), lengths)[are_kept]
    # [:-1], because np.split also returns an empty array for the elements behind the last end
    ends = np.cumsum(np.bincount(word, minlength=len(rows)))
    points, codes = (np.split(values[are_kept], ends)[:-1] for values in (new_nodes[nodes], labels))
    return Paths(points, codes), old_nodes


@contextlib.contextmanager
def as_rows(vectors: KeyedVectors) -> Iterator[None]:
    """Hide the words, so that gensim takes whole numbers for rows even if words are numbers, too.

    gensim needs this while it builds a tree.
    """
    rows = vectors.key_to_index
    vectors.key_to_index = {}
    try:
        yield
    finally:
        vectors.key_to_index = rows


@contextlib.contextmanager
def keep_paths(vectors: KeyedVectors) -> Iterator[None]:
    """Restore the tree at the end of the context; words that were added get no place in it."""
    old_paths: Paths | None = Paths.of(vectors) if "point" in vectors.expandos else None
    yield
    if old_paths is not None:
        empty_paths = [np.zeros(0, _POINT)] * (len(vectors) - len(old_paths.points))
        Paths([*old_paths.points, *empty_paths], [*old_paths.codes, *empty_paths]).store(vectors)


def common_paths(models: Sequence[Any], model_rows: Sequence[np.ndarray]) -> Paths | None:
    """Return the tree of models if all have the same one; otherwise None.

    Parameters
    ----------
    models : sequence of Word2Vec
    model_rows : sequence of ndarray [V]
        For each model, the row of each of its words in the common vocabulary.
    """
    common: Paths | None = None
    for model, rows in zip(models, model_rows, strict=True):
        if not model.hs or "point" not in model.wv.expandos or len(rows) != len(model_rows[0]):
            return None
        order = np.argsort(rows)
        if not np.array_equal(rows[order], np.arange(len(rows))):
            return None
        paths = Paths.of(model.wv)
        paths = Paths([paths.points[row] for row in order], [paths.codes[row] for row in order])
        if common is not None and not common.equal(paths):
            return None
        common = paths
    return common
