"""How wrong predictions are, what that costs, and where it moves rows.

A prediction's score is the dot product s of an input and an output row, and its label is 1 or 0.
Its loss is ``-log sigmoid(±s)``, and its update is ``alpha * (label - sigmoid(s))`` times the other
row (Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.2).
"""

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.objectives.blocks import Everything
from gensim_tfw2v.kernel.slices import Slices


def predict(
    inputs: Slices,
    outputs: Slices,
    weights: tf.Tensor,
    with_loss: bool,
    packing: Everything | None = None,
) -> tuple[Slices, Slices, tf.Tensor]:
    """Predict every output row of a block from every input row of it, by three batched products.

    Parameters
    ----------
    inputs, outputs : Slices [blocks, I, D] and [blocks, C, D]
    weights : Tensor [blocks, C, I], float32
        How often each prediction counts: below 0 with the label 0, and 0 for none.
    with_loss : bool
    packing : Everything, optional
        What of the products travels, where rows are sliced.

    Returns
    -------
    d_inputs, d_outputs : Slices [blocks, I, D] and [blocks, C, D]
        Updates, to be multiplied by the step size.
    loss : Tensor []
        0 unless asked for.
    """
    packing = packing or Everything()
    scores = outputs.total(lambda y, x: packing.pack(tf.matmul(y, x, transpose_b=True)), inputs)
    dtype = scores.dtype
    scores = tf.cast(packing.unpack(scores), tf.float32)
    g = packing.pack(tf.cast(coefficients(scores, 0.5 * weights), dtype))
    return (
        outputs.map(lambda y, g: tf.matmul(packing.unpack(g), y, transpose_a=True), sent=[g]),
        inputs.map(lambda x, g: tf.matmul(packing.unpack(g), x), sent=[g]),
        loss(scores, weights) if with_loss else tf.constant(0.0),
    )


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
