"""Reading a corpus on the machines of a cluster's workers.

Each machine runs an op of the kernels' library, in sessions that connect to its own task only, so
that the loss of any other task does not affect it. Texts, ids and words are in files that all
machines can access.
"""

import logging
import os
import platform
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Waited
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import prepare_connections, wait_for_tasks
from gensim_tfw2v.cluster.handshake import device_of, session
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, Task
from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.encode import fresh_folder
from gensim_tfw2v.corpus.run_readers import Stopped
from gensim_tfw2v.corpus.scanner import Known
from gensim_tfw2v.corpus.shard_files import EncodedPart, Parent, Shard
from gensim_tfw2v.corpus.text_files import FileRange, bytes_of, whole_file
from gensim_tfw2v.processes.process_guards import tensorflow_is_lost
from gensim_tfw2v.processes.threads import usable_cores

logger = logging.getLogger(__name__)

#: Minimum size in bytes of a corpus that several machines read. This machine reads a smaller corpus
#: in less time than the workers' machines need to start.
MIN_BYTES = 1 << 28

#: Maximum number of runs (lists of file ranges) that a machine reads in parallel. The server of a
#: task has at least this many threads.
MAX_RUNS = 4

#: Seconds that a machine has to check the files.
LOOK_SECONDS = 30.0

#: Additional seconds for each file to check.
FILE_SECONDS = 0.01

#: Seconds that a machine has to read a run, plus the time that the storage needs; see `MIN_SPEED`.
RUN_SECONDS = 120.0

#: Assumed minimum speed, in bytes per second, of the storage that all machines share.
MIN_SPEED = 1e6

#: Seconds between two probes of a task that reads.
PROBE_SECONDS = 5.0

#: Seconds that a task has to answer a probe.
ALIVE_SECONDS = 10.0

#: Error number that the op returns for a text that is not UTF-8.
UNDECODABLE = -1


class WorkerMachine:
    """A worker's machine, which reads runs with ops of the kernels' library, one at a time.

    `name` is for messages. `at_once` is the number of runs that all machines read in parallel.
    """

    def __init__(self, task: Task, ops: Any) -> None:
        self.name = str(task)
        self.at_once = 1
        self._task = task
        with tf.Graph().as_default() as self._graph, tf.device(device_of(task)):
            self._names = tf.compat.v1.placeholder(tf.uint8, [None])
            self._numbers = tf.compat.v1.placeholder(tf.int64, [None])
            self._looks = ops.tfw2v_look(self._names)
            self._report = ops.tfw2v_read_run(self._names, self._numbers)

    def look(self, sizes: dict[str, int]) -> tuple[str, int]:
        """Return an id of the machine, and its number of cores.

        `sizes` maps the paths of files to their sizes. The first path is a folder, with size 0.
        FileNotFoundError is raised if the machine cannot write to the folder, or if a file is
        missing or has a different size there.
        """
        found, machine, cores = self._asked(
            self._looks,
            {self._names: _joined(list(sizes))},
            LOOK_SECONDS + FILE_SECONDS * len(sizes),
            threading.Event(),
        )
        for (path, size), there in zip(sizes.items(), found, strict=True):
            if there < 0:
                raise FileNotFoundError(f"{path} ({os.strerror(-int(there))})")
            if there != size:
                raise FileNotFoundError(f"{path} (it has {there:,} bytes there, {size:,} here)")
        return machine.tobytes().decode(), int(cores[0])

    def read(
        self,
        run: Sequence[FileRange],
        prefix: Path,
        known: Known | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart | None:
        """Read a run of plain files, like `scan`, with files whose paths start with `prefix`.

        Returns None if the run must be read locally. Raises an exception if the machine fails, or
        `Stopped` if `stopped` is set meanwhile.
        """
        if any(text.is_stream for text in run):
            return None
        vocabulary = "" if known is None else str(prefix.with_name("known-"))
        names = [str(prefix), vocabulary, *(os.path.abspath(text.path) for text in run)]
        ranges = [edge for text in run for edge in (text.start, text.stop)]
        report = self._asked(
            self._report,
            {
                self._names: _joined(names),
                self._numbers: [
                    shard_files.MAX_SENTENCE,
                    shard_files.SHARD_ENTRIES,
                    tagged,
                    *ranges,
                ],
            },
            RUN_SECONDS + self.at_once * bytes_of(run) / MIN_SPEED,
            stopped,
        )
        error, raw_words, sentences, *made = report.tolist()
        if error == UNDECODABLE:
            return None
        if error:
            raise OSError(error, os.strerror(error))
        written = [
            Shard(f"{prefix}{number:05}.int32", *made[4 * number : 4 * number + 4])
            for number in range(len(made) // 4)
        ]
        shard_files.check_shards(written)
        words, counts = (Path(f"{prefix}{what}") for what in ("words", "counts"))
        return EncodedPart(
            written, raw_words, sentences, words.read_bytes(), np.fromfile(counts, np.int64)
        )

    def _asked(self, what: Any, given: dict[Any, Any], seconds: float, stopped: Any) -> Any:
        """Run an op on the machine; raise an error if its task is lost or `stopped` is set."""
        answer: Future[Any] = Future()

        def run() -> Any:
            with session([self._task], self._graph) as run_there:
                return run_there(what, given, seconds)

        def ask() -> None:
            try:
                try:
                    found = run()
                except tf.errors.AbortedError:
                    # the task restarted, as it does after its last training: run the op again
                    found = run()
                answer.set_result(found)
            except Exception as error:
                answer.set_exception(error)

        # in a thread, since TensorFlow retries a call to a lost task until its time limit
        threading.Thread(target=ask, name="tfw2v-asking", daemon=True).start()
        deadline = time.monotonic() + seconds
        probe = time.monotonic() + PROBE_SECONDS
        while True:
            try:
                return answer.result(0.2)
            except Waited:
                if stopped.is_set():
                    raise Stopped from None
                if time.monotonic() > deadline:
                    raise ConnectionError(f"no answer in {seconds:.0f} s") from None
                if time.monotonic() > probe:
                    wait_for_tasks([self._task], ALIVE_SECONDS)
                    probe = time.monotonic() + PROBE_SECONDS


def _joined(names: Sequence[str]) -> Any:
    return np.frombuffer(b"".join(os.fsencode(name) + b"\0" for name in names), np.uint8)


def find_readers(
    cluster: Cluster, paths: Sequence[str], parent: Parent, seconds: float = READY_SECONDS
) -> Sequence[WorkerMachine]:
    """Find worker machines that can access a corpus, and the files that this process writes.

    Parameters
    ----------
    cluster : Cluster
    paths : sequence of str
        Files of the corpus.
    parent : path, optional
        Folder in which the folder for the machines' output will be created.
    seconds : float
        Time limit for workers to start.

    Returns
    -------
    sequence of WorkerMachine
        Machines other than this one, each repeated for the number of runs that it can read in
        parallel. Empty if the corpus is small, or no other machine can read it.

    Raises
    ------
    MissingTasks
        If workers do not start in time; the message names them.
    """
    texts = list(map(whole_file, paths))
    if bytes_of(texts) < MIN_BYTES or tensorflow_is_lost():
        return ()
    workers = [task for task in cluster.servers() if task.role == "worker"]
    wait_for_tasks(workers, seconds)
    prepare_connections(workers)
    from gensim_tfw2v.ops.library import load_ops

    if (ops := load_ops()) is None:
        return ()
    machines = [WorkerMachine(task, ops) for task in workers]
    with fresh_folder(parent) as made, made as folder:
        return _select_machines(machines, texts, folder)


def _select_machines(
    machines: Sequence[WorkerMachine], texts: Sequence[FileRange], folder: Path
) -> list[WorkerMachine]:
    """Query all workers in parallel; return machines as `find_readers` does."""
    sizes = {str(folder): 0}  # its name is unique, so only shared storage has it
    for text in texts:
        if "://" not in text.path:
            sizes[os.path.abspath(text.path)] = text.stop

    def look(machine: WorkerMachine) -> tuple[str, int] | Exception:
        try:
            return machine.look(sizes)
        except Exception as error:
            return error

    with ThreadPoolExecutor(max(1, len(machines))) as threads:
        answers = list(threads.map(look, machines))
    known = {this_machine()}
    readers = list[WorkerMachine]()
    for machine, found in zip(machines, answers, strict=True):
        if isinstance(found, Exception):
            logger.info("%s does not read the corpus: %s", machine.name, found)
        elif found[0] not in known:
            known.add(found[0])
            readers += [machine] * min(found[1], MAX_RUNS)
    if readers:
        names = ", ".join(["this machine", *dict.fromkeys(reader.name for reader in readers)])
        logger.info("reading the corpus on %d machines: %s", len(known), names)
    for reader in readers:
        reader.at_once = len(usable_cores()) + len(readers)
    return readers


def this_machine() -> str:
    """Return an id of this machine or container, in the same form as the op."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = ""
    return f"{platform.node()} {boot}"
