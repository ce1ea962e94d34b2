"""Negative sampling: how wrong each score is, and what that costs.

A pair's score is the dot product s of an input and an output row. Its update is
``alpha * (label - sigmoid(s))`` times the other row (Mikolov et al. 2013, "Distributed
Representations of Words and Phrases", section 2.2).

Negatives are shared by the pairs of a block (Ji et al. 2016, "Parallelizing Word2Vec in Shared
and Distributed Memory", section 4): each of a block's C - B negatives counts
``negative / (C - B)`` times for each pair, so the expectation is `negative` draws a pair.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.scopes import scoped


@scoped("coefficients")
def coefficients(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Twice ``|weights| * (label - sigmoid(scores))``, where weights below 0 have the label 0.

    Written with tanh, which costs less than a sigmoid: ``sigmoid(s) = (1 + tanh(s / 2)) / 2``. And
    with signed weights: to spread signs over a matrix costs more than all the rest.
    """
    return weights - tf.abs(weights) * tf.tanh(0.5 * scores)


@scoped("loss")
def loss(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Sum of ``-|weights| * log(sigmoid(±scores))``, minus where weights are below 0."""
    return tf.reduce_sum(tf.abs(weights) * tf.nn.softplus(-tf.sign(weights) * scores))
