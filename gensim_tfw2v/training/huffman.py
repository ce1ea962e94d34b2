"""Huffman tree of hierarchical softmax: a part of the model, whose nodes are rows of ``syn1``.

gensim stores it as the path of each word: ``point``, the nodes from the root, and ``code``, the
branch taken at each node. Rows of ``syn1`` that were trained with one tree do not fit a tree built
from different counts.
"""

from __future__ import annotations

import contextlib
import logging
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v import keys
from gensim_tfw2v.kernel.word_arrays import Lists, blocks, huffman_tree
from gensim_tfw2v.training.huffman_tree import NO_BRANCH, NO_TREE_MESSAGE, HuffmanTree
from gensim_tfw2v.training.path_array import CODE, POINT, PathArray

logger = logging.getLogger(__name__)


class Paths(NamedTuple):
    """The paths of V words, which are empty for words without a place in the tree."""

    points: Sequence[np.ndarray]  # [V], nodes from the root
    codes: Sequence[np.ndarray]  # [V], branch taken at each node, 0 or 1

    @classmethod
    def of(cls, vectors: KeyedVectors) -> Paths:
        """Read the paths of a vocabulary; gensim stores 0 for words that were added later."""
        paths = cls(vectors.expandos["point"], vectors.expandos["code"])
        if paths.tree is not None:
            return paths
        no_path = np.zeros(0, np.int64)
        points, codes = ([path if np.ndim(path) else no_path for path in part] for part in paths)
        return cls(points, codes)

    @classmethod
    def from_tree(cls, tree: HuffmanTree) -> Paths:
        """Return the paths of a tree, which are stored unless it has ``keys.MIN_WORDS`` words."""
        paths = cls._computed(tree)
        if tree.n_words >= keys.MIN_WORDS:
            return paths
        return cls(list(np.asarray(paths.points)), list(np.asarray(paths.codes)))

    @classmethod
    def _computed(cls, tree: HuffmanTree) -> Paths:
        """Return the paths of a tree, which are not stored."""
        return cls(PathArray(tree, is_code=False), PathArray(tree, is_code=True))

    @property
    def tree(self) -> HuffmanTree | None:
        """The tree from which the paths are computed; None if they are stored."""
        points, codes = self
        if not (isinstance(points, PathArray) and isinstance(codes, PathArray)):
            return None
        if points.tree is None or codes.tree is None:
            return None
        return points.tree if points.tree == codes.tree else None

    def store(self, vectors: KeyedVectors) -> None:
        """Set the paths of a vocabulary of V words."""
        for name, paths, dtype in (("point", self.points, POINT), ("code", self.codes, CODE)):
            if self.tree is not None:
                vectors.expandos[name] = paths
            else:
                arrays = (np.asarray(path, dtype) for path in paths)
                vectors.expandos[name] = np.fromiter(arrays, object, len(paths))

    def select_words(self, rows: np.ndarray) -> Paths:
        """Return the paths of the words in these rows; nodes keep their numbers."""
        if self.tree is not None:
            return Paths._computed(self.tree.select_words(rows))
        return Paths([self.points[row] for row in rows], [self.codes[row] for row in rows])

    def add_words(self, n_words: int) -> Paths:
        """Return the paths with those of more words, which have no place in the tree."""
        if self.tree is not None:
            return Paths._computed(self.tree.add_words(n_words))
        empty_paths = [np.zeros(0, POINT)] * n_words
        return Paths([*self.points, *empty_paths], [*self.codes, *empty_paths])

    def lists(self) -> Lists:
        """Return the paths as kernels read them."""
        return huffman_tree(self.points, self.codes) if self.tree is None else self.tree.lists()

    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lengths of the paths, [V], and their points and codes, concatenated."""
        lengths = np.fromiter(map(len, self.points), np.int64, len(self.points))
        points, codes = (np.concatenate([np.zeros(0, np.int64), *paths]) for paths in self)
        if len(points) != len(codes):
            raise ValueError("the lengths of wv.expandos['point'] and ['code'] differ")
        return lengths, points.astype(np.int64), codes.astype(np.int64)

    def _flat_blocks(self) -> Iterator[np.ndarray]:
        """Yield the results of `flat` in parts: all lengths, all points, all codes."""
        if self.tree is None:
            yield from self.flat()
            return
        for lengths, _ in self.tree.iterate_paths():
            yield lengths
        for _, path in self.tree.iterate_paths():
            yield (path >> 1).astype(np.int64)
        for _, path in self.tree.iterate_paths():
            yield (path & 1).astype(np.int64)

    def equal(self, paths: Paths) -> bool:
        """Return whether the trees are equal."""
        if self.tree is not None and paths.tree is not None:
            return self.tree == paths.tree
        return all(map(np.array_equal, self.flat(), paths.flat()))

    def checksum(self) -> int:
        """Return a checksum of the tree."""
        checksum = 0
        for block in self._flat_blocks():
            checksum = zlib.crc32(block.tobytes(), checksum)
        return checksum


def create_tree(vectors: KeyedVectors, create_with_gensim: Callable[[], None]) -> None:
    """Set gensim's Huffman tree of a vocabulary.

    gensim's own code creates it if the compiled code can't; see `HuffmanTree.build`.
    """
    tree = HuffmanTree.build(np.asarray(vectors.expandos.get("count", ())))
    if tree is None or tree.n_words != len(vectors):
        with as_rows(vectors):
            create_with_gensim()
        return
    logger.info("constructing a huffman tree from %i words", tree.n_words)
    if tree.n_words:
        Paths.from_tree(tree).store(vectors)
    depth = max((int(lengths.max()) for lengths, _ in tree.iterate_paths()), default=0)
    logger.info("built huffman tree with maximum node depth %i", depth)


def encode(paths: Paths) -> np.ndarray:
    """Return the children of each node: [number of nodes, 2], uint32.

    A child is numbered as by gensim: below V, it is a word, and V + j is node j.

    Raises
    ------
    ValueError
        If the paths are not those of a tree in which each node has two branches.
    """
    return _tree_of(paths).children()


def _tree_of(paths: Paths) -> HuffmanTree:
    """Return the tree of paths; raise the error of `encode` if it is not one."""
    if paths.tree is not None:
        return paths.tree
    n_words, n_nodes = len(paths.points), 0
    branches = np.full(2 * n_words, NO_BRANCH, np.uint32)
    roots: set[int] = set()
    for words in blocks(n_words):
        lengths, points, codes = Paths(paths.points[words], paths.codes[words]).flat()
        if not (_are_below(points, n_words) and _are_below(codes, 2)):
            raise ValueError(NO_TREE_MESSAGE)
        has_path = lengths > 0
        ends = np.cumsum(lengths)[has_path]
        # for each node on a path, the next node; for the last one, the word
        next_elements = np.roll(points, -1) + n_words
        next_elements[ends - 1] = words.start + np.flatnonzero(has_path)
        path = 2 * points + codes
        is_new = branches[next_elements] == NO_BRANCH
        branches[next_elements[is_new]] = path[is_new]
        if not np.array_equal(branches[next_elements], path):
            raise ValueError(NO_TREE_MESSAGE)
        roots.update(np.unique(points[ends - lengths[has_path]]).tolist())
        n_nodes = max(n_nodes, int(points.max(initial=-1)) + 1)
    if len(roots) != (n_nodes > 0) or any(branches[n_words + root] != NO_BRANCH for root in roots):
        raise ValueError(NO_TREE_MESSAGE)
    return HuffmanTree(branches[: n_words + n_nodes].copy(), n_words)


def _are_below(indices: np.ndarray, limit: int) -> bool:
    return bool(indices.min(initial=0) >= 0 and indices.max(initial=-1) < limit)


def compact_paths(vectors: KeyedVectors) -> None:
    """Replace the stored paths of a large vocabulary by a tree from which they are computed.

    Nothing changes if they are not those of a tree in which each node has two branches.
    """
    for name in ("point", "code"):
        paths = vectors.expandos.get(name)
        if not isinstance(paths, np.ndarray) or len(paths) < keys.MIN_WORDS:
            return
    with contextlib.suppress(ValueError):
        tree = _tree_of(Paths.of(vectors))
        tree.children()
        Paths.from_tree(tree).store(vectors)


def decode(children: np.ndarray, n_words: int) -> Paths:
    """Return the paths of a tree from the children of its nodes; see `encode`.

    Raises
    ------
    ValueError
        If the children are not those of a tree.
    """
    return Paths.from_tree(HuffmanTree.from_children(children, n_words))


def select(paths: Paths, rows: Sequence[int | None]) -> tuple[Paths, np.ndarray]:
    """Return the tree of some words; nodes with a single remaining branch are removed.

    `rows` are the rows of the words in `paths`, or None for words without a place in the tree. Also
    returns, for each node of the new tree, its index in the old one.
    """
    if paths.tree is not None:
        words = [len(paths.points) if row is None else row for row in rows]
        tree, old_nodes = paths.tree.add_words(1).select_words(np.array(words, np.int64)).prune()
        return Paths.from_tree(tree), old_nodes
    no_path = np.zeros(0, POINT)
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
    """Restore the tree at the end of the context; words that were added get no place in it.

    In this context, there is no tree, because gensim would store the paths of a large one when it
    adds words.
    """
    if "point" not in vectors.expandos:
        yield
        return
    old_paths = Paths.of(vectors)
    del vectors.expandos["point"], vectors.expandos["code"]
    try:
        yield
    finally:
        old_paths.add_words(len(vectors) - len(old_paths.points)).store(vectors)


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
        paths = Paths.of(model.wv).select_words(order)
        if common is not None and not common.equal(paths):
            return None
        common = paths
    return common
