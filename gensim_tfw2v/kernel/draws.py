"""The random draws of a work unit: which tokens stay, how far windows reach, which negatives.

All come from stateless random numbers keyed by the unit's name, so a unit can be trained
anywhere, and again, with the same result.
"""

from __future__ import annotations

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.grouping import running_sum
from gensim_tfw2v.kernel.noise import draw_negatives
from gensim_tfw2v.kernel.objectives.blocks import StepShape, in_blocks, in_halos


class Draws(NamedTuple):
    """A unit cut into steps of T/B blocks.

    Attributes
    ----------
    inputs : Tensor [steps, T/B, I], int32
        Ids of each block's inputs.
    centres : Tensor [steps, T/B, O], int32
        Ids of each block's centres.
    negatives : Tensor [steps, T/B, C - O], int32, optional
        Ids of each block's shared negatives.
    windows : Tensor [steps, T/B, O], int32
        ``left * (w + 1) + right``: how many tokens before (after) each centre its window holds;
        0 for padding.
    kept : Tensor [], int32
        Tokens left after subsampling.
    """

    inputs: tf.Tensor
    centres: tf.Tensor
    negatives: tf.Tensor | None
    windows: tf.Tensor
    kept: tf.Tensor


def draw(
    entries: tf.Tensor,
    key: tf.Tensor,
    keep_probability: tf.Tensor,
    noise: tf.Tensor | None,
    shape: StepShape,
    shrink_windows: bool,
    noise_reuse: int = 1,
    negative_shards: int = 1,
    widest: int | None = None,
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
    noise : Tensor [V, 2], int32, optional
        What negatives are drawn from: an `alias_table`; without it none are drawn.
    shape : StepShape
    shrink_windows : bool
        Windows reduced to a uniform 1..w for each position, as in gensim.
    noise_reuse : int
        In how many blocks a negative is used, on average: with more than 1 a unit has fewer rows.
    negative_shards : int
        Shards of `noise`.
    widest : int, optional
        What windows are reduced from, if not from w, to w at most.
    """
    keys = tf.random.split(key, 3)
    with tf.name_scope("subsample"):
        ids, position_left, position_right = _subsample(entries, keys[0], keep_probability)
    kept = tf.size(ids)
    blocks = -tf.math.floordiv(-kept, shape.tokens) * shape.blocks

    with tf.name_scope("windows"):
        reach: tf.Tensor | int = shape.window
        if shrink_windows:
            reach = tf.random.stateless_uniform(
                [kept], keys[1], 1, (widest or shape.window) + 1, tf.int32, alg="philox"
            )
            reach = tf.minimum(reach, shape.window)
        left, right = tf.minimum(reach, position_left), tf.minimum(reach, position_right)
        windows = left * (shape.window + 1) + right
    with tf.name_scope("blocks"):
        of_inputs, of_centres = in_halos, in_blocks
        if shape.halo_side == "centres":
            of_inputs, of_centres = in_blocks, in_halos
        inputs = of_inputs(ids, shape, blocks)
        centres, windows = (of_centres(x, shape, blocks) for x in (ids, windows))
    with tf.name_scope("negatives"):
        negatives = None
        if noise is not None:
            negatives = draw_negatives(
                keys[2], blocks, shape.shared, noise, noise_reuse, negative_shards
            )

    def in_steps(x: tf.Tensor, width: int) -> tf.Tensor:
        return tf.reshape(x, [-1, shape.blocks, width])

    return Draws(
        inputs=in_steps(inputs, shape.inputs),
        centres=in_steps(centres, shape.centres),
        negatives=None if negatives is None else in_steps(negatives, shape.shared),
        windows=in_steps(windows, shape.centres),
        kept=kept,
    )


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
    sentence = tf.gather(running_sum(ends), kept)
    length = tf.math.bincount(sentence)
    end = tf.cumsum(length)
    position = tf.range(tf.size(ids))
    before = position - tf.gather(end - length, sentence)
    after = tf.gather(end, sentence) - 1 - position
    return ids, before, after
