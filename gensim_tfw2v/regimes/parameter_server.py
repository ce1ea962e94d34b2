"""Base of the regimes whose workers train on tables held by ps tasks."""

import functools
import math
import pkgutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.files.array_file import ArrayFile, array_of
from gensim_tfw2v.files.sharded_rows import ShardedRows
from gensim_tfw2v.kernel.tables import Divergence, Tables, UnitReport, UnitTask
from gensim_tfw2v.monitor.traffic import JobTrace, Traffic
from gensim_tfw2v.ops.walks import MAX_BYTES, WalkFiles
from gensim_tfw2v.parameter_server.job import (
    ParameterServer,
    PushCounter,
    WorkerJob,
)
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.layout import Layout
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.regimes import NOT_FINITE, Setup
from gensim_tfw2v.unit_sizes import choose_warm_units

#: Class of the tables, and class of the job that trains on them, for each value of the option
#: `layout`. Their modules, in `gensim_tfw2v.parameter_server`, are imported when they are needed.
LAYOUTS: dict[str, tuple[str, str]] = {
    "rows": ("rows:RowLayout", "row_job:RowJob"),
    "columns": ("columns:ColumnLayout", "columns:ColumnJob"),
}


def layout_class(layout: str) -> Callable[..., Layout]:
    """Return the class of the tables with a layout."""
    name, _ = LAYOUTS[layout]
    return pkgutil.resolve_name(f"gensim_tfw2v.parameter_server.{name}")


def job_class(layout: str) -> Callable[..., WorkerJob]:
    """Return the class of the job that trains on tables with a layout."""
    _, name = LAYOUTS[layout]
    return pkgutil.resolve_name(f"gensim_tfw2v.parameter_server.{name}")


def _variable(array: Any) -> tf.Variable:
    """Return a variable on the ps tasks, from an array or an `ArrayFile`."""
    return tf.Variable(array_of(array), trainable=False)


class ParameterServerRegime:
    """Base of a regime: tables on ps tasks, the job that workers run, and counts of their work.

    A subclass decides which jobs run concurrently, and has workers run them.

    Parameters
    ----------
    setup : Setup
    workers : Workers
    options : RegimeOptions, optional
        Options of the regime.

    Attributes
    ----------
    traffic : Traffic
        Counts of the work so far.
    warm_units : int
        Number of units of the first epoch that one worker trains before all workers start.
    """

    #: True if workers get the entries of units themselves, when they can.
    reads_units = True

    def __init__(self, setup: Setup, workers: Workers, options: Any = None) -> None:
        self.options = options
        self.traffic = Traffic()
        self.workers = workers
        self._seed = setup.seed
        self._n_units = setup.n_units
        self._initial_inputs = setup.initial_inputs
        self.warm_units = choose_warm_units(setup.n_units, setup.config.max_entries)
        self._traffic_lock = threading.Lock()
        self._n_units_before = 0  # units in `traffic` at the start of the epoch
        has_files = workers.sees(setup.folder)
        draws_walks = self.reads_units and setup.walk_file is not None
        draws_walks = draws_walks and setup.config.engine.draws_walks
        is_filed = isinstance(setup.words.keep, ArrayFile)
        maps_files = has_files and is_filed and setup.config.engine.maps_arrays
        sent_walk_file = None
        if draws_walks and not (has_files or workers.are_threads):
            sent_walk_file = setup.walk_file
        self.config = replace(
            setup.config,
            shared_corpus=draws_walks if setup.is_drawn else has_files,
            draws_walks=draws_walks,
            # threads share memory with the tables, so rows are not sent, and need not be rounded
            wire_dtype="float32" if workers.are_threads else setup.config.wire_dtype,
        )
        with workers.scope():
            self.server = self._serve(setup, maps_files, sent_walk_file)
        for table in self.server.tables:
            table.progress = workers.liveness.progress

    def _serve(
        self, setup: Setup, maps_files: bool, sent_walk_file: Path | None
    ) -> ParameterServer:
        """Create the variables on the ps tasks.

        Parameters
        ----------
        setup : Setup
        maps_files : bool
            Whether workers map the arrays of the vocabulary from files.
        sent_walk_file : Path or None
            File whose content workers get.
        """
        make = layout_class(self.config.layout)
        engine = self.config.engine
        size = self.config.vector_size
        n_shards = self.workers.n_shards
        tables = Tables(
            *(make(n_rows, size, n_shards, shard_ops=engine.shard_ops()) for n_rows in setup.n_rows)
        )
        walk_files = None if sent_walk_file is None else WalkFiles.load(sent_walk_file)
        words, rates = setup.words, setup.rates
        if not maps_files:
            if not self.workers.are_threads:
                self._check_sizes(setup)
            words, rates = tf.nest.map_structure(_variable, (words, rates))
        if walk_files is not None:
            walk_files = tf.nest.map_structure(_variable, walk_files)
        push_counter = PushCounter(
            tf.Variable(0, trainable=False, dtype=tf.int64),
            # the shape is fixed, because TensorFlow 2.21 crashes if that of a remote variable isn't
            tf.Variable(tf.zeros([setup.n_units], tf.int32), trainable=False),
        )
        variables = WorkerVariables(self.workers.are_threads)
        return ParameterServer(tables, words, rates, push_counter, variables, walk_files)

    def _check_sizes(self, setup: Setup) -> None:
        """Raise a ValueError if an array of the vocabulary is too large to be sent."""
        n_bytes = max(
            math.prod(array.shape) * np.dtype(array.dtype).itemsize
            for array in tf.nest.flatten((setup.words, setup.rates))
        )
        if n_bytes <= MAX_BYTES:
            return
        advice = "reduce the vocabulary (min_count=...)"
        if self.config.engine.maps_arrays:
            advice = "use a folder that all tasks of the cluster share (encoded_dir=...)"
        raise ValueError(
            f"an array of the vocabulary has {n_bytes / 1e9:,.1f} GB, but the workers can't map it "
            f"from the folder {setup.folder}, and at most {MAX_BYTES / 1e9:,.1f} GB can be sent to "
            f"them: {advice}"
        )

    @functools.cached_property
    def job(self) -> WorkerJob:
        """Job that all workers run. The first access is not thread-safe."""
        return self._make_job()

    def _make_job(self) -> WorkerJob:
        return job_class(self.config.layout)(self.config, self.server)

    def count_warm_tasks(self, tasks: Sequence[UnitTask]) -> int:
        """Return the number of an epoch's remaining units that a single worker trains first."""
        if self.config.one_at_a_time:
            return len(tasks)
        if not tasks or tasks[0].epoch or self.config.workers == 1:
            return 0
        return max(0, self.warm_units - (self._n_units - len(tasks)))

    def begin_epoch(self) -> None:
        """Reset the counter of the pushes of each unit."""
        self.workers.liveness.progress()
        n_pushes = self.server.push_counter.times
        n_pushes.assign(tf.zeros_like(n_pushes))
        self._n_units_before = self.traffic.units

    def end_epoch(self) -> None:
        """Count the units that were pushed repeatedly in this epoch.

        A worker that failed after its push has not reported its units: these count as trained, too.
        """
        n_pushes = self.server.push_counter.times.numpy()
        n_reported = self.traffic.units - self._n_units_before
        self.traffic.units += max(0, int(n_pushes.sum()) - n_reported)
        self.traffic.repeated += int(np.maximum(n_pushes - 1, 0).sum())

    def make_reports(self, packed: np.ndarray, tasks: Sequence[UnitTask]) -> list[UnitReport]:
        """Add the result of a finished job to `traffic`, and return the reports of its units.

        Raises
        ------
        Divergence
            If the job's training has diverged; see `UnitResult.magnitude`.
        """
        result = JobResult.unpack(packed)
        if not np.isfinite(result.units.magnitude).all():
            subject = f"training in epoch {tasks[0].epoch}"
            raise Divergence.at(
                subject,
                self.config.window,
                self.config.objective.negative,
                tasks[0].alphas[0],
            )
        return self.count_work(result, tasks)

    def count_work(self, result: JobResult, tasks: Sequence[UnitTask]) -> list[UnitReport]:
        """Add the result of a job to `traffic`, and return the reports of its units."""
        trace = JobTrace(
            result.times.tolist(),
            len(tasks),
            int(result.fetched_bytes),
            int(result.pushed_bytes),
            float(result.staleness),
        )
        job_traffic = Traffic(
            units=trace.units,
            tokens=int(result.units.kept.sum()),
            fetched_bytes=trace.fetched_bytes,
            pushed_bytes=trace.pushed_bytes,
            corpus_bytes=int(result.text_bytes),
            staleness=[trace.staleness],
            seconds=np.diff(result.times),
            jobs=[trace],
        )
        with self._traffic_lock:
            self.traffic += job_traffic
        start_time, *_, end_time = trace.times
        self.workers.liveness.progress(end_time - start_time)
        units = [task.unit for task in tasks]
        alphas = [task.alphas[1] for task in tasks]
        return result.units.reports(units, alphas)

    @defer_interrupts()
    def load(self, arrays: Tables) -> None:
        """See `Regime.load`."""
        initial = Tables(inputs=self._initial_inputs, outputs=(), nodes=())
        for table, array, rows in zip(self.server.tables, arrays, initial, strict=True):
            if isinstance(array, ShardedRows) and self.workers.servers_can_write(array.folder):
                if table.restore(array):
                    continue
            table.load(array, rows)

    @defer_interrupts()
    def export(self, arrays: Tables) -> None:
        """See `Regime.export`."""
        if not all(table.finite() for table in self.server.tables):
            raise Divergence(NOT_FINITE)
        for table, array in zip(self.server.tables, arrays, strict=True):
            table.export(array)

    @defer_interrupts()
    def save(self, folder: Path) -> list[ShardedRows]:
        """Let each ps task write its rows to files in a folder; see `CoordinatedRegime.save`."""
        if not self.workers.servers_can_write(folder):
            return []
        if not all(table.finite() for table in self.server.tables):
            raise Divergence(NOT_FINITE)
        tables = []
        for name, table in self.server.tables._asdict().items():
            if table.n_rows:
                rows = table.save(folder, name)
                if rows is None:
                    return []
                tables.append(rows)
        return tables

    def close(self) -> None:
        """Free the tables and the workers' variables. Stop the workers if they are threads."""
        self.workers.close()
        self.server.worker_variables.free()
        for table in self.server.tables:
            table.close()
        traffic = self.traffic
        vars(self).clear()  # frees the traced functions, which hold variables
        self.traffic = traffic
