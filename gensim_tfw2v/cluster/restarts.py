"""Tasks that are started again when they end."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger(__name__)

#: How often in a minute a task may end before it is left alone.
RESTARTS = 5

#: Seconds between two looks.
LOOK_SECONDS = 0.2


@contextlib.contextmanager
def restarting(
    ended: Callable[[], Iterable[tuple[Task, int]]],
    described: Callable[[Task, int], Exception],
    start: Callable[[Task], None],
) -> Iterator[None]:
    """Start tasks anew when they end, as long as this lasts, each `RESTARTS` times a minute.

    Parameters
    ----------
    ended : callable
        Gives tasks that have ended and may be started now, and their statuses.
    described : callable
        Says how a task has ended.
    start : callable
        Starts it.
    """
    over = threading.Event()

    def watch() -> None:
        started: dict[Task, list[float]] = {}
        while not over.wait(LOOK_SECONDS):
            for task, status in ended():
                now = time.monotonic()
                recent = [at for at in started.get(task, []) if now - at < 60.0]
                if len(recent) >= RESTARTS:
                    continue
                started[task] = [*recent, now]
                logger.warning("%s; it is started again", described(task, status))
                try:
                    start(task)
                except OSError as error:
                    logger.error("%s cannot be started again: %s", task, error)

    watcher = threading.Thread(target=watch, name="tfw2v-restarts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
