"""Pipe between a training program and its coordinator process.

The program sends requests through the coordinator's standard input, and receives messages through
its standard output. Each request has an id, which the messages about it repeat, so that the answer
to an abandoned request isn't taken for that of a later request. Each end of the pipe has a thread
that reads and one that writes, so that sending never blocks, even if the other process is stopped.
Rows are exchanged through files.
"""

import contextlib
import os
import pickle
import queue
import threading
import traceback
from multiprocessing.connection import Connection
from typing import IO, Any, NamedTuple

from gensim_tfw2v.cluster.launcher import Process
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.options.regimes import RegimeOptions
from gensim_tfw2v.regimes import Setup

#: Method of the request that ends another request early. Its argument is the id of that request.
STOP = "stop"


class Request(NamedTuple):
    """Call of a method of the coordinator."""

    request_id: int
    method: str
    arguments: tuple[Any, ...]


class Message(NamedTuple):
    """Message from the coordinator.

    Attributes
    ----------
    kind : str
        ``"done"`` or ``"error"`` answers a request, with the traffic so far or an exception as its
        content. ``"report"`` contains a trained unit's `UnitReport`, ``"traffic"`` the traffic so
        far, ``"log"`` a log record. ``"alive"`` contains a `Heartbeat`.
    request_id : int
        Id of the request that the coordinator is processing.
    content : object
    """

    kind: str
    request_id: int
    content: Any


class Heartbeat(NamedTuple):
    """Sign of life of the coordinator.

    Attributes
    ----------
    progress_time : float
        Time of the last progress, by a clock of the coordinator.
    give_up_seconds : float
        Seconds without progress after which the coordinator reports an error.
    """

    progress_time: float
    give_up_seconds: float


class ClusterSetup(NamedTuple):
    """Argument of the first request: the cluster to connect to, and the regime to create."""

    cluster: Cluster | None  # if None, the coordinator trains in its own threads
    ready_seconds: float  # time limit for the tasks to start
    regime: RegimeOptions
    setup: Setup
    log_dir: str | None = None  # folder of the training's TensorBoard log


class ProgramEnd:
    """The training program's end of the pipe.

    A thread sends the requests, because a write would block if the coordinator hangs and doesn't
    read.
    """

    def __init__(self, process: Process) -> None:
        assert process.stdin and process.stdout
        self._sender = _take_over(process.stdin, readable=False)
        self._receiver = _take_over(process.stdout, writable=False)
        self._n_requests = 0
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        for run in self._send_requests, self._receive_messages:
            threading.Thread(target=run, name="tfw2v-coordinator", daemon=True).start()

    def send(self, method: str, *arguments: Any) -> int:
        """Send a request; return its id."""
        self._n_requests += 1
        # pickled here, not in the thread that sends, so that this method raises the error if any
        self._requests.put(pickle.dumps((self._n_requests, method, arguments)))
        return self._n_requests

    def receive(self, seconds: float) -> Message | None:
        """Return the next message; None if none arrives within a number of seconds.

        Raises
        ------
        EOFError
            If the coordinator has exited.
        """
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return None
        if message is None:
            self._messages.put(None)  # Later calls must raise the error, too.
            raise EOFError
        return message

    def close(self) -> None:
        """Close the pipe to the coordinator after the requests that have been sent."""
        self._requests.put(None)

    def _send_requests(self) -> None:
        try:
            with self._sender:
                while (request := self._requests.get()) is not None:
                    self._sender.send_bytes(request)
        except OSError:  # the coordinator has exited
            pass

    def _receive_messages(self) -> None:
        try:
            with self._receiver:
                while True:
                    self._messages.put(Message(*self._receiver.recv()))
        except Exception:  # the coordinator has exited; a killed one may have sent half a message
            self._messages.put(None)


class CoordinatorEnd:
    """The coordinator's end of the pipe: this process's standard input and output.

    Only messages are written to the pipe. All other output of this process goes to standard error.
    This process exits when the program closes the pipe.

    Attributes
    ----------
    request_id : int
        Id of the request that is being processed.
    """

    def __init__(self) -> None:
        self.request_id = 0
        self._stopped_id = 0
        self._receiver = Connection(os.dup(0), writable=False)
        self._sender = Connection(os.dup(1), readable=False)
        os.dup2(2, 1)
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for run in self._receive_requests, self._send_messages:
            threading.Thread(target=run, daemon=True).start()

    def next_request(self) -> Request:
        """Wait for the next request."""
        request = self._requests.get()
        self.request_id = request.request_id
        return request

    def must_stop(self) -> bool:
        """Return whether the current request is to end early."""
        return self._stopped_id == self.request_id

    def send(self, kind: str, content: Any = None) -> None:
        """Send a message; may be called from any thread."""
        # pickled here, because the content may change before it is written
        self._messages.put(pickle.dumps((kind, self.request_id, content)))

    def _send_messages(self) -> None:
        with contextlib.suppress(OSError):  # the program has exited
            while True:
                self._sender.send_bytes(self._messages.get())

    def _receive_requests(self) -> None:
        try:
            while True:
                request = Request(*self._receiver.recv())
                if request.method == STOP:
                    (self._stopped_id,) = request.arguments
                else:
                    self._requests.put(request)
        except (EOFError, OSError):  # the program has exited
            os._exit(1)
        except Exception:  # a request that cannot be unpickled, such as a class of __main__
            traceback.print_exc()
            os._exit(1)


def _take_over(stream: IO[bytes], readable: bool = True, writable: bool = True) -> Connection:
    """Return a connection that owns the pipe of a stream, and close the stream."""
    with stream:
        return Connection(os.dup(stream.fileno()), readable, writable)
