"""One machine: threads run the compiled kernels on shared tables (Niu et al. 2011, "Hogwild!").

TensorFlow is not imported: the kernels, which it runs as ops on a cluster, are called directly.
"""

import threading
from collections import deque
from collections.abc import Sequence

import numpy as np

from gensim_tfw2v.files.whole import all_finite
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Divergence, Reporter, Tables, UnitReport, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.processes.threads import run_threads, taken
from gensim_tfw2v.regimes import Stop, never


class LocalRegime:
    """Trains on this machine, once rows have been loaded.

    With one worker, units are trained in order and two runs give the same bits. With more, the
    order of updates is the operating system's.

    Parameters
    ----------
    program : Program
        Whose kernels are native.
    words : WordArrays
        Of the vocabulary.
    workers : int
        Threads.
    """

    _pool: by_ctypes.ThreadPool | None = None  # that trains each unit together

    def __init__(self, program: Program, words: WordArrays, workers: int) -> None:
        self.program = program
        self.workers = workers
        self._words = words

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in their order, each in the next thread that is free.

        An error in a thread, or an exception in this one (Ctrl-C), ends the others after the unit
        that they are training. See `Regime`.
        """
        todo = deque(tasks)

        def work(ended: threading.Event) -> None:
            for task in taken(todo, lambda: ended.is_set() or stop()):
                report(self._trained(task, self._draw(task)))

        run_threads(work, min(self.workers, max(1, len(tasks))), "tfw2v-worker")

    def _draw(self, task: UnitTask) -> by_ctypes.Unit:
        return by_ctypes.draw(self._options, task.unit.read(), task.key, self._words)

    def _trained(self, task: UnitTask, unit: by_ctypes.Unit) -> UnitReport:
        alphas = np.asarray(task.alphas, np.float32)
        loss_every = self.program.loss_every
        result = self._tables.train(
            self._options, unit, alphas, loss_every=loss_every, pool=self._pool
        )
        if any(task.alphas) and not np.isfinite(result.magnitude):  # else only a loss is asked for
            place = f"training of unit {task.unit.index} in epoch {task.epoch}"
            raise Divergence.at(place, self.program, task.alphas[0])
        return UnitReport(
            task.unit, int(unit.counts[1]), result.loss, result.predictions, task.alphas[1]
        )

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        tables = [np.ascontiguousarray(array, np.float32) for array in arrays]
        self._options = by_ctypes.Options.of(self.program)
        self._tables = by_ctypes.Tables(tables, self._words)

    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(map(all_finite, self._tables.rows))

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        for rows, array in zip(self._tables.rows, arrays, strict=True):
            array[:] = rows

    def close(self) -> None:
        """Free the tables."""
        self.__dict__.pop("_tables", None)
