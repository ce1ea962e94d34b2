"""Random draws of a work unit: subsampling, window sizes and negatives.

All draws come from stateless random numbers, with a key computed from the seed, the epoch and the
unit's index. So a unit can be trained anywhere, and retried, with the same result.

The pairs of a block share its negatives. With S shards, a target's negatives are words of its own
shard (target negative sampling: Stergiou et al. 2017, "Distributed Negative Sampling for Word
Embeddings"). Word r is in shard r mod S; rows are distributed over ps tasks in the same way. Words
are numbered by frequency, so shards have about equal weight. The negatives of a block are assigned
to the shards round-robin, then each is drawn from the words of its shard. For each centre, only the
negatives of the centre's shard count. Their weights are scaled up so that the expectation stays the
same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.word_arrays import WordArrays


class Draws(NamedTuple):
    """Unit cut into steps of T/B blocks, int32. Windows are encoded as in `WindowBand`."""

    inputs: tf.Tensor  # [steps, T/B, I]
    centres: tf.Tensor  # [steps, T/B, O]
    negatives: tf.Tensor | None  # [steps, T/B, C - O], with negative sampling
    windows: tf.Tensor  # [steps, T/B, O], 0 for padding
    kept: tf.Tensor  # number of tokens after subsampling


def draw(options: StepOptions, words: WordArrays, entries: tf.Tensor, key: tf.Tensor) -> Draws:
    """Make all random draws of a unit; arguments as in `prepare_unit`."""
    shape = options.shape
    keys = tf.unstack(tf.random.split(key, 3))
    ids, position_left, position_right = _subsample(entries, keys[0], words.keep)
    kept = tf.size(ids)
    blocks = -tf.math.floordiv(-kept, shape.tokens) * shape.blocks

    reach = shape.window
    if options.shrink_windows:  # uniform in 1..max_window for each position, as in gensim
        max_window = options.max_window or shape.window
        reach = tf.random.stateless_uniform([kept], keys[1], 1, max_window + 1, tf.int32)
        reach = tf.minimum(reach, shape.window)
    left = tf.minimum(reach, position_left)
    right = tf.minimum(reach, position_right)
    windows = left * (shape.window + 1) + right
    lay_out_inputs = in_halos
    lay_out_centres = in_blocks
    if shape.halo_side == "centres":
        lay_out_inputs = in_blocks
        lay_out_centres = in_halos
    inputs = lay_out_inputs(ids, shape, blocks)
    centres = lay_out_centres(ids, shape, blocks)
    turn = tf.math.floormod(tf.range(kept), shape.turns)  # each centre is trained in one turn
    windows = tf.stack(
        [
            lay_out_centres(tf.where(turn == trained_turn, windows, 0), shape, blocks)
            for trained_turn in range(shape.turns)
        ],
        1,
    )
    negatives = None
    if options.objective.negative:
        negatives = draw_negatives(
            keys[2], blocks * shape.turns, shape.shared, words.noise, options.negative_shards
        )

    def in_steps(x: tf.Tensor, width: int) -> tf.Tensor:
        return tf.reshape(x, [-1, shape.blocks, width])

    def in_turns(x: tf.Tensor) -> tf.Tensor:
        return tf.repeat(x, shape.turns, 0) if shape.turns > 1 else x

    return Draws(
        inputs=in_steps(in_turns(inputs), shape.inputs),
        centres=in_steps(in_turns(centres), shape.centres),
        negatives=None if negatives is None else in_steps(negatives, shape.shared),
        windows=in_steps(windows, shape.centres),
        kept=kept,
    )


def in_blocks(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor) -> tf.Tensor:
    """Cut values of tokens [n] into blocks [blocks, B], padded with 0."""
    return tf.reshape(_padded(x, shape, blocks, before=0), [-1, shape.block])


def in_halos(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor) -> tf.Tensor:
    """Cut values of tokens [n] into the overlapping halos of blocks [blocks, H], padded with 0."""
    padded = _padded(x, shape, blocks + -(-shape.halo // shape.block), before=shape.window)
    return tf.signal.frame(padded, shape.halo, shape.block)[:blocks]


def _padded(x: tf.Tensor, shape: StepShape, blocks: tf.Tensor, before: int) -> tf.Tensor:
    return tf.pad(x, [[before, blocks * shape.block - before - tf.size(x)]])


def _subsample(
    entries: tf.Tensor, key: tf.Tensor, keep_probability: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the ids of the kept tokens, and the number of kept tokens on either side of each.

    Only tokens of the same sentence count. All three are int32 [kept]: ids, before, after.
    """
    ends = tf.cast(entries < 0, tf.int32)
    chance = tf.random.stateless_uniform(tf.shape(entries), key)
    # the end of a sentence gets the probability of word 0, minus 1: at most 0, so it is dropped
    limit = tf.gather(keep_probability, tf.maximum(entries, 0)) - tf.cast(ends, tf.float32)
    kept = tf.squeeze(tf.where(chance < limit), 1)
    ids = tf.gather(entries, kept)
    sentence = tf.gather(tf.cumsum(ends), kept)
    length = tf.math.bincount(sentence)
    end = tf.cumsum(length)
    position = tf.range(tf.size(ids))
    before = position - tf.gather(end - length, sentence)
    after = tf.gather(end, sentence) - 1 - position
    return ids, before, after


def draw_negatives(
    key: tf.Tensor, blocks: tf.Tensor, shared: int, noise: tf.Tensor, shards: int
) -> tf.Tensor:
    """Draw the negatives of each block from an `alias_table`: [blocks, shared], int32."""
    keys = tf.unstack(tf.random.split(key, 2))
    n_draws = blocks * shared
    vocabulary = tf.shape(noise)[0]

    def draw_integers(key: tf.Tensor, *limits: tf.Tensor | int | None) -> tf.Tensor:
        return tf.random.stateless_uniform([n_draws], key, *limits, tf.int32)

    if shards == 1:
        bucket = draw_integers(keys[0], 0, vocabulary)
    else:
        shard = tf.tile(tf.constant(shards_of_negatives(shared, shards)), [blocks])
        # a random int32 modulo a size is biased, but too little to matter with the size of a shard
        size = (vocabulary - shard + shards - 1) // shards
        bucket = shard + shards * tf.math.floormod(draw_integers(keys[0], None, None), size)
    prob, alias = tf.unstack(tf.gather(noise, bucket), axis=1)
    words = tf.where(draw_integers(keys[1], 0, 2**31 - 1) < prob, bucket, alias)
    return tf.reshape(words, [-1, shared])


def shards_of_negatives(shared: int, shards: int) -> np.ndarray:
    """Return the shard of each of a block's negatives: [shared], int32."""
    return np.arange(shared, dtype=np.int32) % shards


def counted_negatives(options: StepOptions, columns: tf.Tensor) -> tf.Tensor | None:
    """Return the weight of each negative of a block for each of its centres; None if all are 1.

    `columns` are ids [T/B, C]; weights are float32 [T/B, C - O, O]. If targets are skipped, a
    negative that equals a centre has weight 0 for this centre. With shards, a negative has weight 0
    for centres of different shards, and a larger weight for centres of its own.
    """
    shape = options.shape
    shards = options.negative_shards
    centres, negatives = tf.split(columns, [shape.centres, shape.shared], axis=1)
    weights: tf.Tensor | None = None
    if options.skip_targets:
        weights = tf.cast(negatives[:, :, None] != centres[:, None, :], tf.float32)
    if shards > 1:
        shard = shards_of_negatives(shape.shared, shards)
        times = (shape.shared / np.bincount(shard)[shard]).astype(np.float32)
        shard_weights = tf.cast(
            shard[:, None] == tf.math.floormod(centres, shards)[:, None, :], tf.float32
        )
        shard_weights *= times[:, None]
        weights = shard_weights if weights is None else shard_weights * weights
    return weights
