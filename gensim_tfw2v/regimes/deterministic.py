"""One machine, whose threads train units together: the same bits from any number of them."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

import numpy as np

from gensim_tfw2v.kernel.native import plain
from gensim_tfw2v.kernel.tables import Reporter, UnitTask
from gensim_tfw2v.processes.machine import usable_cores
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
        with (
            contextlib.closing(plain.Team(threads)) as self._team,
            ThreadPoolExecutor(self.workers, "tfw2v-draws") as pool,
        ):
            try:
                for task, unit in _drawn_ahead(pool, self._draw, tasks, 2 * self.workers):
                    if stop():
                        break
                    report(self._trained(task, unit))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _train(self, unit: plain.Unit, alphas: np.ndarray) -> plain.Result:
        program = self.program
        if program.round_blocks == 1:
            return super()._train(unit, alphas)
        sizes = (program.round_blocks, program.loss_every)
        return self._tables.train_together(self._options, unit, alphas, self._team, *sizes)


def _drawn_ahead(
    pool: ThreadPoolExecutor,
    draw: Callable[[UnitTask], plain.Unit],
    tasks: Sequence[UnitTask],
    ahead: int,
) -> Iterator[tuple[UnitTask, plain.Unit]]:
    """Tasks with their units, of which so many are drawn before they are asked for."""
    left = iter(tasks)
    drawn: deque[tuple[UnitTask, Future[plain.Unit]]] = deque()
    while True:
        for task in islice(left, ahead - len(drawn)):
            drawn.append((task, pool.submit(draw, task)))
        if not drawn:
            return
        task, unit = drawn.popleft()
        yield task, unit.result()
