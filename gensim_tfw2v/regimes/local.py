"""One machine: threads run the compiled kernels on shared tables (Niu et al. 2011, "Hogwild!").

The kernels are called through ctypes, so TensorFlow is not imported. On a cluster, TensorFlow's ops
call the kernels.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

import numpy as np

from gensim_tfw2v.compiled_library import Options, Result, Unit
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.native.padded_rows import RowMemory, all_finite
from gensim_tfw2v.kernel.tables import Divergence, Reporter, Tables, UnitReport, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.processes.threads import defer_interrupts, in_threads, usable_cores
from gensim_tfw2v.regimes import NOT_FINITE, Stop, never


class LocalRegime:
    """Trains on this machine; call `load` first.

    With one worker, units are trained in order and results are bit-identical between runs. With
    more, the order of updates depends on thread scheduling.

    Parameters
    ----------
    options : Options
        Options of the compiled kernels.
    words : WordArrays
        Arrays of the vocabulary.
    workers : int
        Number of threads.
    loss_every : int
        Compute the loss of every `loss_every`-th block of a unit; 0 for none. Training takes a
        tenth longer if the loss of all blocks is computed.
    """

    def __init__(
        self, options: Options, words: WordArrays, workers: int, loss_every: int = 0
    ) -> None:
        self.options = options
        self.workers = workers
        #: Number of threads that train units at the same time.
        self.training_threads = min(workers, len(usable_cores()))
        self.loss_every = loss_every
        self._words = words

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in order, each in the next free thread; see `Regime`.

        After an error in a thread, or an exception in this one (Ctrl-C), the remaining threads stop
        when they have finished their current units. However this method ends, it has reported
        exactly the units whose updates are in the rows.
        """
        with self._record_units(tasks, report) as records:

            def train(index: int, end_event: threading.Event) -> int:
                """Draw and train a unit, unless training is to stop, and return its index."""
                if not (end_event.is_set() or stop()):
                    unit = self._draw(tasks[index])
                    if not (end_event.is_set() or stop()):
                        records.train(index, unit)
                return index

            indices = range(len(tasks))
            max_units = 2 * self.workers
            results = in_threads(train, indices, threads=self.workers, ahead=max_units, stop=stop)
            with closing(results):
                for index in results:
                    records.report([index])

    @contextmanager
    def _record_units(self, tasks: Sequence[UnitTask], report: Reporter) -> Iterator["UnitRecords"]:
        """Return the records of the units that are trained in this context.

        When the context ends, all threads must have stopped. Then it reports the trained units that
        have not been reported yet.
        """
        records = UnitRecords(self, tasks, report)
        try:
            yield records
        finally:
            with defer_interrupts():
                records.report(range(len(tasks)))

    def _draw(self, task: UnitTask, _: object = None) -> Unit:
        return by_ctypes.draw(self.options, task.unit.read(task.epoch), task.key, self._words)

    def load(self, arrays: Tables) -> None:
        """Train on copies of these arrays; rows of a `RowMemory` are trained in place."""
        self.close()  # free the memory of earlier copies
        tables = [
            table if isinstance(table, RowMemory) else np.asarray(table, np.float32)
            for table in arrays
        ]
        self._tables = by_ctypes.KernelTables(tables, self._words)

    def export(self, arrays: Tables) -> None:
        """See `Regime.export`."""
        if not all(map(all_finite, self._tables.rows)):
            raise Divergence(NOT_FINITE)
        for rows, array in zip(self._tables.rows, arrays, strict=True):
            array[:] = rows

    def close(self) -> None:
        """See `Regime.close`."""
        self.__dict__.pop("_tables", None)


class UnitRecords:
    """Records of the units that a regime trains in one call, written by the kernels.

    The call that trains a unit marks its record before it returns to Python. So a unit is reported
    if and only if it is in the rows, wherever an exception interrupts the Python code.

    Parameters
    ----------
    regime : LocalRegime
    tasks : sequence of UnitTask
    report : callable
        Called with the report of each unit.
    """

    def __init__(self, regime: LocalRegime, tasks: Sequence[UnitTask], report: Reporter) -> None:
        self._regime = regime
        self._tasks = tasks
        self._report = report
        self._results = by_ctypes.new_records(len(tasks))
        self._n_tokens = np.zeros(len(tasks), np.int64)
        self._is_reported = np.zeros(len(tasks), bool)

    def train(self, index: int, unit: Unit, pool: by_ctypes.ThreadPool | None = None) -> None:
        """Train the unit of the task with this index.

        Raises
        ------
        Divergence
            If the unit's updates are not finite, or far too large.
        """
        regime = self._regime
        task = self._tasks[index]
        self._n_tokens[index] = unit.counts[1]
        regime._tables.train(
            regime.options,
            unit,
            np.asarray(task.alphas, np.float32),
            loss_every=regime.loss_every,
            threads=regime.training_threads,
            pool=pool,
            record=self._results[index],
        )
        if self._has_diverged(index):
            subject = f"training of unit {task.unit.index} in epoch {task.epoch}"
            options = regime.options
            raise Divergence.at(subject, options.max_window, options.negative, task.alphas[0])

    def _has_diverged(self, index: int) -> bool:
        is_updated = any(self._tasks[index].alphas)  # with alpha 0, rows do not change
        return is_updated and not np.isfinite(Result(*self._results[index]).magnitude)

    def report(self, indices: Iterable[int]) -> None:
        """Report the units at these indices that are trained and not yet reported."""
        for index in indices:
            result = Result(*self._results[index].tolist())
            if not result.trained or self._is_reported[index] or self._has_diverged(index):
                continue
            task = self._tasks[index]
            n_tokens = int(self._n_tokens[index])
            alpha = task.alphas[1]
            self._report(UnitReport(task.unit, n_tokens, result.loss, result.predictions, alpha))
            self._is_reported[index] = True
