"""Arrays with an entry for each word: what negatives are drawn from, Huffman paths, subwords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables


def alias_table(weights: np.ndarray, shards: int = 1) -> np.ndarray:
    """Make a table from which words are drawn in proportion to their weights, in constant time.

    Each word has a bucket of the same size. A word lighter than a bucket leaves room, which one
    heavier word fills: draw a bucket, then one of its two words (Walker 1977, "An Efficient Method
    for Generating Discrete Random Variables with General Distributions"). Heavy words fill the
    room of light ones in order, so running sums say which fills which (Hübschle-Schneider and
    Sanders 2022, "Parallel Weighted Random Sampling").

    Parameters
    ----------
    weights : ndarray [V]
        Not negative.
    shards : int
        S: the two words of a bucket are of the same one.

    Returns
    -------
    ndarray [V, 2], int32
        For each bucket: the share of its own word, times ``2**31 - 1``, and the other word.

    Raises
    ------
    ValueError
        If a shard's weights are all 0.
    """
    if shards > 1:
        empty = [one for one in range(shards) if not weights[one::shards].sum() > 0]
        if empty:
            raise ValueError(
                f"no negatives can be drawn in {len(empty)} of {shards} shards, whose words "
                "have no weight: give fewer negative_shards"
            )
        table = np.empty((len(weights), 2), np.int32)
        for shard in range(shards):
            table[shard::shards] = alias_table(weights[shard::shards])
            table[shard::shards, 1] = shard + shards * table[shard::shards, 1]
        return table
    size = weights * (len(weights) / weights.sum())
    is_heavy = size >= min(1.0, size.max())  # rounded, even the largest may be below 1
    light = np.flatnonzero(~is_heavy)
    heavy = np.flatnonzero(is_heavy)
    share = np.ones(len(size))
    other = np.arange(len(size))
    if len(light):
        room = np.concatenate([[0.0], np.cumsum(1.0 - size[light])])  # of the first 0, 1, ...
        excess = np.cumsum(size[heavy] - 1.0)
        share[light] = size[light]
        filler = np.searchsorted(excess, room[:-1], side="right")
        other[light] = heavy[np.minimum(filler, len(heavy) - 1)]
        # a heavy word that ends within a light one's room is now short itself: the next fills up
        filled = room[np.minimum(np.searchsorted(room, excess[:-1]), len(light))]
        share[heavy[:-1]] = 1.0 - (filled - excess[:-1])
        other[heavy[:-1]] = heavy[1:]
    limits = np.rint(np.clip(share, 0.0, 1.0) * (2**31 - 1))
    return np.stack([limits, other], 1).astype(np.int32)


class Lists(NamedTuple):
    """A list for each word, as arrays or tensors of int32; both are empty where there is none."""

    first: tf.Tensor  # [V + 1], where in `entries` each word's list begins
    entries: tf.Tensor  # list after list

    @classmethod
    def of(cls, lists: Sequence[np.ndarray]) -> Lists:
        """Lay out lists of whole numbers."""
        if not len(lists):
            return cls(np.zeros(0, np.int32), np.zeros(0, np.int32))
        first = np.cumsum([0, *map(len, lists)])
        return cls(first.astype(np.int32), np.concatenate(lists).astype(np.int32))

    def of_words(self, words: tf.Tensor) -> Lists:
        """The lists of some words [n], as tensors."""
        lists = tf.gather(tf.RaggedTensor.from_row_splits(self.entries, self.first), words)
        return Lists(tf.cast(lists.row_splits, tf.int32), lists.flat_values)


class WordArrays(NamedTuple):
    """Arrays or tensors of a vocabulary.

    Attributes
    ----------
    keep : [V], float32
        Chance of each word to survive subsampling (gensim's ``sample_int / 2**32``).
    noise : [V, 2], int32
        What negatives are drawn from: an `alias_table`. [0, 2] without negative sampling.
    tree : Lists
        ``2 * node + code`` of the nodes from the root of the Huffman tree to each word; nodes are
        rows of gensim's ``syn1``. Empty without hierarchical softmax.
    lock : [rows], float32
        What each input row's update is multiplied by: gensim's ``vectors_lockf``. [0] if none is
        locked.
    subwords : Lists
        The rows of the table of inputs that make each word's input. Empty where it is the word's
        own row alone.
    weights : [rows], float32
        Of how many rows that always gain the same each input row is the sum. [0] if of none.
    """

    keep: tf.Tensor
    noise: tf.Tensor
    tree: Lists
    lock: tf.Tensor
    subwords: Lists
    weights: tf.Tensor

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
        """Make the arrays: negatives are drawn in proportion to weights [V]; see `huffman_tree`."""
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


def noise_shares(noise: np.ndarray, frequency: np.ndarray, shards: int) -> np.ndarray:
    """Share of each word among the negatives that count, of all targets: [V].

    In proportion to `noise` words are drawn, in proportion to `frequency` they are targets: [V].
    """
    shard = np.arange(len(noise)) % shards
    of_targets, of_noise = (np.bincount(shard, x)[shard] for x in (frequency, noise))
    return noise / of_noise * of_targets / frequency.sum()


def pair_rates(
    frequency: np.ndarray,
    pairs: float,
    skipgram: bool,
    negative: int,
    noise: np.ndarray | None,
    paths: Sequence[np.ndarray] | None,
    tags: np.ndarray | Sequence[float] = (),
) -> Tables:
    """In how many predictions each row takes part, for each token trained on.

    A token and a tag that predicts it count as one token more.

    Parameters
    ----------
    frequency : ndarray [V]
        Of the words after subsampling; their sum is 1.
    pairs : float
        Words in a window, on average.
    skipgram : bool
    negative : int
        gensim's parameter.
    noise : ndarray [V], optional
        In what proportion negatives are drawn.
    paths : sequence of ndarray, optional
        The nodes of each word's path, in hierarchical softmax.
    tags : ndarray [N], optional
        How often each tag of documents is an input.

    Returns
    -------
    Tables of ndarray [V], float32
        [0] for a table without use; [V + N] of inputs.
    """
    predictions = pairs + np.sum(tags) if skipgram else 1.0
    targets = 0.0
    outputs: np.ndarray = np.zeros(0)
    nodes: np.ndarray = np.zeros(0)
    if negative:
        assert noise is not None
        targets += 1 + negative
        outputs = predictions * (frequency + negative * noise / noise.sum())
    if paths is not None:
        lengths = np.fromiter(map(len, paths), np.int64, len(paths))
        targets += float(frequency @ lengths)
        of_paths = np.repeat(frequency, lengths)
        nodes = predictions * np.bincount(np.concatenate(paths), of_paths, minlength=len(frequency))
    inputs = np.append(frequency * pairs, tags) * targets
    return Tables(*(rate.astype(np.float32) for rate in (inputs, outputs, nodes)))


def huffman_tree(points: Sequence[np.ndarray] = (), codes: Sequence[np.ndarray] = ()) -> Lists:
    """Lay out gensim's Huffman tree for training, from ``point`` and ``code`` of its words."""
    nodes = Lists.of(points)
    bits = Lists.of(codes)
    return Lists(nodes.first, 2 * nodes.entries + bits.entries)


def paths_of(words: tf.Tensor, tree: Lists) -> tuple[tf.Tensor, tf.Tensor]:
    """Look up the paths of words [..., O], filled up to the longest of them: [..., O * P] each.

    They are the nodes, 0 after a path's end, and signs: 1 where the code is 0, -1 where it is 1,
    and 0 after a path's end.
    """
    paths = tf.RaggedTensor.from_row_splits(tree.entries, tree.first, validate=False)
    entries = tf.gather(paths, tf.reshape(words, [-1])).to_tensor(-1)
    # the only word of a vocabulary has no node on its path
    entries = tf.pad(
        entries, [[0, 0], [0, 1 - tf.minimum(1, tf.shape(entries)[1])]], "CONSTANT", -1
    )
    shape = tf.concat([tf.shape(words)[:-1], [words.shape[-1] * tf.shape(entries)[1]]], 0)
    entries = tf.ensure_shape(tf.reshape(entries, shape), [*words.shape[:-1], None])
    signs = tf.where(entries < 0, 0, 1 - 2 * tf.bitwise.bitwise_and(entries, 1))
    return tf.maximum(entries, 0) // 2, tf.cast(signs, tf.float32)
