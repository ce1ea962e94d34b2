"""Arrays with an element per word: noise distribution, Huffman paths, subwords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v.kernel.tables import Tables


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
    size = weights * (len(weights) / weights.sum())
    is_heavy = size >= min(1.0, size.max())  # by rounding, even the maximum may be below 1
    light = np.flatnonzero(~is_heavy)
    heavy = np.flatnonzero(is_heavy)
    prob = np.ones(len(size))
    alias = np.arange(len(size))
    if len(light):
        # room[i] is the total free space in the buckets of the first i light words; the shape is
        # [len(light) + 1]
        room = np.concatenate([[0.0], np.cumsum(1.0 - size[light])])
        excess = np.cumsum(size[heavy] - 1.0)
        prob[light] = size[light]
        filler = np.searchsorted(excess, room[:-1], side="right")
        alias[light] = heavy[np.minimum(filler, len(heavy) - 1)]
        # Each heavy word fills the room of light words until less than a bucket of it remains. Then
        # there is room in its own bucket, which the next heavy word fills.
        filled = room[np.minimum(np.searchsorted(room, excess[:-1]), len(light))]
        prob[heavy[:-1]] = 1.0 - (filled - excess[:-1])
        alias[heavy[:-1]] = heavy[1:]
    limits = np.rint(np.clip(prob, 0.0, 1.0) * (2**31 - 1))
    return np.stack([limits, alias], 1).astype(np.int32)


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
        paths: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] | None = None,
        lock: np.ndarray | None = None,
        negative_shards: int = 1,
        subwords: Lists | None = None,
        weights: np.ndarray | None = None,
    ) -> WordArrays:
        """Make the arrays. `noise_weights` [V] are proportional to the probabilities of negatives.

        `paths` are `points` and `codes` of `huffman_tree`; None without hierarchical softmax.
        """
        noise = np.zeros((0, 2), np.int32)
        if noise_weights is not None:
            noise = alias_table(noise_weights, negative_shards)
        return cls(
            keep=np.asarray(keep, np.float32),
            noise=noise,
            tree=huffman_tree(*paths or ()),
            lock=np.asarray([] if lock is None else lock, np.float32),
            subwords=Lists.of(()) if subwords is None else subwords,
            weights=np.asarray([] if weights is None else weights, np.float32),
        )


def noise_shares(noise: np.ndarray, frequency: np.ndarray, n_shards: int) -> np.ndarray:
    """Return the probability of each word as a negative of a random target: [V].

    Negatives are drawn in proportion to `noise` [V] from the target's shard. Targets occur in
    proportion to `frequency` [V].
    """
    shard = np.arange(len(noise)) % n_shards
    target_sums, noise_sums = (np.bincount(shard, x)[shard] for x in (frequency, noise))
    return noise / noise_sums * target_sums / frequency.sum()


def pair_rates(
    frequency: np.ndarray,
    pairs: float,
    skipgram: bool,
    negative: int,
    noise: np.ndarray | None,
    paths: Sequence[np.ndarray] | None,
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
    paths : sequence of ndarray, optional
        Nodes of each word's path, with hierarchical softmax.
    tags : ndarray [N], optional
        For each tag of documents, the fraction of the positions that have it as an input.

    Returns
    -------
    Tables of ndarray, float32
        [V + N] for inputs, [V] for outputs and nodes, [0] for an unused table.
    """
    predictions = pairs + np.sum(tags) if skipgram else 1.0
    n_targets = 0.0
    outputs: np.ndarray = np.zeros(0)
    nodes: np.ndarray = np.zeros(0)
    if negative:
        assert noise is not None
        n_targets += 1 + negative
        outputs = predictions * (frequency + negative * noise / noise.sum())
    if paths is not None:
        lengths = np.fromiter(map(len, paths), np.int64, len(paths))
        n_targets += float(frequency @ lengths)
        node_frequencies = np.repeat(frequency, lengths)
        nodes = predictions * np.bincount(
            np.concatenate(paths), node_frequencies, minlength=len(frequency)
        )
    inputs = np.append(frequency * pairs, tags) * n_targets
    return Tables(*(rate.astype(np.float32) for rate in (inputs, outputs, nodes)))


def huffman_tree(points: Sequence[np.ndarray] = (), codes: Sequence[np.ndarray] = ()) -> Lists:
    """Return `WordArrays.tree` from gensim's ``point`` and ``code`` of each word."""
    nodes = Lists.of(points)
    bits = Lists.of(codes)
    return Lists(nodes.offsets, 2 * nodes.entries + bits.entries)
