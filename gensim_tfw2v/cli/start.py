"""The entry point of the tool: Ctrl-C is one line and a status from here on.

``python -m gensim_tfw2v.cli.start`` is the tool too, and ends with the process that started it.
"""

import os
import signal
import sys
import threading

from gensim_tfw2v.processes.process_guards import defer_interrupts


def main() -> None:
    """Run the tool; Ctrl-C ends it as it does later, also while its commands are imported."""
    _ready_streams()
    try:
        with defer_interrupts():
            from gensim_tfw2v.cli.main import main as start
        start()
    except KeyboardInterrupt:
        print("tfw2v: interrupted", file=sys.stderr)
        sys.exit(130)


def _ready_streams() -> None:
    """Let nothing that is printed fail, after all work is done.

    A stream that is closed takes anything, and characters that an encoding lacks are escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        keeps_bytes = stream.errors == "surrogateescape"  # of names of files, in C's locale
        if stream.errors == "strict" or (keeps_bytes and stream.encoding.lower() != "utf-8"):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def end_with_parent() -> None:
    """End this process, like SIGTERM does, when its standard input is closed."""
    # not by way of sys.stdin, whose lock the end of the interpreter would wait for
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, name="tfw2v-parent", daemon=True).start()
    main()
