"""Texts read by all cores, a run of pieces a thread, and by other machines."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol, TypeVar
from uuid import uuid4

from gensim_tfw2v.corpus.scanner import Known, scan
from gensim_tfw2v.corpus.shards import Part, Progress
from gensim_tfw2v.corpus.texts import Piece
from gensim_tfw2v.processes.machine import usable_cores

logger = logging.getLogger(__name__)

#: Seconds between two reports.
PAUSE = 0.2

T = TypeVar("T")


class Stopped(Exception):
    """Nobody waits for what a thread reads."""


class Helper(Protocol):
    """Another machine, that reads a run at a time; its name is for messages."""

    name: str

    def read(
        self, run: Sequence[Piece], prefix: Path, known: Known | None, stopped: threading.Event
    ) -> Part | None:
        """Do what `scan` does, or nothing if the run has to be read here; raise if it is lost."""
        ...


#: Gives those who help to read files and write to a folder.
Reading = Callable[[Sequence[str], Path], contextlib.AbstractContextManager[Sequence[Helper]]]


def reading_here(
    paths: Sequence[str], folder: Path
) -> contextlib.AbstractContextManager[Sequence[Helper]]:
    """Let this machine read alone."""
    return contextlib.nullcontext(())


def in_threads(
    work: Callable[[int, threading.Event], T],
    number: int,
    report: Callable[[], object] = lambda: None,
    threads: int | None = None,
) -> Iterator[T]:
    """Do numbered pieces of work by threads, one for each core by default; results are in order.

    `work` is given a piece's number, and what is set when nobody waits for it any more. `report` is
    called in this thread meanwhile, and at the end.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(max(1, min(threads or len(usable_cores()), number))) as pool:
        try:
            waiting = deque(pool.submit(work, place, stopped) for place in range(number))
            while waiting:
                try:
                    done = waiting[0].result(PAUSE)
                except TimeoutError:
                    report()
                    continue
                waiting.popleft()
                yield done
            report()
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def read_runs(
    runs: Sequence[Sequence[Piece]],
    folder: Path,
    known: Known | None,
    progress: Progress | None = None,
    helpers: Sequence[Helper] = (),
) -> Iterator[Part]:
    """Read runs of texts, in their order.

    Parameters
    ----------
    runs : list of list of Piece
    folder : Path
        Where shards are written.
    known : Known, optional
        The vocabulary, if it is known; else words are counted and numbered.
    progress : callable, optional
        Called in this thread.
    helpers : sequence of Helper
        Who reads beside the cores of this machine, as often as they have cores. What one that is
        lost was reading is read by others.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        The first that is met, in the order of the runs.
    """
    if len(runs) <= 1:  # a pipe may keep its reader waiting, which Ctrl-C has to end
        yield from (scan(run, folder / "part00000-", known, progress) for run in runs)
        return
    latest: dict[int, tuple[int, ...]] = {0: (0, 0, 0, 0)}
    lost: dict[str, Exception] = {}
    free = SimpleQueue[Helper | None]()  # None is a core of this machine
    readers = [None] * len(usable_cores()) + list(helpers)
    for reader in readers:
        free.put(reader)

    def read(number: int, stopped: threading.Event) -> Part:
        run, prefix = runs[number], folder / f"part{number:05}-"

        def tell(*state: int) -> None:
            latest[number] = state
            if stopped.is_set():
                raise Stopped

        while helper := free.get():
            if helper.name in lost:
                continue
            try:
                part = helper.read(
                    run, prefix.with_name(f"{prefix.name}{uuid4().hex[:8]}-"), known, stopped
                )
            except Stopped:
                raise
            except Exception as error:
                if lost.setdefault(helper.name, error) is error:
                    logger.warning("%s does not read the corpus any more: %s", helper.name, error)
                continue
            free.put(helper)
            if part is None:
                return scan(run, prefix, known, tell)
            tell(part.raw_words, part.sentences, len(part.counts), sum(p.bytes for p in run))
            return part
        try:
            return scan(run, prefix, known, tell)
        finally:
            free.put(None)

    def report() -> None:
        words, sentences, word_types, read = zip(*list(latest.values()), strict=True)
        if progress:
            progress(sum(words), sum(sentences), max(word_types), sum(read))

    yield from in_threads(read, len(runs), report, len(readers))
