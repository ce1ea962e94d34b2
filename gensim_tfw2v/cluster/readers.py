"""Reading a corpus with the machines of a cluster's workers."""

import contextlib
import json
import logging
import os
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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

#: But no more runs than this: what is known of each is kept.
MOST_RUNS = 1024

#: A smaller corpus this machine has read alone before others are asked.
LEAST_BYTES = 1 << 28

#: Seconds that a machine has to look at files, and for each file.
LOOK_SECONDS, FILE_SECONDS = 30.0, 0.01

#: Seconds that it has for what it reads at a time, beside those that the storage needs for what
#: all machines read meanwhile, at the slowest speed that is taken for one (B/s).
RUN_SECONDS, LEAST_SPEED = 120.0, 1e6

#: Seconds between two looks whether a task that is waited for is there, and for such a look.
PROBE_SECONDS, ALIVE_SECONDS = 5.0, 10.0

#: Seconds that a task has to hear that no more is asked.
CLOSE_SECONDS = 1.0


class Machine(NamedTuple):
    """Where helpers can run.

    Attributes
    ----------
    name : str
        For messages.
    helpers : int
        At a time.
    ask : callable (list, seconds) -> Any
        Sends what `reading.answer` takes, and gives what it says.
    is_here : bool
        Whether it is this machine, whose troubles end the reading.
    """

    name: str
    helpers: int
    ask: Callable[[list[Any], float], Any]
    is_here: bool = False


class MachineReaders:
    """Helper processes on several machines, each given parts as soon as it has time.

    Parameters
    ----------
    machines : sequence of Machine
        At least one.
    """

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines

    def runs(self, size: int) -> int:
        """Into how many runs texts of so many bytes should be cut."""
        return max(1, min(MOST_RUNS, size // BYTES_A_RUN))

    @contextlib.contextmanager
    def messages(self, folder: Path, sizes: Sequence[int]) -> Iterator[Iterator[dict[str, Any]]]:
        """Run a helper for each part of the job in a folder; give what they say.

        The parts of a machine that is lost, or has troubles of its own, are made by the others.

        Raises
        ------
        ConnectionError
            If none is left.
        """
        waiting, said = deque(range(len(sizes))), queue.SimpleQueue[Any]()
        at_once = sum(machine.helpers for machine in self._machines)
        seconds = RUN_SECONDS + at_once * max(sizes) / LEAST_SPEED
        ended = threading.Event()

        def work(machine: Machine) -> None:
            while not ended.is_set():
                parts: list[int] = []
                with contextlib.suppress(IndexError):
                    while len(parts) < machine.helpers:
                        parts.append(waiting.popleft())
                if not parts:  # those of a machine that is lost may come back
                    ended.wait(0.1)
                    continue
                try:
                    answers = machine.ask(["run", str(folder), parts], seconds)
                    if not machine.is_here:
                        _raise_own_troubles(answers)
                except Exception as error:
                    waiting.extendleft(reversed(parts))
                    said.put((machine, error))
                    return
                for message in answers:
                    said.put(message)

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
            message = said.get()  # another machine says something in a limited time
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


def _raise_own_troubles(messages: Sequence[Mapping[str, Any]]) -> None:
    """Tell a text that nobody can read from a machine that cannot read."""
    for message in messages:
        if "oserror" in message:
            raise OSError(*message["oserror"])
        if "failure" in message:
            raise RuntimeError(message["failure"])


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
    with contextlib.ExitStack() as sessions:
        asking: dict[str, Callable[[list[Any], float], Any]] = {"this machine": _here}
        for task in workers:
            asking[str(task)] = sessions.enter_context(_connected(task))
        machines = _machines_that_see(asking, texts, folder)
        if len(machines) < 2:
            yield None
            return
        names = ", ".join(machine.name for machine in machines)
        logger.info("reading the corpus on %d machines: %s", len(machines), names)
        yield MachineReaders(machines)


def _machines_that_see(
    asking: Mapping[str, Callable[[list[Any], float], Any]], texts: Texts, folder: Path
) -> list[Machine]:
    """Ask all at the same time; of several tasks of one machine, take the first."""
    token = f"seen-{uuid.uuid4().hex}"
    (folder / token).touch()
    sizes = {
        os.path.abspath(path): size
        for path, size in zip(texts.paths, texts.sizes, strict=True)
        if "://" not in path
    }

    def look(ask: Callable[[list[Any], float], Any]) -> dict[str, Any]:
        try:
            seconds = LOOK_SECONDS + FILE_SECONDS * len(sizes)
            return dict(ask(["look", str(folder), token, sizes], seconds))
        except Exception as error:
            return {"missing": f"it does not answer: {error}"}

    with ThreadPoolExecutor(len(asking)) as threads:
        answers = list(threads.map(look, asking.values()))
    (folder / token).unlink()
    machines: dict[str, Machine] = {}
    for (name, ask), found in zip(asking.items(), answers, strict=True):
        if "machine" in found:
            made = Machine(name, found["helpers"], ask, is_here=ask is _here)
            machines.setdefault(found["machine"], made)
        else:
            logger.info("%s does not read the corpus: %s", name, found["missing"])
    return list(machines.values())


def _here(question: list[Any], seconds: float) -> Any:
    """Ask this machine, whose helpers are waited for as those of a corpus that it reads alone."""
    return _answered(answer(json.dumps(question).encode()))


def _answered(reply: bytes) -> Any:
    told = json.loads(reply)
    if isinstance(told, dict) and "failed" in told:
        raise RuntimeError(told["failed"])
    return told


@contextlib.contextmanager
def _connected(task: Task) -> Iterator[Callable[[list[Any], float], Any]]:
    """Connect to a task; give what asks it.

    It raises ConnectionError when the task is gone, and TimeoutError. TensorFlow's session tries a
    call to a task that is gone again and again; the thread that does so lasts until the limit.
    """
    from gensim_tfw2v._tensorflow import tf

    with tf.Graph().as_default() as graph, tf.device(device_of(task)):
        resource = variable(NAME)
        is_there = tf.raw_ops.VarIsInitializedOp(resource=resource)
        function = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.string)
        asked = tf.compat.v1.placeholder(tf.string, [])
    running = session(f"grpc://{task.address}", task, graph)
    calls: list[Any] = []

    def call(question: list[Any], seconds: float) -> Any:
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(1000 * seconds))
        if not calls:
            if not running.run(is_there, options=limit):
                raise ConnectionError("it was not started by this version of tfw2v")
            name = running.run(function, options=limit)
            with graph.as_default(), tf.device(device_of(task)):
                calls.extend(tf.raw_ops.PyFunc(input=[asked], token=name, Tout=[tf.string]))
        return _answered(
            running.run(calls[0], {asked: json.dumps(question).encode()}, options=limit)
        )

    def ask(question: list[Any], seconds: float) -> Any:
        answers = queue.SimpleQueue[Any]()

        def put_answer() -> None:
            try:
                answers.put((call(question, seconds), None))
            except Exception as error:
                answers.put((None, error))

        threading.Thread(target=put_answer, name="tfw2v-asking", daemon=True).start()
        deadline = time.monotonic() + seconds
        while True:
            try:
                told, error = answers.get(timeout=PROBE_SECONDS)
            except queue.Empty:
                wait_for_tasks([task], ALIVE_SECONDS)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no answer from {task} in {seconds:.0f} s") from None
                continue
            if error is not None:
                raise error
            return told

    def close() -> None:
        with contextlib.suppress(tf.errors.OpError):
            running.close()

    try:
        yield ask
    finally:
        # a task that is there ends it at once; another is not waited for
        closing = threading.Thread(target=close, name="tfw2v-closing", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
