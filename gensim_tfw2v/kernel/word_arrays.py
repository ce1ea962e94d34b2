"""Arrays with an element per word: noise distribution, Huffman paths, subwords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.kernel.tables import Tables

#: Number of words that are computed at a time, so that temporary arrays are small.
WORDS_AT_A_TIME = 1 << 18


def blocks(n_words: int) -> Iterator[slice]:
    """Yield the rows of at most `WORDS_AT_A_TIME` words at a time."""
    for first in range(0, n_words, WORDS_AT_A_TIME):
        yield slice(first, min(first + WORDS_AT_A_TIME, n_words))


def survival(thresholds: Any, dtype: Any = np.float32) -> np.ndarray:
    """Return the probability of each word to survive subsampling, [V], from ``sample_int``."""
    keep = np.empty(len(thresholds), dtype)
    for words in blocks(len(keep)):
        keep[words] = (np.array(thresholds[words], np.float64) + 1) / 2**32
    return keep


def count_kept(counts: np.ndarray, keep: np.ndarray) -> tuple[float, float]:
    """Return the expected number of tokens that survive subsampling: of all words, and the largest.

    Blocks are added in the order of NumPy's ``sum``, so the sum has the same bits.
    """
    if len(counts) <= WORDS_AT_A_TIME:
        kept_counts = counts * keep
        return float(kept_counts.sum()), float(kept_counts.max(initial=0.0))
    middle = len(counts) // 2
    middle -= middle % 8
    first_sum, first_max = count_kept(counts[:middle], keep[:middle])
    second_sum, second_max = count_kept(counts[middle:], keep[middle:])
    return first_sum + second_sum, max(first_max, second_max)


def alias_table(weights: np.ndarray, n_shards: int = 1) -> np.ndarray:
    """Build an alias table: words are drawn in proportion to their weights, in constant time.

    Each word has a bucket of the same size. A word lighter than a bucket leaves room in it, which
    one heavier word fills. To draw, choose a bucket uniformly, then one of its two words (Walker
    1977, "An Efficient Method for Generating Discrete Random Variables with General
    Distributions"). Heavy words fill the room of light ones in order, so running sums determine
    which word fills which bucket (Hübschle-Schneider and Sanders 2022, "Parallel Weighted Random
    Sampling").

    Parameters
    ----------
    weights : ndarray [V]
        Weights of the words, 0 or more.
    n_shards : int
        Number S of shards; word r is in shard r mod S. Both words of a bucket are of one shard.

    Returns
    -------
    ndarray [V, 2], int32
        For each bucket, the probability of its own word times ``2**31 - 1``, and its other word.

    Raises
    ------
    ValueError
        If a shard's weights are all 0.
    """
    if n_shards > 1:
        empty = [shard for shard in range(n_shards) if not weights[shard::n_shards].sum() > 0]
        if empty:
            raise ValueError(
                f"no negatives can be drawn in {len(empty)} of {n_shards} shards, whose words "
                "all have weight 0: use fewer negative_shards"
            )
        table = np.empty((len(weights), 2), np.int32)
        for shard in range(n_shards):
            table[shard::n_shards] = alias_table(weights[shard::n_shards])
            table[shard::n_shards, 1] = shard + n_shards * table[shard::n_shards, 1]
        return table
    scale = len(weights) / weights.sum()  # a word's size, in buckets, is its weight * scale
    min_heavy = min(1.0, weights.max() * scale)  # by rounding, even the maximum may be below 1
    table = np.empty((len(weights), 2), np.int32)
    heavy_blocks = []
    for words in blocks(len(weights)):
        table[words, 0] = 2**31 - 1
        table[words, 1] = np.arange(words.start, words.stop)
        heavy_words = np.flatnonzero(weights[words] * scale >= min_heavy)
        heavy_blocks.append((words.start + heavy_words).astype(np.int32))
    heavy = np.concatenate(heavy_blocks)
    excess = np.cumsum(weights[heavy] * scale - 1.0)
    end_of_room = 0.0  # total free space in the buckets of the light words of earlier blocks
    n_emptied = 0  # number of heavy words that fit into this space, but for less than a bucket
    for words in blocks(len(weights)):
        size = weights[words] * scale
        light = np.flatnonzero(size < min_heavy)
        if not len(light):
            continue
        # room[i] is the total free space in the buckets before light word i; the shape is
        # [len(light) + 1]
        room = np.cumsum(np.append(end_of_room, 1.0 - size[light]))
        filler = np.searchsorted(excess, room[:-1], side="right")
        table[words.start + light, 0] = _limits(size[light])
        table[words.start + light, 1] = heavy[np.minimum(filler, len(heavy) - 1)]
        first, n_emptied = n_emptied, int(np.searchsorted(excess, room[-1], side="right"))
        emptied = slice(first, n_emptied)
        filled = room[np.searchsorted(room, excess[emptied])]
        _let_next_word_fill(table, heavy, emptied, filled - excess[emptied])
        end_of_room = float(room[-1])
    if len(heavy) < len(weights):
        remaining = slice(n_emptied, len(heavy))
        _let_next_word_fill(table, heavy, remaining, end_of_room - excess[remaining])
    return table


def _limits(prob: np.ndarray) -> np.ndarray:
    """Return probabilities as `alias_table` stores them."""
    return np.rint(np.clip(prob, 0.0, 1.0) * (2**31 - 1))


def _let_next_word_fill(
    table: np.ndarray, heavy: np.ndarray, emptied: slice, room: np.ndarray
) -> None:
    """Set the buckets of heavy words, except the last one, in an `alias_table`.

    A heavy word fills the room of light words until less than a bucket of it remains. Then there is
    `room` in its own bucket, which the next heavy word fills.
    """
    next_words = heavy[emptied.start + 1 : emptied.stop + 1]
    words = heavy[emptied][: len(next_words)]
    table[words, 0] = _limits(1.0 - room[: len(words)])
    table[words, 1] = next_words


class Lists(NamedTuple):
    """One list of integers per word: two int32 arrays or tensors, both empty if unused."""

    offsets: Any  # [V + 1], start of each word's list in `entries`, and end of the last one
    entries: Any  # all lists, concatenated

    @classmethod
    def of(cls, lists: Sequence[np.ndarray]) -> Lists:
        """Concatenate lists of integers."""
        if not len(lists):
            return cls(np.zeros(0, np.int32), np.zeros(0, np.int32))
        offsets = np.cumsum([0, *map(len, lists)])
        return cls(offsets.astype(np.int32), np.concatenate(lists).astype(np.int32))


class WordArrays(NamedTuple):
    """Arrays or tensors of a vocabulary.

    Attributes
    ----------
    keep : [V], float32
        Probability of each word to survive subsampling (gensim's ``sample_int / 2**32``).
    noise : [V, 2], int32
        Noise distribution of negatives, as an `alias_table`. Shape [0, 2] without
        negative sampling.
    tree : Lists
        Path of each word from the root of the Huffman tree: ``2 * node + code`` of each node. Nodes
        are rows of gensim's ``syn1``. Empty without hierarchical softmax.
    lock : [rows], float32
        Factor of each input row's update: gensim's ``vectors_lockf``. Shape [0] if all are 1.
    subwords : Lists
        For each word, the rows of the table of inputs whose sum or mean is its input. Empty if the
        input of each word is its own row.
    weights : [rows], float32
        Number of gensim's rows that are merged into each input row. Rows that always get equal
        updates are merged. Shape [0] if none are.
    """

    keep: Any
    noise: Any
    tree: Lists
    lock: Any
    subwords: Lists
    weights: Any

    @classmethod
    def of(
        cls,
        keep: np.ndarray,
        noise_weights: np.ndarray | None = None,
        tree: Lists | None = None,
        lock: np.ndarray | None = None,
        negative_shards: int = 1,
        subwords: Lists | None = None,
        weights: np.ndarray | None = None,
    ) -> WordArrays:
        """Make the arrays. `noise_weights` [V] are proportional to the probabilities of negatives.

        `tree` is a result of `huffman_tree`; None without hierarchical softmax.
        """
        noise = np.zeros((0, 2), np.int32)
        if noise_weights is not None:
            noise = alias_table(noise_weights, negative_shards)
        return cls(
            keep=np.asarray(keep, np.float32),
            noise=noise,
            tree=Lists.of(()) if tree is None else tree,
            lock=np.asarray([] if lock is None else lock, np.float32),
            subwords=Lists.of(()) if subwords is None else subwords,
            weights=np.asarray([] if weights is None else weights, np.float32),
        )


def noise_shares(noise: np.ndarray, frequency: np.ndarray, n_shards: int) -> np.ndarray:
    """Return the probability of each word as a negative of a random target: [V].

    Negatives are drawn in proportion to `noise` [V] from the target's shard. Targets occur in
    proportion to `frequency` [V].
    """
    total = frequency.sum()
    target_sums, noise_sums = np.zeros((2, n_shards))
    for words in blocks(len(noise)):
        shard = np.arange(words.start, words.stop) % n_shards
        target_sums = _add_to_shards(target_sums, shard, frequency[words])
        noise_sums = _add_to_shards(noise_sums, shard, noise[words])
    shares = np.empty(len(noise))
    for words in blocks(len(noise)):
        shard = np.arange(words.start, words.stop) % n_shards
        shares[words] = noise[words] / noise_sums[shard] * target_sums[shard] / total
    return shares


def _add_to_shards(sums: np.ndarray, shard: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sums of shards, [S], after adding values [n] of these shards one by one."""
    shards = np.append(np.arange(len(sums)), shard)
    return np.bincount(shards, np.append(sums, values))


def pair_rates(
    frequency: np.ndarray,
    pairs: float,
    skipgram: bool,
    negative: int,
    noise: np.ndarray | None,
    tree: Lists | None,
    tags: np.ndarray | Sequence[float] = (),
) -> Tables:
    """Return the mean number of predictions per position that each row takes part in.

    Positions are tokens after subsampling and (tag, token) pairs.

    Parameters
    ----------
    frequency : ndarray [V]
        Relative frequency of each word after subsampling; the sum is 1.
    pairs : float
        Mean number of words in a window.
    skipgram : bool
    negative : int
        gensim's parameter.
    noise : ndarray [V], optional
        Weight of each word as a negative.
    tree : Lists, optional
        Path of each word, with hierarchical softmax: see `WordArrays`.
    tags : ndarray [N], optional
        For each tag of documents, the fraction of the positions that have it as an input.

    Returns
    -------
    Tables of ndarray, float32
        [V + N] for inputs, [V] for outputs and nodes, [0] for an unused table.
    """
    predictions = pairs + np.sum(tags) if skipgram else 1.0
    n_targets = 0.0
    outputs = np.zeros(0, np.float32)
    nodes = np.zeros(0, np.float32)
    if negative:
        assert noise is not None
        n_targets += 1 + negative
        noise_sum = noise.sum()
        outputs = np.empty(len(frequency), np.float32)
        for words in blocks(len(frequency)):
            negatives = negative * noise[words] / noise_sum
            outputs[words] = predictions * (frequency[words] + negatives)
    if tree is not None:
        lengths = np.diff(tree.offsets)
        n_targets += float(frequency @ lengths)
        node_frequencies = np.zeros(len(frequency))
        for words in blocks(len(frequency)):
            first, last = tree.offsets[words.start], tree.offsets[words.stop]
            path_frequencies = np.repeat(frequency[words], lengths[words])
            np.add.at(node_frequencies, tree.entries[first:last] // 2, path_frequencies)
        nodes = (predictions * node_frequencies).astype(np.float32)
    inputs = np.empty(len(frequency) + len(tags), np.float32)
    for words in blocks(len(frequency)):
        inputs[words] = frequency[words] * pairs * n_targets
    inputs[len(frequency) :] = np.asarray(tags) * n_targets
    return Tables(inputs, outputs, nodes)


def huffman_tree(points: Sequence[np.ndarray] = (), codes: Sequence[np.ndarray] = ()) -> Lists:
    """Return `WordArrays.tree` from gensim's ``point`` and ``code`` of each word."""
    nodes = Lists.of(points)
    bits = Lists.of(codes)
    return Lists(nodes.offsets, 2 * nodes.entries + bits.entries)
