"""Noise: the words that negatives are drawn from.

Each block draws negatives that its pairs share. With shards, a target's negatives are words of its
own shard (Stergiou et al. 2017, "Distributed Negative Sampling for Word Embeddings", target
negative sampling): word r is in shard r mod S, as rows are dealt out to ps tasks, and since words
are numbered by their frequency, shards are drawn from about equally often. In two steps: the
negatives of a block are dealt out to the shards, then each is drawn among its shard's words; and
for a centre those of its shard count, so many times more.
"""

from __future__ import annotations

import numpy as np

from gensim_tfw2v._tensorflow import tf


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
    light, heavy = np.flatnonzero(~is_heavy), np.flatnonzero(is_heavy)
    share, other = np.ones(len(size)), np.arange(len(size))
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


def draw_negatives(
    key: tf.Tensor, blocks: tf.Tensor, shared: int, noise: tf.Tensor, shards: int
) -> tf.Tensor:
    """Draw the negatives of each block from an `alias_table`: [blocks, shared], int32."""
    keys = tf.random.split(key, 2)
    number, vocabulary = blocks * shared, tf.shape(noise)[0]

    def drawn(key: tf.Tensor, *limits: tf.Tensor | int | None) -> tf.Tensor:
        return tf.random.stateless_uniform([number], key, *limits, tf.int32, alg="philox")

    if shards == 1:
        bucket = drawn(keys[0], 0, vocabulary)
    else:
        shard = tf.tile(tf.constant(shards_of_negatives(shared, shards)), [blocks])
        # one range serves shards of different sizes; none is so large that the rest matters
        size = (vocabulary - shard + shards - 1) // shards
        bucket = shard + shards * tf.math.floormod(drawn(keys[0], None, None), size)
    share, other = tf.unstack(tf.gather(noise, bucket), axis=1)
    words = tf.where(drawn(keys[1], 0, 2**31 - 1) < share, bucket, other)
    return tf.reshape(words, [-1, shared])


def shards_of_negatives(shared: int, shards: int) -> np.ndarray:
    """The shard of each of a block's negatives: [shared], int32."""
    return np.arange(shared, dtype=np.int32) % shards


def counted_negatives(
    centres: tf.Tensor, negatives: tf.Tensor, skip_targets: bool, shards: int
) -> tf.Tensor | None:
    """Weight of each of a block's negatives for each of its centres; None where all are 1.

    From ids [T/B, O] and [T/B, C - O] it makes [T/B, C - O, O], float32. With `skip_targets`, a
    negative that equals a centre counts nothing for it.
    """
    counted: tf.Tensor | None = None
    if skip_targets:
        counted = tf.cast(negatives[:, :, None] != centres[:, None, :], tf.float32)
    if shards > 1:
        shared = int(negatives.shape[1])
        shard = shards_of_negatives(shared, shards)
        times = (shared / np.bincount(shard)[shard]).astype(np.float32)
        own = tf.cast(shard[:, None] == tf.math.floormod(centres, shards)[:, None, :], tf.float32)
        own *= times[:, None]
        counted = own if counted is None else own * counted
    return counted


def noise_shares(noise: np.ndarray, frequency: np.ndarray, shards: int) -> np.ndarray:
    """Share of each word among the negatives that count, of all targets: [V].

    In proportion to `noise` words are drawn, in proportion to `frequency` they are targets: [V].
    """
    shard = np.arange(len(noise)) % shards
    of_targets, of_noise = (np.bincount(shard, x)[shard] for x in (frequency, noise))
    return noise / of_noise * of_targets / frequency.sum()
