"""One machine: threads run the compiled kernels on shared tables (Niu et al. 2011, "Hogwild!").

TensorFlow is not imported: the kernels are called through ctypes. On a cluster, TensorFlow ops call
them.
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
    """Trains on this machine; call `load` first.

    With one worker, units are trained in order and results are bit-identical between runs. With
    more, the order of updates depends on thread scheduling.

    Parameters
    ----------
    config : KernelConfig
        Configuration of the compiled kernels: `native` is True.
    words : WordArrays
        Arrays of the vocabulary.
    workers : int
        Number of threads.
    """

    def __init__(self, config: KernelConfig, words: WordArrays, workers: int) -> None:
        self.config = config
        self.workers = workers
        self._words = words

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in order, each in the next free thread; see `Regime`.

        After an error in a thread, or an exception in this one (Ctrl-C), the remaining threads stop
        when they have finished their current units.
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
        if any(task.alphas) and not np.isfinite(result.magnitude):  # alpha 0: no updates
            place = f"training of unit {task.unit.index} in epoch {task.epoch}"
            raise Divergence.at(place, self.config, task.alphas[0])
        return UnitReport(
            task.unit, int(unit.counts[1]), result.loss, result.predictions, task.alphas[1]
        )

    def load(self, arrays: Tables) -> None:
        """Train on copies of these arrays, or in place; see `by_ctypes.Tables`."""
        self.close()  # frees earlier copies
        tables = [np.asarray(array, np.float32) for array in arrays]
        self._options = by_ctypes.Options.of(self.config)
        self._tables = by_ctypes.Tables(tables, self._words)

    def finite(self) -> bool:
        """See `Regime.finite`."""
        return all(map(all_finite, self._tables.rows))

    def export(self, arrays: Tables) -> None:
        """See `Regime.export`."""
        for rows, array in zip(self._tables.rows, arrays, strict=True):
            array[:] = rows

    def close(self) -> None:
        """See `Regime.close`."""
        self.__dict__.pop("_tables", None)
