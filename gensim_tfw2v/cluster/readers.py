"""Reading a corpus on the machines of a cluster's workers.

Each machine reads by an op of the kernels' library. The op runs in a session that connects only to
the machine's own task, so the loss of a different task does not affect it. The texts, and the files
of ids and words that the machines write, are on storage that all machines share.
"""

import logging
import os
import platform
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.connect import prepare_connections, wait_for_tasks
from gensim_tfw2v.cluster.sessions import device_of, session
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, Task
from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.encode import fresh_folder
from gensim_tfw2v.corpus.run_readers import Stopped
from gensim_tfw2v.corpus.scanner import KNOWN_PREFIX, FileRange, KnownWords, bytes_of
from gensim_tfw2v.corpus.shard_files import Parent
from gensim_tfw2v.corpus.shards import EncodedPart, Shard, check_shards
from gensim_tfw2v.corpus.text_corpus import whole_file
from gensim_tfw2v.processes.process_guards import tensorflow_is_lost
from gensim_tfw2v.processes.threads import usable_cores

logger = logging.getLogger(__name__)

#: Minimum size in bytes of a corpus that several machines read. This machine alone reads a smaller
#: corpus in less time than the workers need to start.
MIN_BYTES = 1 << 28

#: Maximum number of runs (lists of file ranges) that a machine reads in parallel. It must not be
#: larger than the number of threads of a task's server, which is at least 4.
MAX_RUNS = 4

#: Fixed part of the time limit for checking that a machine can access all files, in seconds.
LOOK_SECONDS = 30.0

#: Seconds per file that are added to `LOOK_SECONDS`.
FILE_SECONDS = 0.01

#: Fixed part of the time limit for reading a run, in seconds. The run's bytes / `MIN_SPEED` are
#: added.
RUN_SECONDS = 120.0

#: Assumed minimum speed of the shared storage, in bytes per second, for all machines together.
MIN_SPEED = 1e6

#: Seconds between two probes whether a task that reads still answers.
PROBE_SECONDS = 5.0

#: Seconds that a task has to answer a probe.
ANSWER_SECONDS = 10.0

#: Error number of the op for a text that is not UTF-8. The run is then read here.
NOT_UTF8 = -1


class RemoteReader:
    """Reads runs on a worker's machine, one at a time, with ops of the kernels' library.

    Attributes
    ----------
    name : str
        Name of the machine in messages.
    n_readers : int
        Number of runs that all machines read in parallel.
    """

    def __init__(self, task: Task, ops: Any) -> None:
        self.name = str(task)
        self.n_readers = 1
        self._task = task
        with tf.Graph().as_default() as self._graph, tf.device(device_of(task)):
            self._names = tf.compat.v1.placeholder(tf.uint8, [None])
            self._integers = tf.compat.v1.placeholder(tf.int64, [None])
            self._look_op = ops.tfw2v_look(self._names)
            self._read_run_op = ops.tfw2v_read_run(self._names, self._integers)

    def look(self, sizes: dict[str, int]) -> tuple[str, int]:
        """Check that the machine can access files; return its id and its number of cores.

        `sizes` maps paths to sizes in bytes. The first path is a folder for output, with size 0.
        FileNotFoundError is raised if the machine cannot write to the folder, or if a file is
        missing or has a different size there.
        """
        remote_sizes, machine_id, n_cores = self._run(
            self._look_op,
            {self._names: _encode_names(list(sizes))},
            LOOK_SECONDS + FILE_SECONDS * len(sizes),
            threading.Event(),
        )
        for (path, size), remote_size in zip(sizes.items(), remote_sizes, strict=True):
            if remote_size < 0:  # minus the number of a system error
                raise FileNotFoundError(f"{path} ({os.strerror(-int(remote_size))})")
            if remote_size != size:
                raise FileNotFoundError(
                    f"{path} (it has {remote_size:,} bytes there, {size:,} here)"
                )
        return machine_id.tobytes().decode(), int(n_cores[0])

    def read(
        self,
        run: Sequence[FileRange],
        prefix: Path,
        vocabulary: KnownWords | None,
        tagged: bool,
        stopped: threading.Event,
    ) -> EncodedPart | None:
        """Read a run on the machine, like `scan`, to files whose paths start with `prefix`.

        Returns None if the run must be read here. Raises an exception if the machine fails, or
        `Stopped` if the event `stopped` is set meanwhile.
        """
        if any(text.is_stream or text.ends_in_line() for text in run):
            return None
        vocabulary_prefix = "" if vocabulary is None else str(prefix.with_name(KNOWN_PREFIX))
        names = [str(prefix), vocabulary_prefix, *(os.path.abspath(text.path) for text in run)]
        edges = [edge for text in run for edge in (text.start, text.stop)]
        report = self._run(
            self._read_run_op,
            {
                self._names: _encode_names(names),
                self._integers: [
                    shard_files.MAX_SENTENCE,
                    shard_files.SHARD_ENTRIES,
                    tagged,
                    *edges,
                ],
            },
            RUN_SECONDS + self.n_readers * bytes_of(run) / MIN_SPEED,
            stopped,
        )
        error, n_raw_words, n_sentences, *shard_fields = report.tolist()
        if error == NOT_UTF8:
            return None
        if error:
            raise OSError(error, os.strerror(error))
        shards = [
            Shard(f"{prefix}{index:05}.int32", *shard_fields[4 * index : 4 * index + 4])
            for index in range(len(shard_fields) // 4)
        ]
        check_shards(shards)
        words = Path(f"{prefix}words").read_bytes()
        counts = np.fromfile(f"{prefix}counts", np.int64)
        return EncodedPart(shards, n_raw_words, n_sentences, words, counts)

    def _run(self, op: Any, feed: dict[Any, Any], seconds: float, stopped: threading.Event) -> Any:
        """Run an op on the machine; raise an error if its task is lost or `stopped` is set."""
        result: Future[Any] = Future()

        def run_op() -> Any:
            with session([self._task], self._graph) as run:
                return run(op, feed, seconds)

        def set_result() -> None:
            try:
                try:
                    value = run_op()
                except tf.errors.AbortedError:
                    # The task has restarted, as after its last training run. Run the op again.
                    value = run_op()
                result.set_result(value)
            except Exception as error:
                result.set_exception(error)

        # The op runs in a thread: TensorFlow retries a call to a lost task until the time limit.
        threading.Thread(target=set_result, name="tfw2v-reader", daemon=True).start()
        deadline = time.monotonic() + seconds
        probe_time = time.monotonic() + PROBE_SECONDS
        while not wait([result], 0.2).done:
            if stopped.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                raise ConnectionError(f"no answer in {seconds:.0f} s")
            if time.monotonic() > probe_time:
                wait_for_tasks([self._task], ANSWER_SECONDS)
                probe_time = time.monotonic() + PROBE_SECONDS
        return result.result()


def _encode_names(names: Sequence[str]) -> Any:
    """Return the bytes of file names, each followed by a zero byte."""
    return np.frombuffer(b"".join(os.fsencode(name) + b"\0" for name in names), np.uint8)


def find_readers(
    cluster: Cluster, paths: Sequence[str], parent: Parent, seconds: float = READY_SECONDS
) -> Sequence[RemoteReader]:
    """Find the workers' machines that can access a corpus, and the files that this process writes.

    Parameters
    ----------
    cluster : Cluster
    paths : sequence of str
        Files of the corpus.
    parent : path, optional
        Folder in which a folder for the machines' output will be created.
    seconds : float
        Time limit for workers to start.

    Returns
    -------
    sequence of RemoteReader
        Readers on machines other than this one. A reader occurs once for each run that its machine
        can read in parallel. Empty if the corpus is small, or only this machine can read it.

    Raises
    ------
    MissingTasks
        If workers do not start in time; the message names them.
    """
    texts = list(map(whole_file, paths))
    if bytes_of(texts) < MIN_BYTES or tensorflow_is_lost():
        return ()
    tasks = [task for task in cluster.servers() if task.role == "worker"]
    wait_for_tasks(tasks, seconds)
    prepare_connections(tasks)
    from gensim_tfw2v.ops.library import load_ops

    if (ops := load_ops()) is None:
        return ()
    readers = [RemoteReader(task, ops) for task in tasks]
    with fresh_folder(parent) as temporary, temporary as folder:
        return _select_readers(readers, texts, folder)


def _select_readers(
    candidates: Sequence[RemoteReader], texts: Sequence[FileRange], folder: Path
) -> list[RemoteReader]:
    """Query the machines of all workers in parallel; return readers as `find_readers` does."""
    # A machine that sees this folder, whose name is random, shares our storage.
    sizes = {str(folder): 0}
    for text in texts:
        if "://" not in text.path:
            sizes[os.path.abspath(text.path)] = text.stop

    def look(reader: RemoteReader) -> tuple[str, int] | Exception:
        try:
            return reader.look(sizes)
        except Exception as error:
            return error

    with ThreadPoolExecutor(max(1, len(candidates))) as pool:
        answers = list(pool.map(look, candidates))
    machine_ids = {this_machine()}
    readers = list[RemoteReader]()
    for reader, answer in zip(candidates, answers, strict=True):
        if isinstance(answer, Exception):
            logger.info("%s does not read the corpus: %s", reader.name, answer)
            continue
        machine_id, n_cores = answer
        if machine_id not in machine_ids:
            machine_ids.add(machine_id)
            readers += [reader] * min(n_cores, MAX_RUNS)
    if readers:
        names = ", ".join(["this machine", *dict.fromkeys(reader.name for reader in readers)])
        logger.info("reading the corpus on %d machines: %s", len(machine_ids), names)
    for reader in readers:
        reader.n_readers = len(usable_cores()) + len(readers)
    return readers


def this_machine() -> str:
    """Return an id of this machine or container, in the form in which the op returns it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = ""
    return f"{platform.node()} {boot}"
