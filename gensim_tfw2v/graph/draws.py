"""Random draws of a work unit: subsampling, window sizes and negatives.

All draws are stateless random numbers: they depend only on a key, which is computed from the seed,
the epoch and the unit's index. So a unit can be trained on any worker, and retried, with the same
result.

The pairs of a block share the block's negatives. The vocabulary may be divided into S shards: word
r is in shard r mod S, as rows are distributed over ps tasks. Words are numbered by frequency, so
the words of each shard have about the same total count. The negatives of a target are then words of
the target's shard (target negative sampling: Stergiou et al. 2017, "Distributed Negative Sampling
for Word Embeddings"). The negatives of a block are assigned to the shards round-robin, then each is
drawn from the words of its shard. For each centre, only the negatives of the centre's shard count.
Their weights are scaled up, so that the expected weight of all negatives stays the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.step_options import StepOptions
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.kernel.word_arrays import WordArrays


class Draws(NamedTuple):
    """Random draws of a unit, cut into steps of T/B blocks; all tensors are int32.

    For the letters in shapes, and the encoding of windows, see `objectives` and `WindowBand`.
    """

    inputs: tf.Tensor  # [steps, T/B, I], ids of input rows
    centres: tf.Tensor  # [steps, T/B, O], word ids
    negatives: tf.Tensor | None  # [steps, T/B, C - O], word ids; None without negative sampling
    windows: tf.Tensor  # [steps, T/B, O], encoded; 0 for padding and for centres of other turns
    kept: tf.Tensor  # [], number of tokens that subsampling has kept


def draw(options: StepOptions, words: WordArrays, entries: tf.Tensor, key: tf.Tensor) -> Draws:
    """Make all random draws of a unit. The arguments are those of `prepare_unit`."""
    shape = options.shape
    keys = tf.unstack(tf.random.split(key, 3))
    ids, n_before, n_after = _subsample(entries, keys[0], words.keep)
    n_tokens = tf.size(ids)
    n_blocks = -tf.math.floordiv(-n_tokens, shape.tokens) * shape.blocks

    # maximum number of tokens on either side of each centre
    reach = shape.window
    if options.shrink_windows:  # uniform in 1..max_window for each centre, as in gensim
        max_window = options.max_window or shape.window
        reach = tf.random.stateless_uniform([n_tokens], keys[1], 1, max_window + 1, tf.int32)
        reach = tf.minimum(reach, shape.window)
    windows = tf.minimum(reach, n_before) * (shape.window + 1) + tf.minimum(reach, n_after)
    lay_out_inputs = in_halos
    lay_out_centres = in_blocks
    if shape.halo_side == "centres":
        lay_out_inputs = in_blocks
        lay_out_centres = in_halos
    inputs = lay_out_inputs(ids, shape, n_blocks)
    centres = lay_out_centres(ids, shape, n_blocks)
    turns = tf.math.floormod(tf.range(n_tokens), shape.turns)  # turn that trains each centre
    windows = tf.stack(
        [
            lay_out_centres(tf.where(turns == turn, windows, 0), shape, n_blocks)
            for turn in range(shape.turns)
        ],
        1,
    )
    negatives = None
    if options.objective.negative:
        negatives = draw_negatives(
            keys[2], n_blocks * shape.turns, shape.shared, words.noise, options.negative_shards
        )

    def cut_into_steps(x: tf.Tensor, width: int) -> tf.Tensor:
        return tf.reshape(x, [-1, shape.blocks, width])

    def repeat_turns(x: tf.Tensor) -> tf.Tensor:
        return tf.repeat(x, shape.turns, 0) if shape.turns > 1 else x

    return Draws(
        inputs=cut_into_steps(repeat_turns(inputs), shape.inputs),
        centres=cut_into_steps(repeat_turns(centres), shape.centres),
        negatives=None if negatives is None else cut_into_steps(negatives, shape.shared),
        windows=cut_into_steps(windows, shape.centres),
        kept=n_tokens,
    )


def in_blocks(x: tf.Tensor, shape: StepShape, n_blocks: tf.Tensor) -> tf.Tensor:
    """Cut values of tokens [n] into blocks [n_blocks, B], padded with 0."""
    return tf.reshape(_pad(x, shape, n_blocks, n_padding=0), [-1, shape.block])


def in_halos(x: tf.Tensor, shape: StepShape, n_blocks: tf.Tensor) -> tf.Tensor:
    """Cut values of tokens [n] into the blocks' overlapping halos [n_blocks, H], padded with 0."""
    padded = _pad(x, shape, n_blocks + -(-shape.halo // shape.block), n_padding=shape.window)
    return tf.signal.frame(padded, shape.halo, shape.block)[:n_blocks]


def _pad(x: tf.Tensor, shape: StepShape, n_blocks: tf.Tensor, n_padding: int) -> tf.Tensor:
    return tf.pad(x, [[n_padding, n_blocks * shape.block - n_padding - tf.size(x)]])


def _subsample(
    entries: tf.Tensor, key: tf.Tensor, keep_probability: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Subsample the tokens of a unit.

    Returns the ids of the n kept tokens, and for each of them the number of kept tokens before and
    after it in its sentence: three tensors [n], int32.
    """
    ends = tf.cast(entries < 0, tf.int32)
    randoms = tf.random.stateless_uniform(tf.shape(entries), key)
    # The end of a sentence (an entry below 0) gets the probability of word 0 minus 1. That is at
    # most 0, so the entry is dropped.
    thresholds = tf.gather(keep_probability, tf.maximum(entries, 0)) - tf.cast(ends, tf.float32)
    indices = tf.squeeze(tf.where(randoms < thresholds), 1)
    ids = tf.gather(entries, indices)
    sentences = tf.gather(tf.cumsum(ends), indices)  # index of each kept token's sentence
    lengths = tf.math.bincount(sentences)
    sentence_ends = tf.cumsum(lengths)
    positions = tf.range(tf.size(ids))
    n_before = positions - tf.gather(sentence_ends - lengths, sentences)
    n_after = tf.gather(sentence_ends, sentences) - 1 - positions
    return ids, n_before, n_after


def draw_negatives(
    key: tf.Tensor, n_blocks: tf.Tensor, n_shared: int, noise: tf.Tensor, n_shards: int
) -> tf.Tensor:
    """Draw the negatives of each block: word ids [n_blocks, n_shared], int32.

    `noise` is the `alias_table` of the words' probabilities. With `n_shards` above 1, it contains a
    separate alias table for the words of each shard.
    """
    keys = tf.unstack(tf.random.split(key, 2))
    n_draws = n_blocks * n_shared
    n_words = tf.shape(noise)[0]

    def draw_integers(key: tf.Tensor, *limits: tf.Tensor | int | None) -> tf.Tensor:
        return tf.random.stateless_uniform([n_draws], key, *limits, tf.int32)

    if n_shards == 1:
        bucket = draw_integers(keys[0], 0, n_words)
    else:
        shard = tf.tile(tf.constant(shards_of_negatives(n_shared, n_shards)), [n_blocks])
        # A random int32 modulo the size of a shard is biased towards its first words, but only by
        # the size divided by 2**32, which is negligible.
        size = (n_words - shard + n_shards - 1) // n_shards
        bucket = shard + n_shards * tf.math.floormod(draw_integers(keys[0], None, None), size)
    prob, alias = tf.unstack(tf.gather(noise, bucket), axis=1)
    words = tf.where(draw_integers(keys[1], 0, 2**31 - 1) < prob, bucket, alias)
    return tf.reshape(words, [-1, n_shared])


def shards_of_negatives(n_shared: int, n_shards: int) -> np.ndarray:
    """Return the shard of each of a block's negatives: [n_shared], int32."""
    return np.arange(n_shared, dtype=np.int32) % n_shards


def weigh_negatives(options: StepOptions, columns: tf.Tensor) -> tf.Tensor | None:
    """Return the weight of each negative for each centre of its block; None if all are 1.

    `columns` [T/B, C] are the word ids of each block's centres, then of its negatives. The weights
    are float32 [T/B, C - O, O]. If targets are skipped, a negative that equals a centre has weight
    0 for this centre. With shards, a negative has weight 0 for centres of different shards, and a
    weight above 1 for centres of its own shard.
    """
    shape = options.shape
    n_shards = options.negative_shards
    centres, negatives = tf.split(columns, [shape.centres, shape.shared], axis=1)
    weights: tf.Tensor | None = None
    if options.skip_targets:
        weights = tf.cast(negatives[:, :, None] != centres[:, None, :], tf.float32)
    if n_shards > 1:
        shard = shards_of_negatives(shape.shared, n_shards)
        scale = (shape.shared / np.bincount(shard)[shard]).astype(np.float32)
        shard_weights = tf.cast(
            shard[:, None] == tf.math.floormod(centres, n_shards)[:, None, :], tf.float32
        )
        shard_weights *= scale[:, None]
        weights = shard_weights if weights is None else shard_weights * weights
    return weights
