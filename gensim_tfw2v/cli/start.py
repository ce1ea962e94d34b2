"""Entry point of the tool, which handles Ctrl-C from the start.

``python -m gensim_tfw2v.cli.start`` also runs the tool, and exits when its parent process does.
"""

import io
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


class _NamedStream(io.TextIOWrapper):
    """Standard stream whose errors contain what it is."""

    title = ""
    original: object = None

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            error.filename = self.title
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            error.filename = self.title
            raise


def _make_printing_safe() -> None:
    """Make printing safe, so that no result is lost after hours of work.

    Closed streams are replaced by the null device, and characters that cannot be encoded are
    escaped.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    for name, title in ("stdout", "standard output"), ("stderr", "standard error"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        errors = stream.errors
        keeps_bytes = errors == "surrogateescape"  # for file names, in the C locale
        if errors == "strict" or (keeps_bytes and stream.encoding.lower() != "utf-8"):
            errors = "backslashreplace"
        safe = _NamedStream(
            stream.buffer,
            stream.encoding,
            errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        safe.title = title
        safe.original = stream  # which would close the buffer
        setattr(sys, name, safe)


def end_with_parent() -> None:
    """Send this process SIGTERM when its standard input is closed."""
    # not sys.stdin, for whose lock the interpreter would wait at exit
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, name="tfw2v-parent", daemon=True).start()
    main()
