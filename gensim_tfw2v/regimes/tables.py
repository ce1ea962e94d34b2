"""The tables that are trained."""

from typing import Any, NamedTuple


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
