"""Reading a corpus with the machines of a cluster's workers."""

import contextlib
import logging
import os
import queue
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from gensim_tfw2v.cluster.asking import Ask, connected, here
from gensim_tfw2v.cluster.keepalive import keep_alive
from gensim_tfw2v.cluster.probe import READY_SECONDS, wait_for_tasks
from gensim_tfw2v.cluster.reading import look as look_here
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus.helpers import trouble_of
from gensim_tfw2v.corpus.texts import Texts
from gensim_tfw2v.processes.forking import tensorflow_is_lost

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
    ask: Ask
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
        if {"oserror", "failure"} & message.keys():
            raise trouble_of(message)


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
        This machine among them; None if there is so little to read that it should do it alone.

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
    if tensorflow_is_lost():
        workers = []  # this process cannot ask them
    wait_for_tasks(workers, seconds)
    keep_alive(workers)
    with contextlib.ExitStack() as sessions:
        asking = {str(task): sessions.enter_context(connected(task)) for task in workers}
        machines = _machines_that_see(asking, texts, folder)
        if len(machines) > 1:
            names = ", ".join(machine.name for machine in machines)
            logger.info("reading the corpus on %d machines: %s", len(machines), names)
        # also if this is the only one: where the corpus is cut must not depend on who is there, or
        # a training that is started again would not find its units
        yield MachineReaders(machines)


def _machines_that_see(asking: Mapping[str, Ask], texts: Texts, folder: Path) -> list[Machine]:
    """Ask all at the same time; after this machine, take the first task of each other."""
    token = f"seen-{uuid.uuid4().hex}"
    (folder / token).touch()
    sizes = {
        os.path.abspath(path): size
        for path, size in zip(texts.paths, texts.sizes, strict=True)
        if "://" not in path
    }

    def look(ask: Ask) -> dict[str, Any]:
        try:
            seconds = LOOK_SECONDS + FILE_SECONDS * len(sizes)
            return dict(ask(["look", str(folder), token, sizes], seconds))
        except Exception as error:
            return {"missing": f"it does not answer: {error}"}

    with ThreadPoolExecutor(max(1, len(asking))) as threads:
        answers = list(threads.map(look, asking.values()))
    this = look_here(str(folder), token, {})
    (folder / token).unlink()
    machines = {this["machine"]: Machine("this machine", this["helpers"], here, is_here=True)}
    for (name, ask), found in zip(asking.items(), answers, strict=True):
        if "machine" in found:
            machines.setdefault(found["machine"], Machine(name, found["helpers"], ask))
        else:
            logger.info("%s does not read the corpus: %s", name, found["missing"])
    return list(machines.values())
