"""Windows: which rows some steps of a job use."""

from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.unit import PreparedUnit

#: By the name of each table in use: Tensor [n], int32, the places of distinct rows among the job's.
Window = dict[str, tf.Tensor]


class Windows:
    """The rows of a job, by steps.

    Parameters
    ----------
    prepared : list of PreparedUnit
        Units that are trained side by side, with numbers of `own_ids`.

    Attributes
    ----------
    steps : Tensor [], int32
        Of the longest unit.
    """

    def __init__(self, prepared: list[PreparedUnit]) -> None:
        self._prepared = prepared
        self.steps = tf.reduce_max(tf.stack([part.steps for part in prepared]))

    def of(self, first: Any, last: Any) -> Window:
        """Rows that the steps from `first` to before `last` use; none if there is no such step."""
        first, last = tf.minimum(first, self.steps), tf.minimum(last, self.steps)
        window = {}
        for name in Tables._fields:
            if getattr(self._prepared[0].unit, name) is None:
                continue
            parts = []
            for part in self._prepared:
                steps = tf.minimum(tf.stack([first, last]), part.steps)
                begin, end = tf.unstack(tf.gather(getattr(part.plan, name).distinct.edges, steps))
                parts.append(getattr(part.unit, name)[begin:end])
            window[name] = tf.unique(tf.concat(parts, 0)).y
        return window


def rows_of(window: Window) -> tf.Tensor:
    """How many rows a window has in all tables: [], int32."""
    return tf.add_n([tf.size(places) for places in window.values()])
