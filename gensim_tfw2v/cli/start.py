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
    """Standard stream whose errors contain its title."""

    #: Name in errors, such as "standard output".
    title = ""

    #: Stream that this one replaces. It is referenced because its finalizer would close the buffer.
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
    for name, title in {"stdout": "standard output", "stderr": "standard error"}.items():
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        errors = stream.errors
        # Python's default in the C locale, which writes the bytes of file names unchanged
        is_escaped = errors == "surrogateescape"
        if errors == "strict" or (is_escaped and stream.encoding.lower() != "utf-8"):
            errors = "backslashreplace"
        safe_stream = _NamedStream(
            stream.buffer,
            stream.encoding,
            errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        safe_stream.title = title
        safe_stream.original = stream
        setattr(sys, name, safe_stream)


def exit_with_parent() -> None:
    """Send this process SIGTERM when its standard input is closed."""
    # sys.stdin has a lock, for which the interpreter would wait at exit
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=exit_with_parent, name="tfw2v-parent", daemon=True).start()
    main()
