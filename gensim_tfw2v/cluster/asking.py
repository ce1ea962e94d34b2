"""Asking a task for what `reading.answer` does, and waiting for it no longer than it is there."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from gensim_tfw2v.cluster.probe import wait_for_tasks
from gensim_tfw2v.cluster.published import device_of, session, variable
from gensim_tfw2v.cluster.reading import NAME, answer
from gensim_tfw2v.cluster.spec import Task

#: Sends a question, and gives its answer if it comes within so many seconds.
Ask = Callable[[list[Any], float], Any]

#: Seconds between two looks whether a task that is waited for is there, and for such a look.
PROBE_SECONDS, ALIVE_SECONDS = 5.0, 10.0

#: Seconds that a task has to hear that no more is asked.
CLOSE_SECONDS = 1.0


def here(question: list[Any], seconds: float) -> Any:
    """Ask this machine, whose helpers are waited for as those of a corpus that it reads alone."""
    return _answered(answer(json.dumps(question).encode()))


def _answered(reply: bytes) -> Any:
    told = json.loads(reply)
    if isinstance(told, dict) and "failed" in told:
        raise RuntimeError(told["failed"])
    return told


@contextlib.contextmanager
def connected(task: Task) -> Iterator[Ask]:
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
