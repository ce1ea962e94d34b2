"""The rows of a job as a replica holds them, while other replicas change them on the ps.

Of each row it holds two values: the current one, which it trains, and the known one, which is what
the ps last gave, plus what was pushed to it since. Their difference is what has to be pushed.
"""

from __future__ import annotations

from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables, read_rows
from gensim_tfw2v.kernel.unit import PreparedUnit
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch, WorkerVariables

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
    """Number of rows of a window in all tables: [], int32."""
    return tf.add_n([tf.size(places) for places in window.values()])


#: By the name of each table in use: Tensor [n, D], of the rows of a window.
Rows = dict[str, tf.Tensor]


class ReplicaRows:
    """A job's rows of all tables, current and known.

    It writes and reads without an order of its own: give control dependencies.

    Parameters
    ----------
    layouts : Tables of RowLayout
    dtype : DType
        In which rows and changes travel.
    of_workers : WorkerVariables
    """

    def __init__(self, layouts: Tables, dtype: tf.DType, of_workers: WorkerVariables) -> None:
        self._layouts = {name: of for name, of in layouts._asdict().items() if of.rows}
        self._dtype = dtype
        self._current, self._known = (
            {name: Scratch(of_workers, name, of.size) for name, of in self._layouts.items()}
            for _ in range(2)
        )

    def handles(self) -> Tables:
        """Handles of the current rows; each call gives others, which do not wait for each other."""
        handles = {name: rows.handle() for name, rows in self._current.items()}
        return Tables(*(handles.get(name) for name in Tables._fields))

    def begin(self, ids: Tables) -> list[tf.Operation]:
        """Have a row of zeros for each id of these `Tables`: none is known."""
        return [
            rows[name].assign(tf.zeros([tf.size(getattr(ids, name)), layout.size]))
            for name, layout in self._layouts.items()
            for rows in (self._current, self._known)
        ]

    def fetch(self, ids: Tables, window: Window) -> Rows:
        """Give what the ps hold."""
        return {
            name: layout.fetch(
                layout.split(tf.gather(getattr(ids, name), window[name])), self._dtype
            )
            for name, layout in self._layouts.items()
        }

    def renew(self, window: Window, fetched: Rows) -> list[tf.Operation]:
        """Take what was fetched, and what was changed here and not pushed on top of it."""
        written = []
        for name, places in window.items():
            current, known = self._current[name].handle(), self._known[name].handle()
            rows = tf.cast(fetched[name], tf.float32)
            changed = rows + (read_rows(current, places) - read_rows(known, places))
            with tf.control_dependencies([changed]):
                written += [_write(current, places, changed), _write(known, places, rows)]
        return written

    def take(self, window: Window) -> Rows:
        """Give changes that have not been pushed; from now on they count as pushed."""
        changes = {}
        for name, places in window.items():
            known = self._known[name].handle()
            rows = read_rows(self._current[name].handle(), places)
            change = rows - read_rows(known, places)
            with tf.control_dependencies([change]):
                written = _write(known, places, rows)
            with tf.control_dependencies([written]):
                changes[name] = tf.identity(change)
        return changes

    def read(self, window: Window) -> Rows:
        """Give current rows."""
        return {
            name: read_rows(self._current[name].handle(), places) for name, places in window.items()
        }

    def push(self, ids: Tables, window: Window, changes: Rows) -> list[tf.Operation]:
        """Add changes to what the ps hold."""
        return [
            layout.push(
                layout.split(tf.gather(getattr(ids, name), window[name])),
                changes[name],
                self._dtype,
            )
            for name, layout in self._layouts.items()
        ]


def _write(handle: tf.Tensor, places: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    return tf.raw_ops.ResourceScatterUpdate(resource=handle, indices=places, updates=rows)
