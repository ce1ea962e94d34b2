"""One process without TensorFlow: threads call the compiled kernels on arrays of their own.

What TensorFlow takes to be imported and to build a graph is longer than a short training. The
kernels, their draws and the rows are the same: with one worker, so are the bits.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gensim_tfw2v.kernel.choices import KernelConfig
from gensim_tfw2v.kernel.native import plain
from gensim_tfw2v.kernel.native_unit import options_of
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.regimes.local import reported, train_in_threads
from gensim_tfw2v.regimes.regime import never


class PlainRegime:
    """Trains on this machine, once rows have been loaded; see `LocalRegime`.

    Parameters
    ----------
    program : KernelConfig
        Whose kernels are native.
    words : WordArrays
        Of the vocabulary.
    workers : int
        Threads.
    """

    def __init__(self, program: KernelConfig, words: WordArrays, workers: int) -> None:
        self.program, self.workers, self._words = program, workers, words
        self._options = options_of(program)

    def train_epoch(
        self,
        tasks: Sequence[UnitTask],
        report: Callable[[UnitReport], None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """Train each unit once; see `Regime`."""
        train_in_threads(self._train, tasks, self.workers, report, stop)

    def _train(self, task: UnitTask) -> UnitReport:
        keep, noise = self._words.keep, self._words.noise
        unit = plain.draw(self._options, task.unit.read(), task.key, keep, noise)
        kept = len(unit.inputs)
        loss_end = {"none": 0, "first": self.program.shape.tokens, "all": kept}
        alphas = np.asarray(task.alphas, np.float32)
        result = self._tables.train(
            self._options, unit, alphas, loss_end=min(kept, loss_end[self.program.loss_of])
        )
        return reported(task, UnitResult(kept, *result), self.program)

    def load(self, arrays: Tables) -> None:
        """Go on from these rows (copied)."""
        words = self._words
        inputs, outputs, nodes = (np.asarray(array, np.float32) for array in arrays)
        lock = words.lock if self.program.locked else None
        weights = words.weights if len(words.weights) else None
        self._tables = plain.Tables(
            inputs, outputs, nodes, lock, words.tree, words.subwords, weights
        )

    def finite(self) -> bool:
        """Return whether every row is finite."""
        return all(np.isfinite(rows).all() for rows in self._rows)

    def export(self, arrays: Tables) -> None:
        """Copy the current rows into these arrays."""
        for rows, array in zip(self._rows, arrays, strict=True):
            array[:] = rows

    @property
    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._tables.inputs, self._tables.outputs, self._tables.nodes

    def step_graph(self) -> None:
        """None: there is no graph."""

    def close(self) -> None:
        """Free the tables."""
        self.__dict__.pop("_tables", None)
