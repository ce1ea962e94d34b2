"""Paths of words in the Huffman tree, for hierarchical softmax."""

from __future__ import annotations

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.word_arrays import Lists


def look_up_paths(words: tf.Tensor, tree: Lists) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the nodes on the paths of words [..., O], and the nodes' signs: [..., O * P] each.

    P is the length of the longest path. `tree` lists for each word its path's entries, each
    ``2 * node + code``. The sign of a node is 1 for the code 0 and -1 for the code 1. Past the end
    of a path, nodes and signs are 0.
    """
    paths = tf.RaggedTensor.from_row_splits(tree.entries, tree.offsets, validate=False)
    entries = tf.gather(paths, tf.reshape(words, [-1])).to_tensor(-1)
    # Pad to P = 1 at least: if the vocabulary is a single word, its path has no nodes.
    entries = tf.pad(
        entries, [[0, 0], [0, 1 - tf.minimum(1, tf.shape(entries)[1])]], "CONSTANT", -1
    )
    shape = tf.concat([tf.shape(words)[:-1], [words.shape[-1] * tf.shape(entries)[1]]], 0)
    entries = tf.ensure_shape(tf.reshape(entries, shape), [*words.shape[:-1], None])
    signs = tf.where(entries < 0, 0, 1 - 2 * tf.bitwise.bitwise_and(entries, 1))
    return tf.maximum(entries, 0) // 2, tf.cast(signs, tf.float32)
