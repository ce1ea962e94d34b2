"""What a worker of a cluster runs: rows are fetched, units trained on them, changes pushed.

A job is a few units that the worker's threads train side by side on one copy of their rows
(Niu et al. 2011, "Hogwild!"), so that a row travels once for all of them.
"""

from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native_unit import NativeUnit, number_rows
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.unit import prepare_unit
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.parameter_server.combining import (
    averaged_words,
    concurrent_step_sizes,
    saturating_share,
)
from gensim_tfw2v.parameter_server.config import WorkerConfig
from gensim_tfw2v.parameter_server.jobs.scratch import Scratch, cached, unique_name
from gensim_tfw2v.parameter_server.jobs.sources import read_entries

#: Numbers of a `JobResult` beside those of its units.
OF_JOB = 6

#: Of the id of a row, which travels once, with its change.
ID_BYTES = 4


class PushCounter(NamedTuple):
    """What the cluster has trained, counted where a worker's end cannot undo it.

    Attributes
    ----------
    pushes : Variable [], int64
        Units of all epochs.
    times : Variable [units], int32
        How often each unit of the epoch has been pushed.
    """

    pushes: tf.Variable
    times: tf.Variable

    def add(self, indices: tf.Tensor) -> tf.Operation:
        """Count units that have been pushed, by their places; below 0 for none."""
        real = tf.boolean_mask(indices, indices >= 0)
        return tf.group(
            self.pushes.assign_add(tf.size(real, tf.int64), read_value=False),
            self.times.scatter_add(tf.IndexedSlices(tf.ones_like(real), real)),
        )


class ParameterServer(NamedTuple):
    """What ps tasks hold.

    Attributes
    ----------
    tables : Tables of RowLayout
    words, rates : of Variable
        They never change; each worker keeps a copy. `rates` is what `pair_rates` gives.
    push_counter : PushCounter
    squares : Tables of RowLayout [V, 1], optional
        Of the tables' rows, for Adagrad.
    """

    tables: Tables
    words: WordArrays
    rates: Tables
    push_counter: PushCounter
    squares: Tables | None = None


class JobResult(NamedTuple):
    """What a worker reports of a job.

    Attributes
    ----------
    units : UnitResult of Tensor [n]
        Of each unit.
    fetched, pushed : Tensor []
        Bytes that came from the ps tasks for training, and that were sent to them.
    staleness : Tensor [], int64
        Units that others pushed between fetching and pushing.
    seconds : Tensor [3], float64
        Of fetching, with drawing and planning; of training; of pushing.
    """

    units: UnitResult
    fetched: tf.Tensor
    pushed: tf.Tensor
    staleness: tf.Tensor
    seconds: tf.Tensor

    def packed(self) -> tf.Tensor:
        """All in one Tensor, float64: each that a worker returns travels by a call of its own."""
        return tf.concat(
            [tf.reshape(tf.cast(part, tf.float64), [-1]) for part in tf.nest.flatten(self)], 0
        )

    @classmethod
    def unpacked(cls, packed: np.ndarray) -> "JobResult":
        """The same in arrays."""
        fields = len(UnitResult._fields)
        *units, rest = np.split(
            packed, np.arange(1, fields + 1) * ((len(packed) - OF_JOB) // fields)
        )
        fetched, pushed, staleness = rest[:3]
        return cls(UnitResult(*units), fetched, pushed, staleness, rest[3:])


def packed_size(threads: int) -> int:
    """Numbers of a packed `JobResult`."""
    return len(UnitResult._fields) * threads + OF_JOB


def job_signature(threads: int) -> list[tf.TensorSpec]:
    """What the function of a job is given.

    sources : Tensor [n], string
    ranges : Tensor [n, 2], int32
        Of each of n units; see `read_entries`. One may have no entries.
    indices : Tensor [n], int32
        Their places in the push_counter; below 0 for none.
    keys : Tensor [n, 2], int32
    alphas : Tensor [n, 2], float32
    replicas : Tensor [], float32
        Jobs that are trained at the same time.
    number : Tensor [], int64
        Of the job: no other has it.
    """
    return [
        tf.TensorSpec([threads], tf.string),
        tf.TensorSpec([threads, 2], tf.int32),
        tf.TensorSpec([threads], tf.int32),
        tf.TensorSpec([threads, 2], tf.int32),
        tf.TensorSpec([threads, 2], tf.float32),
        tf.TensorSpec([], tf.float32),
        tf.TensorSpec([], tf.int64),
    ]


def job_function(
    program: WorkerConfig, server: ParameterServer, staged: bool = False
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that trains a job.

    Parameters
    ----------
    program : WorkerConfig
    server : ParameterServer
    staged : bool
        Whether changes are laid down at the ps under the job's number, as they are, to be combined
        with others later; see `RowLayout.stage`. Else they are added, each its share.

    Returns
    -------
    function -> Tensor [4 n + 6], a packed `JobResult`
        Of what `job_signature` says.
    """
    unit, wire = program.unit, tf.as_dtype(program.wire_dtype)
    tables, push_counter = server.tables, server.push_counter
    scratch = Tables(
        *(Scratch(unique_name(name), unit.vector_size, unit.native) for name in Tables._fields)
    )
    constants = Constants(server)

    def train_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        known = constants.words()
        if not staged:
            alphas = concurrent_step_sizes(alphas, replicas)
        prepared = prepare_units(program, known, sources, ranges, keys, alphas)
        ids, prepared, own_words = own_ids(prepared, known)
        used = [name for name in Tables._fields if getattr(ids, name) is not None]
        splits = {name: getattr(tables, name).split(getattr(ids, name)) for name in used}
        pushed_before = tf.identity(push_counter.pushes)
        fetched = {name: getattr(tables, name).fetch(splits[name], wire) for name in used}
        # what travelled is kept, not the float32 rows: those go into the scratch without a copy
        assigned = [getattr(scratch, n).assign(tf.cast(fetched[n], tf.float32)) for n in used]
        with tf.control_dependencies(assigned):
            fetched_at = tf.timestamp()
        with tf.control_dependencies([fetched_at]):
            # each thread has handles of its own: with the same they would take turns
            results = [
                part.train(unit, Tables.of_handles(table.handle() for table in scratch), own_words)
                for part in prepared
            ]
        with tf.control_dependencies(tf.nest.flatten(results)):
            trained_at = tf.timestamp()
        tokens = tf.cast(tf.add_n([part.kept for part in prepared]), tf.float32)
        push = []
        with tf.control_dependencies([trained_at]):
            for name in used:
                changes = getattr(scratch, name).read() - tf.cast(fetched[name], tf.float32)
                if program.workers > 1 and not staged:
                    rates = tf.gather(constants.rates(name), getattr(ids, name))
                    share = saturating_share(
                        rates, tokens, alphas[0, 0], replicas, averaged_words(unit)
                    )
                    changes *= share[:, None]
                table = getattr(tables, name)
                push.append(
                    table.stage(splits[name], changes, wire, number)
                    if staged
                    else table.push(splits[name], changes, wire)
                )
        with tf.control_dependencies(push):
            pushed_after = tf.identity(push_counter.pushes)
            with tf.control_dependencies([pushed_after]):
                counted = push_counter.add(indices)
        with tf.control_dependencies([counted]):
            pushed_at = tf.timestamp()
        times = tf.stack([began, fetched_at, trained_at, pushed_at])
        rows = tf.cast(tf.add_n([tf.size(getattr(ids, name)) for name in used]), tf.float64)
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            rows * program.row_bytes,
            rows * (program.row_bytes + ID_BYTES),
            tf.zeros_like(pushed_after) if staged else pushed_after - pushed_before,
            times[1:] - times[:-1],
        ).packed()

    return tf.function(train_job, autograph=False, input_signature=job_signature(program.threads))


class Constants:
    """What never changes on the ps, as each worker keeps it.

    Parameters
    ----------
    server : ParameterServer
    """

    def __init__(self, server: ParameterServer) -> None:
        self._server = server
        self._words = tf.nest.map_structure(lambda _: unique_name("words"), server.words)
        self._rates = Tables(*(unique_name("rates") for _ in server.rates))

    def words(self) -> WordArrays:
        """What is known of each word."""
        return tf.nest.map_structure(cached, self._server.words, self._words)

    def rates(self, table: str) -> tf.Tensor:
        """In how many predictions each row of a table takes part, for each token: [V]."""
        return cached(getattr(self._server.rates, table), getattr(self._rates, table))


def prepare_units(
    program: WorkerConfig,
    words: WordArrays,
    sources: tf.Tensor,
    ranges: tf.Tensor,
    keys: tf.Tensor,
    alphas: tf.Tensor,
) -> list[Any]:
    """Draw and plan the units of a job; arguments as in `job_signature`."""
    of_units = zip(*(tf.unstack(x) for x in (sources, ranges, keys, alphas)), strict=True)
    return [
        prepare_unit(
            program.unit, words, read_entries(source, of_file, program.shared_corpus), key, alpha
        )
        for source, of_file, key, alpha in of_units
    ]


def own_ids(prepared: list[Any], words: WordArrays) -> tuple[Any, list[Any], WordArrays]:
    """Number the rows that units use from 0.

    Parameters
    ----------
    prepared : list of PreparedUnit or of NativeUnit
    words : WordArrays

    Returns
    -------
    ids : Tables of Tensor [n], int32
        The distinct ids of each table; None without use.
    prepared, words
        The same, with the new numbers.
    """
    if isinstance(prepared[0], NativeUnit):
        return number_rows(prepared, words)
    ids = Tables(None, None, None)
    for name in Tables._fields:
        parts = [getattr(part.unit, name) for part in prepared]
        if parts[0] is None:
            continue
        distinct, numbers = tf.unique(tf.concat(parts, 0))
        own = tf.split(numbers, [tf.size(part) for part in parts], num=len(parts))
        ids = ids._replace(**{name: distinct})
        if name == "inputs" and words.lock.shape[0] != 0:
            words = words._replace(lock=tf.gather(words.lock, distinct))
        prepared = [
            part._replace(unit=part.unit._replace(**{name: number}))
            for part, number in zip(prepared, own, strict=True)
        ]
    return ids, prepared, words
