"""Jobs of a cluster's worker: fetch rows, train units on them, push changes.

A job is a few units that the worker's threads train side by side on one copy of their rows
(Niu et al. 2011, "Hogwild!"), so that a row travels once for all of them. Every kind of job is
this skeleton, timed and counted; what it does in each phase is its `Phases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import let_run_together
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.parameter_server.jobs.job_units import own_ids, prepare_units
from gensim_tfw2v.parameter_server.jobs.scratch import WorkerVariables, cached

#: Numbers of a `JobResult` beside those of its units.
OF_JOB = 6

#: Of the id of a row, which travels once, with its change.
ID_BYTES = 4


class PushCounter(NamedTuple):
    """Counts of what the cluster has trained, kept where a worker's end cannot undo them.

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
        """Count units that have been pushed, by their indices; below 0 for none."""
        real = tf.boolean_mask(indices, indices >= 0)
        return tf.group(
            self.pushes.assign_add(tf.size(real, tf.int64), read_value=False),
            self.times.scatter_add(tf.IndexedSlices(tf.ones_like(real), real)),
        )


class ParameterServer(NamedTuple):
    """State held by the ps tasks.

    Attributes
    ----------
    tables : Tables of RowLayout
    words, rates : of Variable
        They never change; each worker keeps a copy. `rates` is what `pair_rates` gives.
    push_counter : PushCounter
    of_workers : WorkerVariables
        What workers keep beside it.
    squares : Tables of RowLayout [V, 1], optional
        Of the tables' rows, for Adagrad.
    """

    tables: Tables
    words: WordArrays
    rates: Tables
    push_counter: PushCounter
    of_workers: WorkerVariables
    squares: Tables | None = None


class JobResult(NamedTuple):
    """Result of a job.

    Attributes
    ----------
    units : UnitResult of Tensor [n]
        Of each unit.
    fetched, pushed : Tensor []
        Bytes that came from the ps tasks for training, and that were sent to them.
    staleness : Tensor []
        Units that others pushed between fetching and pushing.
    seconds : Tensor [3], float64
        Of fetching, with what of drawing and planning was not done ahead; of training; of pushing.
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
    def unpacked(cls, packed: np.ndarray) -> JobResult:
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
    """Signature of the function of a job.

    sources : Tensor [n], string
    ranges : Tensor [n, 2], int32
        Of each of n units; see `read_entries`. One may have no entries.
    indices : Tensor [n], int32
        Their indices in the push counter; below 0 for none.
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


class Constants:
    """A worker's copies of what never changes on the ps."""

    def __init__(self, server: ParameterServer) -> None:
        self._server = server
        name = server.of_workers.name
        self._words = tf.nest.map_structure(lambda _: name("words"), server.words)
        self._rates = Tables(*(name("rates") for _ in server.rates))

    def words(self) -> WordArrays:
        """Arrays of the vocabulary."""
        return tf.nest.map_structure(cached, self._server.words, self._words)

    def rates(self, table: str) -> tf.Tensor:
        """In how many predictions each row of a table takes part, for each token: [V]."""
        return cached(getattr(self._server.rates, table), getattr(self._rates, table))


class Job(NamedTuple):
    """A job, while its function is traced.

    Attributes
    ----------
    units : list of PreparedUnit or of NativeUnit
    ids : Tables of Tensor [n], int32
        The distinct rows of the job in each table, by which its units' are numbered; None of a
        table without use. All None where rows are not fetched.
    words : WordArrays
    constants : Constants
    alpha : Tensor []
        Step size at its beginning.
    replicas, number
        See `job_signature`.
    """

    units: list[Any]
    ids: Tables
    words: WordArrays
    constants: Constants
    alpha: tf.Tensor
    replicas: tf.Tensor
    number: tf.Tensor

    @property
    def used(self) -> list[str]:
        """Names of the tables in use."""
        return [name for name, ids in self.ids._asdict().items() if ids is not None]

    @property
    def rates(self) -> dict[str, tf.Tensor]:
        """In how many predictions each row takes part, for each token, by tables: [n]."""
        return {
            name: tf.gather(self.constants.rates(name), getattr(self.ids, name))
            for name in self.used
        }

    @property
    def rows(self) -> tf.Tensor:
        """Rows of all tables: [], int32."""
        return tf.add_n([tf.size(getattr(self.ids, name)) for name in self.used])

    @property
    def tokens(self) -> tf.Tensor:
        """Tokens that are trained on: [], float32."""
        return tf.cast(tf.add_n([unit.kept for unit in self.units]), tf.float32)


class Phases(Protocol):
    """Phases of a kind of job; each is traced once the one before has its time."""

    def fetch(self) -> Iterable[Any]:
        """Get ready; give the tensors and operations after which it is."""
        ...

    def train(self) -> list[UnitResult]:
        """Train the units; give the result of each."""
        ...

    def push(self) -> Iterable[Any]:
        """Give to the ps what has changed; give the operations after which it is there."""
        ...

    def traffic(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Bytes fetched and pushed."""
        ...


class JobProgram(NamedTuple):
    """Program of a job, in two halves.

    Attributes
    ----------
    prepare : function (sources, ranges, keys, alphas, replicas, number) -> Job
        Arguments as `job_signature` says. No row is needed for it: it may be done ahead.
    run : function (job, indices, began) -> Tensor [packed_size(n)]
        Gives a packed `JobResult`; fetching is counted from the time when it began.
    function : tf.function
        Both, of what `job_signature` says.
    """

    prepare: Callable[..., Job]
    run: Callable[[Job, tf.Tensor, tf.Tensor], tf.Tensor]
    function: tf.types.experimental.PolymorphicFunction


def job_program(
    program: Program,
    server: ParameterServer,
    make: Callable[[Job], Phases],
    fetches_rows: bool = True,
    step_sizes: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    staleness: Callable[[Phases, tf.Tensor], tf.Tensor] = lambda _, pushed: pushed,
    counts: bool = True,
) -> JobProgram:
    """Build what a worker does for a job.

    Parameters
    ----------
    program : Program
    server : ParameterServer
    make : function (Job) -> Phases
    fetches_rows : bool
        Whether units' rows are numbered anew, by the job's.
    step_sizes : function (alphas, replicas) -> alphas, optional
        Step sizes of jobs that are trained at the same time.
    staleness : function (phases, Tensor [], int64) -> Tensor []
        The job's, of what others have pushed from its first phase to its last.
    counts : bool
        Whether its units are counted as pushed.
    """
    constants, counter = Constants(server), server.push_counter

    def prepare(*of_job: tf.Tensor) -> Job:
        sources, ranges, keys, alphas, replicas, number = of_job
        words, ids = constants.words(), Tables(None, None, None)
        if step_sizes is not None:
            alphas = step_sizes(alphas, replicas)
        units = prepare_units(program, words, sources, ranges, keys, alphas)
        if fetches_rows:
            ids, units, words = own_ids(units, words)
        return Job(units, ids, words, constants, alphas[0, 0], replicas, number)

    def run(job: Job, indices: tf.Tensor, began: tf.Tensor) -> tf.Tensor:
        phases = make(job)
        pushed_before = tf.identity(counter.pushes)
        fetched_at = _after([pushed_before, *phases.fetch()])
        with tf.control_dependencies([fetched_at]):
            results = phases.train()
        trained_at = _after(tf.nest.flatten(results))
        with tf.control_dependencies([trained_at]):
            pushed = list(phases.push())
        with tf.control_dependencies([trained_at, *pushed]):
            others = tf.identity(counter.pushes) - pushed_before
            with tf.control_dependencies([others]):
                ended = counter.add(indices) if counts else others
        times = tf.stack([began, fetched_at, trained_at, _after([ended])])
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            *phases.traffic(),
            staleness(phases, others),
            times[1:] - times[:-1],
        ).packed()

    def do_job(sources, ranges, indices, keys, alphas, replicas, number):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        packed = run(prepare(sources, ranges, keys, alphas, replicas, number), indices, began)
        let_run_together()
        return packed

    signature = job_signature(program.threads)
    return JobProgram(prepare, run, tf.function(do_job, autograph=False, input_signature=signature))


def row_traffic(program: Program, fetched: tf.Tensor, pushed: tf.Tensor) -> Any:
    """Bytes of so many rows, fetched and pushed."""
    fetched, pushed = (tf.cast(rows, tf.float64) for rows in (fetched, pushed))
    return fetched * program.row_bytes, pushed * (program.row_bytes + ID_BYTES)


def _after(done: Iterable[Any]) -> tf.Tensor:
    """The time after these."""
    with tf.control_dependencies(list(done)):
        return tf.timestamp()
