"""One process: `workers` threads train units on shared tables (Niu et al. 2011, "Hogwild!")."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.choices import KernelConfig
from gensim_tfw2v.kernel.native import load_ops
from gensim_tfw2v.kernel.step import step_graph
from gensim_tfw2v.kernel.tables import Tables, UnitResult, WholeRows
from gensim_tfw2v.kernel.task import Divergence, UnitReport, UnitTask
from gensim_tfw2v.kernel.unit import concrete_unit_function
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.parameter_server.workers import LocalWorkers, run_threads
from gensim_tfw2v.processes.hazards import holding_interrupts
from gensim_tfw2v.regimes.options import RegimeOptions
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime, Setup
from gensim_tfw2v.regimes.regime import never

ROWS_AT_A_TIME = 4096


def use_one_thread_per_op() -> None:
    """Let threads train units side by side instead of splitting every op.

    TensorFlow takes this setting only before its first op: if the program has used it already,
    its threads stay as they are, and training is slower.
    """
    with contextlib.suppress(RuntimeError):
        if not tf.config.threading.get_intra_op_parallelism_threads():
            tf.config.threading.set_intra_op_parallelism_threads(1)


def train_in_threads(
    train: Callable[[UnitTask], UnitReport],
    tasks: Sequence[UnitTask],
    workers: int,
    report: Callable[[UnitReport], None],
    stop: Callable[[], bool],
) -> None:
    """Train units in their order, each in the next thread that is free.

    An error in a thread, or an exception in this one (Ctrl-C), ends the others after the unit that
    they are training.
    """
    todo: queue.SimpleQueue[UnitTask] = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)

    def work(ended: threading.Event) -> None:
        while not (ended.is_set() or stop()):
            try:
                task = todo.get_nowait()
            except queue.Empty:
                return
            report(train(task))

    run_threads(work, min(workers, max(1, len(tasks))), "tfw2v-worker")


def reported(task: UnitTask, result: UnitResult, program: KernelConfig) -> UnitReport:
    """Report what training a unit has given, if it has not diverged."""
    if any(task.alphas) and not np.isfinite(result.magnitude):  # else only a loss is asked for
        place = f"training of unit {task.unit.index} in epoch {task.epoch}"
        raise Divergence.at(place, program, task.alphas[0])
    loss, predictions = float(result.loss), float(result.predictions)
    return UnitReport(task.unit, int(result.kept), loss, predictions, task.alphas[1])


class LocalRegime:
    """Trains on this machine, on a GPU where TensorFlow sees one, once rows have been loaded.

    With one worker, units are trained in order and two runs give the same bits. With more, the
    order of updates is the operating system's.

    Parameters
    ----------
    program : KernelConfig
    words : WordArrays
        Of the vocabulary.
    workers : int
        Threads.
    """

    @holding_interrupts()  # for it traces
    def __init__(self, program: KernelConfig, words: WordArrays, workers: int) -> None:
        use_one_thread_per_op()
        self.program = program
        self.workers = workers
        # no fixed number of rows: models of any vocabulary share a trace
        size = program.row_size
        self._tables = Tables(
            *(tf.Variable(tf.zeros([0, size]), shape=[None, size]) for _ in Tables._fields)
        )
        self._words = words.tensors()
        self._train_unit = concrete_unit_function(program, self._tables)

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once; see `Regime`."""
        train_in_threads(self._train, tasks, self.workers, report, stop)

    def _train(self, task: UnitTask) -> UnitReport:
        result = self._train_unit(
            self._tables,
            self._words,
            tf.constant(task.unit.read(), tf.int32),
            tf.constant(task.key),
            tf.constant(task.alphas, tf.float32),
        )
        return reported(task, UnitResult(*(x.numpy() for x in result)), self.program)

    @holding_interrupts()
    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        for table, array in zip(self._tables, arrays, strict=True):
            if _rows(table) != len(array):
                table.assign(tf.zeros([len(array), self.program.row_size]))
            for piece in _pieces(table):
                self._write(table, piece, array[piece])

    @holding_interrupts()
    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(
            np.isfinite(rows).all()
            for table in self._tables
            for rows in (self._read(table, piece) for piece in _pieces(table))
        )

    @holding_interrupts()
    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        for table, array in zip(self._tables, arrays, strict=True):
            for piece in _pieces(table):
                array[piece] = self._read(table, piece)

    def _read(self, table: tf.Variable, piece: slice) -> np.ndarray:
        if not self.program.native:
            rows: np.ndarray = tf.gather(table, range(piece.start, piece.stop)).numpy()
            return rows
        number, size = piece.stop - piece.start, self.program.vector_size
        with tf.device("CPU"):
            whole = WholeRows(table.handle).whole()
            rows = load_ops().tfw2v_read(whole, piece.start, number, size).numpy()
        return rows

    def _write(self, table: tf.Variable, piece: slice, rows: np.ndarray) -> None:
        if not self.program.native:
            ids = range(piece.start, piece.stop)
            table.scatter_update(tf.IndexedSlices(rows, tf.constant(ids)))
            return
        with tf.device("CPU"):
            load_ops().tfw2v_write(WholeRows(table.handle).whole(), piece.start, rows)

    def step_graph(self) -> bytes | None:
        """The graph of a step."""
        return step_graph(self._train_unit)

    def close(self) -> None:
        """Free the tables."""
        del self._tables


def _rows(table: tf.Variable) -> int:
    """V, without reading the table."""
    return int(tf.raw_ops.VariableShape(input=table.handle)[0])


def _pieces(table: tf.Variable) -> Iterator[slice]:
    """A table's rows, piece by piece: to read or assign all would hold another copy."""
    rows = _rows(table)
    for first in range(0, rows, ROWS_AT_A_TIME):
        yield slice(first, min(rows, first + ROWS_AT_A_TIME))


def make_in_process(
    options: RegimeOptions | None, setup: Setup
) -> ParameterServerRegime | LocalRegime:
    """Make a regime whose workers are threads of this process.

    Parameters
    ----------
    options : RegimeOptions, optional
        By default threads that share the rows.
    setup : Setup

    Raises
    ------
    ValueError
        If the regime cannot train the objective.
    """
    program = setup.program
    if options is None:
        return LocalRegime(program.unit, setup.words, program.workers)
    use_one_thread_per_op()
    # nothing travels, so nothing is rounded for it
    in_process = setup._replace(program=replace(program, wire_dtype="float32"))
    return options.make(in_process, LocalWorkers(program.workers))
