"""A task as a process that this one has started, whose output and heartbeats it reads."""

import contextlib
import math
import os
import re
import signal
import threading
import time
from collections.abc import Callable

from gensim_tfw2v.cluster.launcher import Process
from gensim_tfw2v.cluster.server import HEARTBEAT, READY_LINE
from gensim_tfw2v.cluster.spec import Task

#: Seconds between two checks whether tasks have exited or hang.
LOOK_SECONDS = 0.2

#: Seconds without a heartbeat after which a task is killed.
HANGING_SECONDS = 40.0

#: Minimum number of seconds that a task has until its first heartbeat.
START_SECONDS = 120.0

#: Lines that TensorFlow prints at any log level, when it starts or when another task exits.
_NOISE = re.compile(
    r"WARNING: All log messages before absl::InitializeLog"
    r"|I0000 \S+ +\d+ \S+\.cc:\d+\]"  # INFO of C++ code, printed before the log level is read
    r"|\d{4}-\d\d-\d\d \S+: I \S+\.cc:\d+\]"
    r"|E0000 \S+ +\d+ (cuda_(dnn|blas|fft|platform)|computation_placer)\.cc:\d+\]"
    r"|.*cuda.*failed call to cuInit|.*Could not find cuda drivers|.*TF-TRT Warning"
)


def is_noise(line: str) -> bool:
    """Return whether a line of a task's output contains no information about the task."""
    return not line.strip() or _NOISE.match(line) is not None


def prefix_line(task: Task, line: str) -> str:
    """Return a line of output, preceded by the name of its task."""
    return f"{task.role} {task.index} | {line.rstrip()}"


class StartedTask:
    """Process of a task, with a thread that reads its output and exchanges heartbeats with it.

    Parameters
    ----------
    task : Task
    process : Process
        Process with pipes for its input and output.
    show : callable
        Function that receives the task and each line of its output, in the thread that reads.
    start_seconds : float
        Maximum number of seconds until the first heartbeat; at least `START_SECONDS`.

    Attributes
    ----------
    serves : threading.Event
        Set when the task reports that it serves.
    last_line : str
        Last output before the task served.
    why_killed : str
        Reason for which `kill_if_hung` has killed the process; "" if it has not.
    """

    def __init__(
        self,
        task: Task,
        process: Process,
        show: Callable[[Task, str], None],
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.process = process
        self.start_time = time.monotonic()
        self.serves = threading.Event()
        self.last_line = ""
        self.why_killed = ""
        # Seconds since the last heartbeat. Each check adds LOOK_SECONDS, so time in which this
        # process itself is stopped does not count.
        self._silence = 0.0
        self._max_silence = max(START_SECONDS, start_seconds)

        def read() -> None:
            assert process.stdin and process.stdout
            for output in process.stdout:
                if output == HEARTBEAT:
                    self._silence = 0.0
                    self._max_silence = HANGING_SECONDS
                    with contextlib.suppress(OSError, ValueError):  # the task is exiting
                        process.stdin.write(HEARTBEAT)
                        process.stdin.flush()
                    continue
                line = output.decode(errors="replace")
                # `show` may block, for example at a terminal that was stopped by Ctrl-S. Heartbeats
                # are not read meanwhile, which is no silence of the task.
                self._silence = -math.inf
                with contextlib.suppress(OSError):  # full disk: don't block the task
                    show(task, line)
                self._silence = 0.0
                if line.strip() == READY_LINE.format(task):
                    self.serves.set()
                elif not is_noise(line) and not self.serves.is_set():
                    self.last_line = line.strip()

        self.reader = threading.Thread(target=read, name=f"tfw2v-{task}", daemon=True)
        self.reader.start()

    def kill_if_hung(self) -> None:
        """Kill the process if its heartbeats have stopped. Call this every `LOOK_SECONDS`."""
        self._silence += LOOK_SECONDS
        if self._silence > self._max_silence and self.process.poll() is None:
            self._silence = -math.inf
            self.why_killed = f"it hung: it gave no sign of life for {self._max_silence:g} s"
            self.send(signal.SIGKILL)

    def close_input(self) -> None:
        """Close the task's standard input; the task then exits."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def send(self, signal_number: int) -> None:
        """Send a signal to the process and its children, unless the process has exited."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal_number)

    def close(self) -> None:
        """Free the resources of a process that has exited."""
        self.close_input()
        self.process.wait()
        self.reader.join(1.0)
        # If a child of the task holds the stream open, the reader is still reading from it.
        if not self.reader.is_alive():
            assert self.process.stdout is not None
            self.process.stdout.close()
