"""The rows of a job as a replica holds them, while other replicas change them on the ps.

Of each row it holds two values: the current one, which it trains, and the known one, which is what
the ps last gave, plus what was pushed to it since. Their difference is what has to be pushed.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.updates import read_rows
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch, unique_name
from gensim_tfw2v.parameter_server.jobs.windows import Window

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
    """

    def __init__(self, layouts: Tables, dtype: tf.DType) -> None:
        self._layouts = {name: of for name, of in layouts._asdict().items() if of.rows}
        self._dtype = dtype
        self._current, self._known = (
            {name: Scratch(unique_name(name), of.size) for name, of in self._layouts.items()}
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
