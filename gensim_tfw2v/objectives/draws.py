"""The random draws of a work unit: which tokens stay, how far windows reach, which negatives.

All come from stateless random numbers keyed by the unit's name, so a unit can be trained
anywhere, and again, with the same result.
"""

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape, halo_ids


class Draws(NamedTuple):
    """A unit cut into steps of T/B blocks.

    Attributes
    ----------
    inputs : Tensor [steps, T/B, H], int32
        Ids of each block's halo.
    outputs : Tensor [steps, T/B, C], int32
        Ids of each block's words, then of its shared negatives.
    left, right : Tensor [steps, T/B, B], int32
        How many tokens before (after) each position its window holds; 0 for padding.
    kept : Tensor [], int32
        Tokens left after subsampling.
    """

    inputs: tf.Tensor
    outputs: tf.Tensor
    left: tf.Tensor
    right: tf.Tensor
    kept: tf.Tensor


def draw(
    entries: tf.Tensor,
    key: tf.Tensor,
    keep_probability: tf.Tensor,
    cum_table: tf.Tensor,
    shape: StepShape,
    shrink_windows: bool,
) -> Draws:
    """Draw everything that training a unit needs.

    Parameters
    ----------
    entries : Tensor [n], int32
        Token ids, -1 after each sentence.
    key : Tensor [2], int32
        Names the unit.
    keep_probability : Tensor [V], float32
        Chance of each word to survive subsampling (gensim's ``sample_int / 2**32``).
    cum_table : Tensor [V], int32
        gensim's `cum_table`: cumulative counts to the power of `ns_exponent`.
    shape : StepShape
    shrink_windows : bool
        Windows reduced to a uniform 1..w for each position, as in gensim.
    """
    keys = tf.random.split(key, 3)
    with tf.name_scope("subsample"):
        ids, position_left, position_right = _subsample(entries, keys[0], keep_probability)
    kept = tf.size(ids)
    steps = -tf.math.floordiv(-kept, shape.tokens)
    padding = steps * shape.tokens - kept
    blocks = steps * shape.blocks

    with tf.name_scope("windows"):
        reach: tf.Tensor | int = shape.window
        if shrink_windows:
            reach = tf.random.stateless_uniform(
                [kept], keys[1], 1, shape.window + 1, tf.int32, alg="philox"
            )

        def in_blocks(x: tf.Tensor) -> tf.Tensor:
            return tf.reshape(tf.pad(x, [[0, padding]]), [-1, shape.block])

        left = in_blocks(tf.minimum(reach, position_left))
        right = in_blocks(tf.minimum(reach, position_right))
        halo = halo_ids(tf.pad(ids, [[shape.window, shape.window + padding]]), shape, steps)
    with tf.name_scope("negatives"):
        words = draw_words(keys[2], blocks * shape.shared, cum_table)
        outputs = tf.concat([in_blocks(ids), tf.reshape(words, [blocks, shape.shared])], 1)

    def in_steps(x: tf.Tensor, width: int) -> tf.Tensor:
        return tf.reshape(x, [-1, shape.blocks, width])

    return Draws(
        inputs=in_steps(halo, shape.halo),
        outputs=in_steps(outputs, shape.columns),
        left=in_steps(left, shape.block),
        right=in_steps(right, shape.block),
        kept=kept,
    )


def draw_words(key: tf.Tensor, number: tf.Tensor, cum_table: tf.Tensor) -> tf.Tensor:
    """Draw `number` words in proportion to count ** ns_exponent, as gensim does.

    Returns
    -------
    Tensor [number], int32
    """
    draws = tf.random.stateless_uniform([number], key, 0, cum_table[-1], tf.int32, alg="philox")
    return tf.searchsorted(cum_table, draws, side="left")


def _subsample(
    entries: tf.Tensor, key: tf.Tensor, keep_probability: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Drop tokens at random, and sentence ends.

    Returns
    -------
    ids, before, after : Tensor [kept], int32
        The tokens left, and how many of its sentence stand before and after each.
    """
    ends = tf.cast(entries < 0, tf.int32)
    chance = tf.random.stateless_uniform(tf.shape(entries), key, alg="philox")
    # a sentence end looks up word 0, and is dropped because its limit is then below 0
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
