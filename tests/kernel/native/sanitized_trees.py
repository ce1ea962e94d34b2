"""Random Huffman trees, built by a library compiled with sanitizers.

Run by ``sanitized_program.py``. The arrays have no spare room, so writing behind their ends is an
error.
"""

import heapq

import numpy as np

from gensim_tfw2v.training.huffman_tree import HuffmanTree


class Item:
    """Word or node of a tree; items are compared by their counts only, as by gensim."""

    def __init__(self, count, element):
        self.count, self.element = count, element

    def __lt__(self, other):
        return self.count < other.count


def slow_branches(counts):
    """Build a tree with Python's heap."""
    heap = [Item(count, word) for word, count in enumerate(counts.tolist())]
    heapq.heapify(heap)
    branches = [2**32 - 1] * max(0, 2 * len(counts) - 1)
    for node in range(len(counts) - 1):
        left, right = heapq.heappop(heap), heapq.heappop(heap)
        branches[left.element], branches[right.element] = 2 * node, 2 * node + 1
        heapq.heappush(heap, Item(left.count + right.count, len(counts) + node))
    return branches


def main():
    rng = np.random.default_rng(8)
    n_words = 0
    for size in (*range(20), 100, 1023, 1024, 1025):
        for limit in (1, 2, 10, 2**50):
            counts = rng.integers(0, limit, size)
            assert HuffmanTree.build(counts).branches.tolist() == slow_branches(counts)
            n_words += size
    print(n_words)


if __name__ == "__main__":
    main()
