"""Entry point of the tool, which handles Ctrl-C from the start.

``python -m gensim_tfw2v.cli.start`` runs the tool for a parent process, and exits when the parent
does.
"""

import io
import os
import signal
import sys
import threading

from gensim_tfw2v.processes.threads import defer_interrupts


def main(stopped_result: str = "") -> None:
    """Run the tool; Ctrl-C exits with one line and status 130, even during imports.

    `stopped_result` is appended to that line if the command has not started yet.
    """
    _make_printing_safe()
    try:
        with defer_interrupts():
            from gensim_tfw2v.cli.main import main as start
        start()
    except KeyboardInterrupt:
        print(f"tfw2v: interrupted{stopped_result}", file=sys.stderr)
        sys.exit(130)


class _NamedStream(io.TextIOWrapper):
    """Standard stream whose errors contain its name, such as "standard output"."""

    #: Name of the stream in errors.
    title = ""

    #: Stream that this one replaces. Without this reference, its finalizer would close the buffer
    #: that both use.
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
    """Replace the standard streams, so that printing a result after hours of work cannot fail.

    Closed streams are replaced by the null device, and characters that cannot be encoded are
    escaped.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    for name, title in {"stdout": "standard output", "stderr": "standard error"}.items():
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        errors = stream.errors
        # In the C locale, Python's default error handler of standard output is `surrogateescape`,
        # which writes the bytes of undecodable file names unchanged.
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


def exit_when_input_closes() -> None:
    """Wait until the parent process closes our standard input; then send this process SIGTERM."""
    # not sys.stdin.read(): at exit, the interpreter would wait for the lock of sys.stdin
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=exit_when_input_closes, name="tfw2v-parent", daemon=True).start()
    main("; nothing was saved")  # as a training run prints if it is stopped later
