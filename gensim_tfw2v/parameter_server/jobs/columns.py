"""What a worker runs where columns are spread over the ps: rows are never fetched.

The worker draws, plans, and decides how wrong each product is; the ps tasks compute their part of
the products, and update their columns (see `gensim_tfw2v.kernel.slices`). The threads of a worker
train their units side by side, so one computes while another waits for the network.
"""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.slices import MOST_PLACES
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.parameter_server.config import WorkerConfig
from gensim_tfw2v.parameter_server.jobs.rows import (
    Constants,
    JobResult,
    ParameterServer,
    job_signature,
    prepare_units,
)
from gensim_tfw2v.parameter_server.layouts import SlicedRows


def column_job_function(
    program: WorkerConfig, server: ParameterServer
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that trains a job on tables in columns.

    Parameters
    ----------
    program : WorkerConfig
    server : ParameterServer
        Its tables are of `ColumnLayout`.

    Returns
    -------
    function -> Tensor [4 n + 6], a packed `JobResult`
        Of what `job_signature` says. Seconds of fetching are those of drawing and planning, and
        what passes on the way to the ps and back is in those of training.

    Raises
    ------
    ValueError
        If steps have too many rows.
    """
    shape = program.unit.shape
    rows = shape.blocks * max(shape.columns, shape.inputs)
    if rows >= MOST_PLACES:
        raise ValueError(
            f"layout='columns' numbers {MOST_PLACES} rows of a step, and these have {rows}: give "
            f"fewer than negative={program.unit.objective.negative}, or layout='rows'"
        )
    unit, wire = program.unit, tf.as_dtype(program.wire_dtype)
    constants, push_counter = Constants(server), server.push_counter

    def train_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        known = constants.words()
        prepared = prepare_units(program, known, sources, ranges, keys, alphas)
        pushed_before = tf.identity(push_counter.pushes)
        planned = [part.steps for part in prepared]
        with tf.control_dependencies([*planned, pushed_before]):
            planned_at = tf.timestamp()
        results, traffic = [], []
        with tf.control_dependencies([planned_at]):
            for part in prepared:
                link = server.tables.inputs.link(wire)
                tables = Tables(*(SlicedRows(table, link) for table in server.tables))
                begin = part.begin(unit, tables)
                *sums, travelled = part.train_steps(
                    unit, tables, known, tf.constant(0), part.steps, begin
                )
                results.append(UnitResult(part.kept, *sums))
                traffic.append(travelled)
        with tf.control_dependencies(tf.nest.flatten(results)):
            pushed_after = tf.identity(push_counter.pushes)
            with tf.control_dependencies([pushed_after]):
                counted = push_counter.add(indices)
        with tf.control_dependencies([counted]):
            trained_at = tf.timestamp()
        fetched, pushed = tf.unstack(tf.add_n(traffic))
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            fetched,
            pushed,
            pushed_after - pushed_before,
            tf.stack([planned_at - began, trained_at - planned_at, tf.zeros([], tf.float64)]),
        ).packed()

    return tf.function(train_job, autograph=False, input_signature=job_signature(program.threads))
