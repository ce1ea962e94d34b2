"""What a user sees when a command fails: one line on stderr and an exit status, no traceback."""

import logging
import signal
import sys
import threading
import zlib
from lzma import LZMAError
from typing import Annotated, Any, NoReturn

import typer

LOG_FORMAT = "%(asctime)s : %(levelname)s : %(message)s"  # the form gensim's users know

#: The exit status after Ctrl-C: 128, and SIGINT's number.
INTERRUPTED = 130


class BadInput(Exception):
    """What the user gave cannot be used; the message says what, and what to do."""


class CommandsWithClearFailures(typer.core.TyperGroup):
    """Commands whose expected failures end in one line and an exit status.

    Status 2 for bad input: `BadInput`, and the exception types with which gensim and this library
    refuse input or stop training (ImportError: a package is missing, or too old;
    ArithmeticError: training diverged; EOFError and decompressors' own: a file is damaged). Status
    130 for Ctrl-C, 143 for SIGTERM, which ends a command like Ctrl-C, with nothing left behind.
    Anything else is a fault of the program and keeps its traceback.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments of a call."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            fail_interrupted()

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail_interrupted()
        except (typer.Exit, typer.Abort):  # which are RuntimeErrors too
            raise
        except (
            BadInput,
            OSError,
            ValueError,
            RuntimeError,
            ImportError,
            ArithmeticError,
            EOFError,  # which click would take for Ctrl-D
            zlib.error,
            LZMAError,
        ) as error:
            logging.getLogger(__name__).debug("the command failed", exc_info=True)
            fail(one_line(error), status=2)


def fail(message: str, *, status: int) -> NoReturn:
    """Print one line on stderr and leave with `status`."""
    print(f"tfw2v: {message}", file=sys.stderr)
    raise typer.Exit(status)


def fail_interrupted(what: str = "") -> NoReturn:
    """Leave as after Ctrl-C."""
    fail(f"interrupted{what}", status=INTERRUPTED)


def one_line(error: BaseException) -> str:
    """Give an exception's message on one line; its type where it has no message."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def named(error: BaseException, path: object) -> str:
    """Give an exception's message on one line, with the name of the file that it is about."""
    message = one_line(error)
    if isinstance(error, UnicodeDecodeError) and str(path) not in message:
        message = f"is not UTF-8 text ({error.reason})"
    return message if str(path) in message else f"{path}: {message}"


def _turn_on_log(verbose: bool) -> None:
    if verbose:
        logging.basicConfig(format=LOG_FORMAT, level=logging.INFO, stream=sys.stderr, force=True)
        logging.getLogger("gensim_tfw2v").setLevel(logging.DEBUG)


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=_turn_on_log,
        help="Log what happens to stderr, in gensim's form (and a traceback on failure).",
    ),
]
"""The option that every command has."""
