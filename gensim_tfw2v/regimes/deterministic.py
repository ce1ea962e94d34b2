"""Deterministic training on one machine: results do not depend on the number of threads."""

from collections.abc import Sequence
from contextlib import closing

from gensim_tfw2v.compiled_library import Options
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.tables import Reporter, UnitTask
from gensim_tfw2v.kernel.word_arrays import WordArrays
from gensim_tfw2v.processes.threads import in_threads, usable_cores
from gensim_tfw2v.regimes import Stop, never
from gensim_tfw2v.regimes.local import LocalRegime


class DeterministicRegime(LocalRegime):
    """Trains units in order, each with all threads; see `LocalRegime`.

    A unit is trained in rounds. All blocks of a round start from the same rows, and their updates
    are added in a fixed order. With one block per round, a single thread trains. While a unit is
    trained, ``workers`` other threads draw the next units.

    Parameters
    ----------
    options, words, workers, loss_every
        See `LocalRegime`.
    round_blocks : int
        Number of blocks of a unit that start from the same rows; see `choose_round_blocks`.
    """

    def __init__(
        self,
        options: Options,
        words: WordArrays,
        workers: int,
        loss_every: int = 0,
        round_blocks: int = 1,
    ) -> None:
        super().__init__(options, words, workers, loss_every)
        self.training_threads = 1  # other threads only draw units, or train parts of the same unit
        self._round_blocks = round_blocks

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in order; see `Regime`."""
        # more threads than cores would only wait for each other
        n_threads = min(self.workers, self._round_blocks, len(usable_cores()))
        max_units = 2 * self.workers
        units = in_threads(self._draw, tasks, threads=self.workers, ahead=max_units, stop=stop)
        with (
            self._record_units(tasks, report) as records,
            closing(by_ctypes.ThreadPool(n_threads, self._round_blocks)) as pool,
            closing(units),
        ):
            for index, unit in enumerate(units):
                if stop():
                    break
                records.train(index, unit, pool if self._round_blocks > 1 else None)
                records.report([index])
