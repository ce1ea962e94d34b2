"""What a worker computes of a batch objective: the loss of a few units, and its gradient.

The rows are fetched once and stay as they are; what the steps would add to them, at the step size
1 and unclipped, is summed beside them. That is minus the gradient of the loss, where the objective
computes it: see `Objective`. The sum is laid down at the ps under the attempt's number.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.slices import Slices, whole
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.updates import WholeRows
from gensim_tfw2v.parameter_server.config import WorkerConfig
from gensim_tfw2v.parameter_server.jobs.rows import (
    ID_BYTES,
    Constants,
    JobResult,
    ParameterServer,
    job_signature,
    own_ids,
    prepare_units,
)
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch, unique_name


class FixedRows(WholeRows):
    """Rows that a step reads, beside which it sums what it would add to them.

    Parameters
    ----------
    rows : Tensor [n, D]
    sums : Tensor [], resource
        Handle of a variable [n, D].
    """

    def __init__(self, rows: tf.Tensor, sums: tf.Tensor) -> None:
        super().__init__(sums)
        self._rows = rows

    def read(self, ids: tf.Tensor) -> Slices:
        """Rows [ids, D], float32."""
        return whole(tf.gather(self._rows, ids))


def portion_function(
    program: WorkerConfig, server: ParameterServer, point: Tables, gradient: Tables
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that evaluates a portion of a batch.

    Parameters
    ----------
    program : WorkerConfig
        Of which no update is clipped.
    server : ParameterServer
    point : Tables of RowLayout
        Where it is evaluated.
    gradient : Tables of RowLayout
        At which the sum of the updates is laid down; see `RowLayout.stage`.

    Returns
    -------
    function -> Tensor [4 n + 6], a packed `JobResult`
        Of what `job_signature` says; each alpha has to be 1.
    """
    unit = program.unit
    used = [name for name, table in point._asdict().items() if table.rows]
    # threads that added to the same sum would lose what others add
    sums = [
        {name: Scratch(unique_name(name), unit.vector_size) for name in used}
        for _ in range(program.threads)
    ]
    constants = Constants(server)

    def evaluate_portion(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        known = constants.words()
        prepared = prepare_units(program, known, sources, ranges, keys, alphas)
        ids, prepared, own_words = own_ids(prepared, known)
        splits = {name: getattr(point, name).split(getattr(ids, name)) for name in used}
        rows = {name: getattr(point, name).fetch(splits[name], tf.float32) for name in used}
        cleared = [own[name].assign(tf.zeros_like(rows[name])) for own in sums for name in used]
        with tf.control_dependencies([*cleared, *rows.values()]):
            fetched_at = tf.timestamp()
        with tf.control_dependencies([fetched_at]):
            results = []
            for part, own in zip(prepared, sums, strict=True):
                tables = {name: FixedRows(rows[name], own[name].handle()) for name in used}
                summed = part.train_steps(
                    unit,
                    Tables(*map(tables.get, Tables._fields)),
                    own_words,
                    tf.constant(0),
                    part.steps,
                    (tf.zeros([], tf.float64),) * 3,
                )
                results.append(UnitResult(part.kept, *summed))
        with tf.control_dependencies(tf.nest.flatten(results)):
            evaluated_at = tf.timestamp()
        with tf.control_dependencies([evaluated_at]):
            staged = [
                getattr(gradient, name).stage(
                    splits[name], tf.add_n([own[name].read() for own in sums]), tf.float32, number
                )
                for name in used
            ]
        with tf.control_dependencies(staged):
            staged_at = tf.timestamp()
        times = tf.stack([began, fetched_at, evaluated_at, staged_at])
        travelled = tf.cast(tf.add_n([tf.size(getattr(ids, name)) for name in used]), tf.float64)
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            travelled * program.row_bytes,
            travelled * (program.row_bytes + ID_BYTES),
            tf.constant(0, tf.int64),
            times[1:] - times[:-1],
        ).packed()

    return tf.function(
        evaluate_portion, autograph=False, input_signature=job_signature(program.threads)
    )
