"""One machine: threads run the compiled kernels on shared tables (Niu et al. 2011, "Hogwild!").

TensorFlow is not imported: the kernels, which it runs as ops on a cluster, are called directly.
"""

from collections.abc import Sequence
from contextlib import closing

import numpy as np

from gensim_tfw2v.kernel.kernel_config import KernelConfig
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.tables import (
    Divergence,
    Reporter,
    Tables,
    UnitReport,
    UnitTask,
    all_finite,
)
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.processes.threads import in_threads
from gensim_tfw2v.regimes import Stop, never


class LocalRegime:
    """Trains on this machine, once rows have been loaded.

    With one worker, units are trained in order and two runs give the same bits. With more, the
    order of updates is the operating system's.

    Parameters
    ----------
    config : KernelConfig
        Whose kernels are native.
    words : WordArrays
        Of the vocabulary.
    workers : int
        Threads.
    """

    def __init__(self, config: KernelConfig, words: WordArrays, workers: int) -> None:
        self.config = config
        self.workers = workers
        self._words = words

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in their order, each in the next thread that is free.

        An error in a thread, or an exception in this one (Ctrl-C), ends the others after the unit
        that they are training. See `Regime`.
        """
        ahead = 2 * self.workers
        with closing(
            in_threads(self._run, tasks, threads=self.workers, ahead=ahead, stop=stop)
        ) as reports:
            for trained in reports:
                report(trained)

    def _run(self, task: UnitTask, _: object) -> UnitReport:
        return self._train(task, self._draw(task))

    def _draw(self, task: UnitTask, _: object = None) -> by_ctypes.Unit:
        return by_ctypes.draw(self._options, task.unit.read(), task.key, self._words)

    def _train(
        self, task: UnitTask, unit: by_ctypes.Unit, pool: by_ctypes.ThreadPool | None = None
    ) -> UnitReport:
        alphas = np.asarray(task.alphas, np.float32)
        loss_every = self.config.loss_every
        result = self._tables.train(self._options, unit, alphas, loss_every=loss_every, pool=pool)
        if any(task.alphas) and not np.isfinite(result.magnitude):  # else only a loss is asked for
            place = f"training of unit {task.unit.index} in epoch {task.epoch}"
            raise Divergence.at(place, self.config, task.alphas[0])
        return UnitReport(
            task.unit, int(unit.counts[1]), result.loss, result.predictions, task.alphas[1]
        )

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        tables = [np.ascontiguousarray(array, np.float32) for array in arrays]
        self._options = by_ctypes.Options.of(self.config)
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
