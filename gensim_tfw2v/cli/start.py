"""Entry point of the tool, which handles Ctrl-C from the start.

``python -m gensim_tfw2v.cli.start`` also runs the tool, and exits when its parent process does.
"""

import os
import signal
import sys
import threading

from gensim_tfw2v.processes.threads import defer_interrupts


def main() -> None:
    """Run the tool; Ctrl-C exits with one line and status 130, even during imports."""
    _make_printing_safe()
    try:
        with defer_interrupts():
            from gensim_tfw2v.cli.main import main as start
        start()
    except KeyboardInterrupt:
        print("tfw2v: interrupted", file=sys.stderr)
        sys.exit(130)


def _make_printing_safe() -> None:
    """Make printing safe, so that no result is lost after hours of work.

    Closed streams are replaced by the null device, and characters that cannot be encoded are
    escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        keeps_bytes = stream.errors == "surrogateescape"  # for file names, in the C locale
        if stream.errors == "strict" or (keeps_bytes and stream.encoding.lower() != "utf-8"):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def end_with_parent() -> None:
    """Send this process SIGTERM when its standard input is closed."""
    # not sys.stdin, for whose lock the interpreter would wait at exit
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, name="tfw2v-parent", daemon=True).start()
    main()
