"""A training in a process of its own: run again when it is killed, and never left behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from gensim_tfw2v.cli.failures import fail
from gensim_tfw2v.processes.children import start_module

#: How often a training that was killed is started again.
RESTARTS = 10

#: Seconds that a training has to end when this process is to end.
ENDING_SECONDS = 60.0


def supervise(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a command of this tool, again each time that it was killed; give its exit status.

    It has a process group of its own, so that Ctrl-C comes to it once: from here, whether the
    terminal has sent it or another process, and with time to end. It ends with this process.
    """
    for restart in range(RESTARTS + 1):
        process = start_module("gensim_tfw2v.cli.supervised", *command, environment=environment)
        try:
            status = process.wait()
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt)
            _end(process, signal.SIGINT if is_interrupted else signal.SIGTERM)
            raise
        finally:
            assert process.stdin is not None
            process.stdin.close()
        if status >= 0:
            return status
        if restart < RESTARTS:
            print(
                f"tfw2v: the training was killed by signal {-status}; going on from its last "
                "checkpoint",
                file=sys.stderr,
            )
    fail(f"the training was killed {RESTARTS + 1} times", status=1)


def _end(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
    finally:  # also at a second Ctrl-C
        process.kill()
        process.wait()
