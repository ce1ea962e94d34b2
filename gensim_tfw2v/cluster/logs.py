"""What tasks write, line by line, each with the name of its task before it."""

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from gensim_tfw2v.cluster.spec import Task

logger = logging.getLogger("gensim_tfw2v.cluster")

#: Seconds between two looks into files.
LOOK_SECONDS = 0.5

#: What TensorFlow says as it starts, or as others end, whatever it is told to keep to itself.
_NOISE = re.compile(
    r"WARNING: All log messages before absl::InitializeLog"
    r"|I0000 \S+ +\d+ \S+\.cc:\d+\]"  # C++'s "info" from before the log level is read
    r"|\d{4}-\d\d-\d\d \S+: I \S+\.cc:\d+\]"
    r"|E0000 \S+ +\d+ (cuda_(dnn|blas|fft|platform)|computation_placer)\.cc:\d+\]"
    r"|.*cuda.*failed call to cuInit|.*Could not find cuda drivers|.*TF-TRT Warning"
)


def is_noise(line: str) -> bool:
    """Whether a line is one that says nothing about this task."""
    return not line.strip() or _NOISE.match(line) is not None


def prefixed(task: Task, line: str) -> str:
    """The line with the name of its task."""
    return f"{task.role} {task.index} | {line.rstrip()}"


def show_lines(stream: IO[bytes], show: Callable[[str], None]) -> None:
    """Give each line but noise to `show`, until the stream ends."""
    for line in stream:
        text = line.decode(errors="replace")
        if not is_noise(text):
            show(text)


@contextlib.contextmanager
def logging_files(tasks: Sequence[Task], log_of: Callable[[Task], Path]) -> Iterator[None]:
    """Log what is appended to the tasks' files, as long as this lasts.

    Parameters
    ----------
    tasks : sequence of Task
    log_of : callable
        From a task to its file.
    """
    if not logger.isEnabledFor(logging.INFO):
        yield
        return
    over = threading.Event()
    with contextlib.ExitStack() as stack:
        files = [(task, stack.enter_context(log_of(task).open("rb"))) for task in tasks]
        begun = {task: b"" for task in tasks}  # of a line that is being written

        def look() -> None:
            for task, file in files:
                *whole, begun[task] = (begun[task] + file.read()).split(b"\n")
                for line in whole:
                    text = line.decode(errors="replace")
                    if not is_noise(text):
                        logger.info("%s", prefixed(task, text))

        def follow() -> None:
            while not over.wait(LOOK_SECONDS):
                look()

        follower = threading.Thread(target=follow, name="tfw2v-logs", daemon=True)
        follower.start()
        try:
            yield
        finally:
            over.set()
            follower.join()
            look()
