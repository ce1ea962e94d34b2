"""Reading a corpus with the machines of a cluster's workers."""

import contextlib
import json
import logging
import os
import queue
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gensim_tfw2v.cluster.keepalive import keep_alive
from gensim_tfw2v.cluster.probe import READY_SECONDS, wait_for_tasks
from gensim_tfw2v.cluster.published import device_of, session, variable
from gensim_tfw2v.cluster.reading import NAME, answer
from gensim_tfw2v.cluster.spec import Cluster, Task
from gensim_tfw2v.corpus.texts import Texts

logger = logging.getLogger(__name__)

#: Bytes that one helper reads: some seconds of work, so that machines end at about the same time.
BYTES_A_RUN = 32 << 20

#: A smaller corpus this machine has read alone before others are asked.
LEAST_BYTES = 1 << 28

#: Seconds that a machine has to look at the files.
LOOK_SECONDS = 30.0

#: Seconds that it has for what it reads at a time: these, and those of its longest part at the
#: slowest speed that is taken for one (B/s). A helper reads some 20 MB/s of text.
RUN_SECONDS, LEAST_SPEED = 30.0, 1e6

#: Seconds that a task has to hear that no more is asked.
CLOSE_SECONDS = 1.0


class Machine(NamedTuple):
    """Where helpers can run.

    Attributes
    ----------
    name : str
        For messages.
    cores : int
        Helpers at a time.
    ask : callable (list, seconds) -> Any
        Sends what `reading.answer` takes, and gives what it says.
    """

    name: str
    cores: int
    ask: Callable[[list[Any], float], Any]


class MachineReaders:
    """Helper processes on several machines, each given a part as soon as it has time.

    Parameters
    ----------
    machines : sequence of Machine
    """

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines

    def runs(self, size: int) -> int:
        """Into how many runs texts of so many bytes should be cut."""
        return max(1, size // BYTES_A_RUN)

    @contextlib.contextmanager
    def messages(self, folder: Path, sizes: Sequence[int]) -> Iterator[Iterator[dict[str, Any]]]:
        """Run a helper for each part of the job in a folder; give what they say.

        The parts of a machine that is lost are made by the others.

        Raises
        ------
        ConnectionError
            If none is left.
        """
        waiting, said = deque(range(len(sizes))), queue.SimpleQueue[Any]()
        ended = threading.Event()

        def work(machine: Machine) -> None:
            while not ended.is_set():
                parts: list[int] = []
                with contextlib.suppress(IndexError):
                    while len(parts) < machine.cores:
                        parts.append(waiting.popleft())
                if not parts:  # those of a machine that is lost may come back
                    ended.wait(0.1)
                    continue
                seconds = RUN_SECONDS + max(sizes[part] for part in parts) / LEAST_SPEED
                try:
                    for message in machine.ask(["run", str(folder), parts], seconds):
                        said.put(message)
                except Exception as error:
                    waiting.extendleft(reversed(parts))
                    said.put((machine, error))
                    return

        for machine in self._machines:
            threading.Thread(
                target=work, args=(machine,), name="tfw2v-reading", daemon=True
            ).start()
        try:
            yield self._received(said)
        finally:
            ended.set()

    def _received(self, said: "queue.SimpleQueue[Any]") -> Iterator[dict[str, Any]]:
        left = len(self._machines)
        while True:
            message = said.get()  # each machine says something in a limited time
            if isinstance(message, dict):
                yield message
                continue
            machine, error = message
            left -= 1
            logger.warning("%s does not read the corpus any more: %s", machine.name, error)
            if not left:
                raise ConnectionError(
                    f"no machine is left to read the corpus; the last was {machine.name}"
                ) from error


@contextlib.contextmanager
def open_readers(
    cluster: Cluster, paths: Sequence[str], folder: Path, seconds: float = READY_SECONDS
) -> Iterator[MachineReaders | None]:
    """Find the machines of a cluster's workers that see a corpus, and what this process writes.

    Parameters
    ----------
    cluster : Cluster
    paths : sequence of str
        Of the corpus.
    folder : Path
        In which helpers will write.
    seconds : float
        How long workers have to come up.

    Yields
    ------
    MachineReaders or None
        This machine among them; None if it should read alone, because no other sees the files, or
        there is too little to read.

    Raises
    ------
    MissingTasks
        Naming workers that have not come up in time.
    """
    texts = Texts.found(paths)
    if texts.bytes < LEAST_BYTES:
        yield None
        return
    workers = [task for task in cluster.servers() if task.role == "worker"]
    wait_for_tasks(workers, seconds)
    keep_alive(workers)
    # a call to a task that is gone fails at once, instead of waiting for it to come back
    os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
    token = f"seen-{uuid.uuid4().hex}"
    (folder / token).touch()
    sizes = {
        os.path.abspath(path): size
        for path, size in zip(texts.paths, texts.sizes, strict=True)
        if "://" not in path
    }
    question = ["look", str(folder.absolute()), token, sizes]
    with contextlib.ExitStack() as sessions:
        machines: dict[str, Machine] = {}
        asking = {"this machine": _here} | {
            str(task): sessions.enter_context(_connected(task)) for task in workers
        }
        for name, ask in asking.items():
            try:
                found = ask(question, LOOK_SECONDS)
            except Exception as error:
                found = {"missing": f"it does not answer: {error}"}
            if "machine" in found:
                machines.setdefault(found["machine"], Machine(name, found["cores"], ask))
            else:
                logger.info("%s does not read the corpus: %s", name, *found.values())
        (folder / token).unlink()
        if len(machines) == 1:
            yield None
            return
        logger.info(
            "reading the corpus on %d machines: %s",
            len(machines),
            ", ".join(machine.name for machine in machines.values()),
        )
        yield MachineReaders(list(machines.values()))


def _answered(reply: bytes) -> Any:
    told = json.loads(reply)
    if isinstance(told, dict) and "failed" in told:
        raise RuntimeError(told["failed"])
    return told


def _here(question: list[Any], seconds: float) -> Any:
    return _answered(answer(json.dumps(question).encode()))


@contextlib.contextmanager
def _connected(task: Task) -> Iterator[Callable[[list[Any], float], Any]]:
    """Connect to a task; give what asks it."""
    from gensim_tfw2v._tensorflow import tf

    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        resource = variable(NAME)
        is_there = tf.raw_ops.VarIsInitializedOp(resource=resource)
        function = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.string)
        asked = tf.compat.v1.placeholder(tf.string, [])
    calls: dict[bytes, Any] = {}

    def ask(question: list[Any], seconds: float) -> Any:
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(1000 * seconds))
        if not calls:
            if not running.run(is_there, options=limit):
                raise ConnectionError("it was not started by this version of tfw2v")
            name = running.run(function, options=limit)
            with graph.as_default(), tf.device(device_of(task)):
                (calls[name],) = tf.raw_ops.PyFunc(input=[asked], token=name, Tout=[tf.string])
        (call,) = calls.values()
        return _answered(running.run(call, {asked: json.dumps(question).encode()}, options=limit))

    running = session(f"grpc://{task.address}", task, graph)
    try:
        yield ask
    finally:
        # a task that is there ends it at once; for the answer of another it would wait for ever
        closing = threading.Thread(target=running.close, name="tfw2v-closing", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
