"""Parallel reading of the runs of a text, by the cores of this machine and by remote machines."""

import logging
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Protocol
from uuid import uuid4

from gensim_tfw2v.corpus.scanner import FileRange, Known, bytes_of, scan
from gensim_tfw2v.corpus.shard_files import EncodedPart, Progress
from gensim_tfw2v.processes.threads import in_threads, usable_cores

logger = logging.getLogger(__name__)

Run = Sequence[FileRange]


class Stopped(Exception):
    """Raised in a reader thread whose result is no longer needed."""


class RunReader(Protocol):
    """Reader of one run at a time. Several readers of one machine have the same name."""

    name: str

    def read(
        self,
        run: Run,
        prefix: Path,
        known: Known | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart | None:
        """Write the ids of a run to shards, whose paths start with `prefix`; see `scan`.

        Returns None if the run must be read on this machine. Raises `Stopped` if the event is set
        meanwhile.
        """


class RunProgress(NamedTuple):
    """Progress of reading a run: the arguments of a `Progress` callback."""

    n_words: int
    n_sentences: int
    n_word_types: int
    n_bytes: int


class LocalReader:
    """Reader that runs the compiled scanner on a core of this machine.

    `progress` maps the prefix of each run to its progress.
    """

    name = "this machine"

    def __init__(self, progress: dict[Path, RunProgress]) -> None:
        self._progress = progress

    def read(
        self,
        run: Run,
        prefix: Path,
        known: Known | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart:
        """Write the ids of a run to shards; see `RunReader.read`."""

        def report(*state: int) -> None:
            self._progress[prefix] = RunProgress(*state)
            if stopped.is_set():
                raise Stopped

        return scan(run, prefix, known, tagged, report)


class ReaderPool:
    """Readers that wait for runs. A remote reader that fails is not used again.

    Attributes
    ----------
    progress : dict
        Progress of each run, by the prefix of its files.
    n_readers : int
        Number of runs that are read in parallel.
    """

    def __init__(self, remote_readers: Sequence[RunReader]) -> None:
        self.progress: dict[Path, RunProgress] = {}
        self._local_reader = LocalReader(self.progress)
        readers: list[RunReader] = [self._local_reader] * len(usable_cores())
        readers += remote_readers
        self.n_readers = len(readers)
        self._lock = threading.Lock()
        self._lost_names = set[str]()
        self._waiting = SimpleQueue[RunReader]()
        for reader in readers:
            self._waiting.put(reader)

    def read(
        self,
        run: Run,
        prefix: Path,
        known: Known | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart:
        """Read a run by the first reader that is free, or by the next one if it fails."""
        while True:
            reader = self._waiting.get()
            if reader.name in self._lost_names:
                continue
            # a lost reader may still be writing to the files of its attempt
            files = prefix.with_name(f"{prefix.name}{uuid4().hex[:8]}-")
            try:
                part = reader.read(run, files, known, tagged, stopped)
            except Exception as error:
                if reader is self._local_reader or isinstance(error, Stopped):
                    raise
                self._lose(reader, error)
                continue
            finally:
                self._waiting.put(reader)
            if part is None:
                part = self._local_reader.read(run, files, known, tagged, stopped)
            self.progress[files] = RunProgress(
                part.n_raw_words, part.n_sentences, len(part.counts), bytes_of(run)
            )
            return part

    def _lose(self, reader: RunReader, error: Exception) -> None:
        """Stop using a reader, and all others of its machine."""
        with self._lock:
            if reader.name not in self._lost_names:
                logger.warning("%s stopped reading the corpus: %s", reader.name, error)
            self._lost_names.add(reader.name)

    def total_progress(self) -> RunProgress:
        """Return the progress of all runs; word types are those of the run with the most."""
        runs = list(self.progress.values())
        return RunProgress(
            sum(run.n_words for run in runs),
            sum(run.n_sentences for run in runs),
            max((run.n_word_types for run in runs), default=0),
            sum(run.n_bytes for run in runs),
        )


def read_runs(
    runs: Sequence[Run],
    folder: Path,
    known: Known | None = None,
    tagged: bool = False,
    remote_readers: Sequence[RunReader] = (),
    progress: Progress | None = None,
) -> Generator[EncodedPart, None, None]:
    """Read the runs of a text in threads; return their parts in order, as a generator.

    Parameters
    ----------
    runs : sequence of runs
    folder : Path
        Folder for the shards.
    known : Known, optional
        Existing vocabulary; by default words are counted and numbered.
    tagged : bool
        Whether each line is a document, whose tag is its number.
    remote_readers : sequence of RunReader
        Readers besides the cores of this machine.
    progress : callable, optional
        Function that is called in the calling thread.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        The first error in the order of the runs.
    """
    if known is not None and remote_readers:
        known.save(folder)
    pool = ReaderPool(remote_readers)

    def read(task: tuple[int, Run], stopped: threading.Event) -> EncodedPart:
        index, run = task
        return pool.read(run, folder / f"part{index:05}-", known, tagged, stopped)

    def report() -> None:
        if progress:
            progress(*pool.total_progress())

    return in_threads(read, enumerate(runs), report, pool.n_readers)
