"""The tables that are trained, and what training a unit on them reports."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.updates import WholeRows


class Tables(NamedTuple):
    """What is trained, by the names of gensim's attributes; a table without use has no rows.

    Attributes
    ----------
    inputs : Variable, its handle, or ndarray [V, D]
        ``wv.vectors``
    outputs : [V, D]
        ``syn1neg``: of negative sampling.
    nodes : [V, D]
        ``syn1``: of hierarchical softmax.
    """

    inputs: Any
    outputs: Any
    nodes: Any

    @classmethod
    def of_handles(cls, handles: Iterable[Any]) -> "Tables":
        """Tables of `WholeRows`: what a step reads and updates on the worker's own device."""
        return cls(*map(WholeRows, handles))


class UnitResult(NamedTuple):
    """What training a unit reports.

    Attributes
    ----------
    kept : Tensor [], int32
        Tokens trained on, after subsampling.
    loss, predictions : Tensor [], float32
        Summed loss, and of how many predictions, of the steps whose loss is computed.
    magnitude : Tensor [], float32
        Summed lengths of the updates before clipping: not finite if training has diverged.
    """

    kept: tf.Tensor
    loss: tf.Tensor
    predictions: tf.Tensor
    magnitude: tf.Tensor
