"""One machine, whose threads train units together: the same bits from any number of them."""

import contextlib
from collections.abc import Sequence

from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.tables import Reporter, UnitTask
from gensim_tfw2v.processes.machine import usable_cores
from gensim_tfw2v.processes.threads import in_threads
from gensim_tfw2v.regimes import Stop, never
from gensim_tfw2v.regimes.local import LocalRegime


class DeterministicRegime(LocalRegime):
    """Trains units in their order, each by all threads; see `LocalRegime`.

    Blocks of a round start from the same rows, and their changes are added in a fixed order. What
    is not trained in blocks is trained by one thread, while others draw the units that follow.
    """

    def train_epoch(self, tasks: Sequence[UnitTask], report: Reporter, stop: Stop = never) -> None:
        """Train each unit once, in their order; see `Regime`."""
        # more threads than cores would only wait for each other
        threads = min(self.workers, self.program.round_blocks, len(usable_cores()))
        drawn = in_threads(
            lambda place, _: self._draw(tasks[place]),
            len(tasks),
            threads=self.workers,
            ahead=2 * self.workers,
        )
        blocks = self.program.round_blocks
        with (
            contextlib.closing(by_ctypes.ThreadPool(threads, blocks)) as pool,
            contextlib.closing(drawn),
        ):
            self._pool = pool if blocks > 1 else None
            for task, unit in zip(tasks, drawn, strict=False):
                if stop():
                    break
                report(self._trained(task, unit))
