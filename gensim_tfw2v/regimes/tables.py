"""The tables that are trained."""

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf


class Tables(NamedTuple):
    """What is trained, by the names of gensim's attributes; a table without use has no rows.

    Attributes
    ----------
    inputs : Variable or ndarray [V, D]
        ``wv.vectors``
    outputs : [V, D]
        ``syn1neg``: of negative sampling.
    nodes : [V, D]
        ``syn1``: of hierarchical softmax.
    """

    inputs: tf.Variable
    outputs: tf.Variable
    nodes: tf.Variable
