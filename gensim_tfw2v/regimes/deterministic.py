"""One machine, whose threads train units together: the same bits from any number of them."""

import contextlib
from collections.abc import Sequence

import numpy as np

from gensim_tfw2v.kernel.native import plain
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
        with contextlib.closing(plain.Team(threads)) as self._team, contextlib.closing(drawn):
            for task, unit in zip(tasks, drawn, strict=False):
                if stop():
                    break
                report(self._trained(task, unit))

    def _train(self, unit: plain.Unit, alphas: np.ndarray) -> plain.Result:
        program = self.program
        if program.round_blocks == 1:
            return super()._train(unit, alphas)
        sizes = (program.round_blocks, program.loss_every)
        return self._tables.train_together(self._options, unit, alphas, self._team, *sizes)
