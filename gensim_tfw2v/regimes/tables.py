"""The tables that are trained."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from gensim_tfw2v.updates import WholeRows


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
