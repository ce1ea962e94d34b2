"""Huffman tree in 4 bytes per word and per node, built by compiled code.

gensim stores two small arrays per word, some hundreds of bytes. The path of a word is found here by
walking from the word up to the root.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gensim_tfw2v import compiled_library
from gensim_tfw2v.corpus.scanner import call
from gensim_tfw2v.kernel.word_arrays import Lists

#: Number of words whose paths are listed at a time: few, so that they stay in the cache.
WORDS_AT_A_TIME = 1 << 14

#: Branch of the root, and of words without a place in the tree: kNoBranch in ``huffman.cc``.
NO_BRANCH = 2**32 - 1

#: Maximum number of words: a branch, 2 * node + code, is less than `NO_BRANCH`.
MAX_WORDS = 2**31 - 1

NO_TREE_MESSAGE = (
    "wv.expandos['point'] and ['code'] are not the paths of a tree in which each node has two "
    "branches: call create_binary_tree(), which makes one from the counts"
)


class HuffmanTree:
    """Immutable tree of V words and N nodes.

    Parameters
    ----------
    branches : ndarray [V + N], uint32
        The branch that leads to each word, then to each node: ``2 * node + code``, where `code` is
        0 or 1. `NO_BRANCH` for the root, and for words without a place in the tree.
    n_words : int
        V.
    """

    def __init__(self, branches: np.ndarray, n_words: int) -> None:
        self.branches = branches
        self.n_words = n_words

    def __eq__(self, tree: object) -> bool:
        if self is tree:
            return True
        return (
            isinstance(tree, HuffmanTree)
            and self.n_words == tree.n_words
            and np.array_equal(self.branches, tree.branches)
        )

    __hash__ = object.__hash__

    @classmethod
    def build(cls, counts: np.ndarray) -> HuffmanTree | None:
        """Build gensim's tree of words with these counts, [V].

        Returns None if the compiled library is missing, or for counts that gensim may compare and
        add differently: they are not integers from 0 up, or their sum overflows.
        """
        functions = compiled_library.load_optional()
        n_words = len(counts)
        if functions is None or counts.dtype.kind not in "iu" or n_words > MAX_WORDS:
            return None
        max_sum = min(np.iinfo(counts.dtype).max, 2**62)
        if counts.min(initial=0) < 0 or counts.sum(dtype=np.float64) > max_sum:
            return None
        branches = np.empty(max(0, 2 * n_words - 1), np.uint32)
        counts = np.ascontiguousarray(counts, np.int64)
        call(functions.tfw2v_build_tree, counts.ctypes.data, n_words, branches.ctypes.data)
        return cls(branches, n_words)

    @classmethod
    def from_children(cls, children: np.ndarray, n_words: int) -> HuffmanTree:
        """Return the tree whose nodes have these children, [N, 2]; see `children`.

        Raises
        ------
        ValueError
            If the children are not those of a tree.
        """
        branches = np.full(n_words + len(children), NO_BRANCH, np.uint32)
        is_tree = children.shape == (len(children), 2) and not np.any(children >= len(branches))
        if is_tree:
            branches[children.ravel()] = np.arange(children.size, dtype=np.uint32)
            is_tree = _is_tree(children, branches, n_words)
        if not is_tree:
            raise ValueError("the children of nodes are not those of a tree")
        return cls(branches, n_words)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, which are not words."""
        return len(self.branches) - self.n_words

    def children(self) -> np.ndarray:
        """Return the children of each node: [N, 2], uint32.

        A child is numbered as by gensim: below V, it is a word, and V + j is node j.

        Raises
        ------
        ValueError
            If a branch leads to no element, or to several ones.
        """
        elements = np.flatnonzero(self.branches != NO_BRANCH).astype(np.uint32)
        children = np.full(2 * self.n_nodes, NO_BRANCH, np.uint32)
        children[self.branches[elements]] = elements
        if len(elements) != len(children) or np.any(children == NO_BRANCH):
            raise ValueError(NO_TREE_MESSAGE)
        return children.reshape(-1, 2)

    def select_words(self, rows: np.ndarray) -> HuffmanTree:
        """Return a tree with the same nodes, whose words are those in `rows` of this one."""
        branches = self.branches[: self.n_words][rows]
        return HuffmanTree(np.append(branches, self.branches[self.n_words :]), len(branches))

    def add_words(self, n_words: int) -> HuffmanTree:
        """Return a tree with more words, which have no place in it."""
        branches = np.full(n_words, NO_BRANCH, np.uint32)
        parts = self.branches[: self.n_words], branches, self.branches[self.n_words :]
        return HuffmanTree(np.concatenate(parts), self.n_words + n_words)

    def prune(self) -> tuple[HuffmanTree, np.ndarray]:
        """Return the tree without nodes that have less than two branches, and the other nodes.

        These are the indices in this tree of the nodes of the new one, in ascending order.
        """
        word_branches, node_branches = np.split(self.branches, [self.n_words])
        has_branch = np.zeros(2 * self.n_nodes, bool)
        branches = word_branches
        while len(branches):
            branches = branches[branches != NO_BRANCH]
            branches = branches[~has_branch[branches]]
            has_branch[branches] = True
            branches = node_branches[np.unique(branches // 2)]
        is_kept = has_branch[0::2] & has_branch[1::2]
        nodes = np.flatnonzero(is_kept)
        branches = np.append(word_branches, node_branches[nodes])
        elements = np.flatnonzero(branches != NO_BRANCH)
        while len(elements := elements[~is_kept[branches[elements] // 2]]):
            branches[elements] = node_branches[branches[elements] // 2]
            elements = elements[branches[elements] != NO_BRANCH]
        elements = np.flatnonzero(branches != NO_BRANCH)
        new_nodes = np.cumsum(is_kept, dtype=np.uint32) - 1
        kept_branches = branches[elements]
        branches[elements] = 2 * new_nodes[kept_branches // 2] + kept_branches % 2
        return HuffmanTree(branches, self.n_words), nodes

    def path(self, word: int) -> np.ndarray:
        """Return the branches from the root to a word, uint32."""
        path = []
        branch = self.branches.item(word)
        while branch != NO_BRANCH:
            path.append(branch)
            branch = self.branches.item(self.n_words + branch // 2)
        return np.array(path[::-1], np.uint32)

    def list_paths(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths of the paths of words, [n], and their branches, concatenated.

        The dtypes are int64 and uint32.
        """
        node_branches = self.branches[self.n_words :]
        lengths = np.zeros(len(rows), np.int64)
        index = np.arange(len(rows))  # of the words whose root has not been reached
        branches = self.branches[: self.n_words][rows]
        levels = []  # `index` and `branches`, upwards from the words
        while len(index):
            is_below_root = branches != NO_BRANCH
            if not is_below_root.all():
                index, branches = index[is_below_root], branches[is_below_root]
            lengths[index] += 1
            levels.append((index, branches))
            branches = node_branches[branches // 2]
        ends = np.cumsum(lengths)
        path = np.empty(lengths.sum(), np.uint32)
        for level, (index, branches) in enumerate(levels, 1):
            path[ends[index] - level] = branches
        return lengths, path

    def iterate_paths(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the results of `list_paths` for all words, `WORDS_AT_A_TIME` at a time."""
        for first in range(0, self.n_words, WORDS_AT_A_TIME):
            yield self.list_paths(np.arange(first, min(first + WORDS_AT_A_TIME, self.n_words)))

    def lists(self) -> Lists:
        """Return the branches on the path of each word, as kernels read them.

        Raises
        ------
        ValueError
            If there are more of them than kernels can number.
        """
        if not self.n_words:
            return Lists.of(())
        lengths = np.concatenate([lengths for lengths, _ in self.iterate_paths()])
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if offsets[-1] > np.iinfo(np.int32).max:
            raise ValueError(
                f"the paths of {self.n_words:,} words have {offsets[-1]:,} nodes, and can have at "
                f"most {np.iinfo(np.int32).max:,}: use fewer words, or hs=0"
            )
        entries = np.empty(offsets[-1], np.int32)
        end = 0
        for _, path in self.iterate_paths():
            entries[end : end + len(path)] = path
            end += len(path)
        return Lists(offsets.astype(np.int32), entries)


def _is_tree(children: np.ndarray, branches: np.ndarray, n_words: int) -> bool:
    """Return whether all children differ, and all nodes are below one root."""
    if np.count_nonzero(branches != NO_BRANCH) < children.size:
        return False
    level = np.flatnonzero(branches[n_words:] == NO_BRANCH)  # the roots
    is_single = len(level) == (len(children) > 0)
    n_reached = 0
    while len(level):
        n_reached += len(level)
        level = children[level].ravel()
        level = level[level >= n_words] - n_words
    return is_single and n_reached == len(children)
