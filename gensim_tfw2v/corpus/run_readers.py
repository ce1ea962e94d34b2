"""Parallel reading of a text, by the cores of this machine and by remote machines.

The text is cut into runs. A run is a sequence of file ranges, which one reader scans.
"""

import logging
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Protocol
from uuid import uuid4

from gensim_tfw2v.corpus.scanner import FileRange, KnownWords, bytes_of, scan
from gensim_tfw2v.corpus.shard_files import Progress
from gensim_tfw2v.corpus.shards import EncodedPart
from gensim_tfw2v.processes.threads import in_threads, usable_cores

logger = logging.getLogger(__name__)

Run = Sequence[FileRange]

#: Maximum number of parts per reader that are being read, or wait for the parts before them.
PARTS_PER_READER = 4


class Stopped(Exception):
    """Raised in a reader thread whose result is no longer needed."""


class RunReader(Protocol):
    """Reader of one run at a time. All readers of one machine have the same name."""

    name: str

    def read(
        self,
        run: Run,
        prefix: Path,
        vocabulary: KnownWords | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart | None:
        """Write the ids of a run to shards, whose paths start with `prefix`; see `scan`.

        Returns None if the run must be read on this machine. Raises `Stopped` if the event
        `stopped` is set while the run is read.
        """


class RunProgress(NamedTuple):
    """Counts of the parts of a run that were read so far: the arguments of a `Progress`."""

    n_words: int
    n_sentences: int
    n_word_types: int
    n_bytes: int


class LocalReader:
    """Reader that runs the compiled scanner on a core of this machine.

    It stores the progress of each run in `run_progress`, by the prefix of the run's files.
    """

    name = "this machine"

    def __init__(self, run_progress: dict[Path, RunProgress]) -> None:
        self._run_progress = run_progress

    def read(
        self,
        run: Run,
        prefix: Path,
        vocabulary: KnownWords | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart:
        """Write the ids of a run to shards; see `RunReader.read`."""

        def report(*state: int) -> None:
            self._run_progress[prefix] = RunProgress(*state)
            if stopped.is_set():
                raise Stopped

        return scan(run, prefix, vocabulary, tagged, report)


class ReaderPool:
    """Readers that wait for runs. After a reader fails, its machine is not used again.

    Attributes
    ----------
    run_progress : dict
        Progress of each run, by the prefix of the run's files.
    n_readers : int
        Number of runs that are read in parallel.
    """

    def __init__(self, remote_readers: Sequence[RunReader]) -> None:
        self.run_progress: dict[Path, RunProgress] = {}
        self._local_reader = LocalReader(self.run_progress)
        readers: list[RunReader] = [self._local_reader] * len(usable_cores())
        readers += remote_readers
        self.n_readers = len(readers)
        self._lock = threading.Lock()
        self._lost_names = set[str]()
        self._free_readers = SimpleQueue[RunReader]()
        for reader in readers:
            self._free_readers.put(reader)

    def read(
        self,
        run: Run,
        prefix: Path,
        vocabulary: KnownWords | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart:
        """Read a run by the first reader that is free. If that fails, retry with the next one."""
        while True:
            reader = self._free_readers.get()
            if reader.name in self._lost_names:
                continue
            # each attempt has its own files, because a lost reader may still be writing
            attempt_prefix = prefix.with_name(f"{prefix.name}{uuid4().hex[:8]}-")
            try:
                part = reader.read(run, attempt_prefix, vocabulary, tagged, stopped)
            except Exception as error:
                if reader is self._local_reader or isinstance(error, Stopped):
                    raise
                self._exclude_machine(reader, error)
                continue
            finally:
                self._free_readers.put(reader)
            if part is None:
                part = self._local_reader.read(run, attempt_prefix, vocabulary, tagged, stopped)
            self.run_progress[attempt_prefix] = RunProgress(
                part.n_raw_words, part.n_sentences, len(part.counts), bytes_of(run)
            )
            return part

    def _exclude_machine(self, reader: RunReader, error: Exception) -> None:
        """Stop using all readers of a reader's machine; log the error."""
        with self._lock:
            if reader.name not in self._lost_names:
                logger.warning("%s stopped reading the corpus: %s", reader.name, error)
            self._lost_names.add(reader.name)

    def total_progress(self) -> RunProgress:
        """Return the progress of all runs: sums of counts, but of word types the maximum.

        Most word types occur in several runs, so their sum would be far too large.
        """
        runs = list(self.run_progress.values())
        return RunProgress(
            sum(run.n_words for run in runs),
            sum(run.n_sentences for run in runs),
            max((run.n_word_types for run in runs), default=0),
            sum(run.n_bytes for run in runs),
        )


def read_runs(
    runs: Sequence[Run],
    folder: Path,
    vocabulary: KnownWords | None = None,
    tagged: bool = False,
    remote_readers: Sequence[RunReader] = (),
    progress: Progress | None = None,
) -> Generator[EncodedPart, None, None]:
    """Read the runs of a text in threads; yield a part for each run, in the order of the runs.

    A part consists of the shards of a run, and of its counts; see `EncodedPart`. Without a
    `vocabulary`, each part has its own ids of words, from 0 on. `TextCorpus.count` maps these to
    ids that are the same in all parts. Reading starts when the first part is requested.

    Parameters
    ----------
    runs : sequence of runs
    folder : Path
        Folder for the shards. A vocabulary is saved there, too, if there are remote readers, which
        load it from there.
    vocabulary : KnownWords, optional
        Existing vocabulary, whose ids the shards contain; by default words are counted and
        numbered.
    tagged : bool
        Whether each line is a document, whose tag is the number of the line in its run.
    remote_readers : sequence of RunReader
        Readers besides the cores of this machine.
    progress : callable, optional
        Function that is called with the progress of all runs, in the calling thread.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        If this machine fails to read a run: the first such error in the order of the runs. Errors
        of remote readers are only logged, and their runs are read by the remaining readers.
    """
    if vocabulary is not None and remote_readers:
        vocabulary.save(folder)
    pool = ReaderPool(remote_readers)

    def read(task: tuple[int, Run], stopped: threading.Event) -> EncodedPart:
        index, run = task
        return pool.read(run, folder / f"part{index:05}-", vocabulary, tagged, stopped)

    def report() -> None:
        if progress:
            progress(*pool.total_progress())

    # parts that are read, but not merged yet, hold their words in memory
    max_parts = PARTS_PER_READER * pool.n_readers
    return in_threads(read, enumerate(runs), report, pool.n_readers, max_parts)
