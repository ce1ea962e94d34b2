"""The tool ``tfw2v``: its commands and their exit status."""

import logging
import re
import signal
import sys
import threading
import zlib
from lzma import LZMAError
from typing import Annotated, Any

import typer

from gensim_tfw2v import __version__
from gensim_tfw2v.cli import cluster, common
from gensim_tfw2v.cli.align import align, changes
from gensim_tfw2v.cli.common import BadInput, fail, option
from gensim_tfw2v.cli.demo import demo
from gensim_tfw2v.cli.evaluate import evaluate
from gensim_tfw2v.cli.merge import convert, index, merge
from gensim_tfw2v.cli.option_wording import name_options
from gensim_tfw2v.cli.plan import plan
from gensim_tfw2v.cli.querying import info, neighbours, similarity, vectors
from gensim_tfw2v.cli.tensorboard import projector, tensorboard
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cli.usage import HELP, Command, Group
from gensim_tfw2v.cli.walk_command import walks
from gensim_tfw2v.processes.children import run_and_exit
from gensim_tfw2v.processes.threads import defer_interrupts

#: Exceptions that are printed on one line. gensim and this library raise them for invalid input,
#: for diverged training (ArithmeticError) and for damaged compressed files (the last three). click
#: would treat an uncaught EOFError as Ctrl-D.
EXPECTED_ERRORS = (
    BadInput,
    OSError,
    ValueError,
    RuntimeError,
    ImportError,
    ArithmeticError,
    EOFError,
    zlib.error,
    LZMAError,
)

#: Commands of the tool, in the order in which --help lists them.
COMMANDS = (
    train,
    walks,
    evaluate,
    info,
    neighbours,
    similarity,
    vectors,
    convert,
    index,
    merge,
    align,
    changes,
    projector,
    tensorboard,
    plan,
    demo,
    cluster.task,
)

#: Further names of the command ``neighbours``, which --help does not list.
NEIGHBOURS_ALIASES = ("neighbors", "nn")


class CommandsWithClearFailures(Group):
    """Group of commands that reports expected failures on one line, with an exit status.

    The status is 2 for invalid input, 130 for Ctrl-C, and 143 for SIGTERM, which stops a command as
    cleanly as Ctrl-C does. Other exceptions are bugs and keep their traceback.
    """

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the command line."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt as error:
            common.fail_stopped(error)
        except BrokenPipeError:
            raise
        except BadInput as error:
            fail(common.one_line(error), status=2)
        except OSError as error:  # for example, --help is written to a full disk
            fail(common.failure_message(error), status=2)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a failure to write is reported below, not ignored at exit
            return result
        except (KeyboardInterrupt, common.Terminated) as error:
            is_training = ctx.invoked_subcommand == "train"
            common.fail_stopped(error, "; nothing was saved" if is_training else "")
        except (typer.Exit, typer.Abort):  # Typer exits by raising these RuntimeErrors
            raise
        except MemoryError as error:
            logging.getLogger(__name__).debug("the command failed", exc_info=True)
            fail(common.memory_error_message(error), status=2)
        except EXPECTED_ERRORS as error:
            if isinstance(error, BrokenPipeError) and common.is_unread():
                raise  # click exits silently with status 1
            logging.getLogger(__name__).debug("the command failed", exc_info=True)
            message = common.failure_message(error)
            if not isinstance(error, BadInput):
                message = re.sub(r"\bmonitor( is|=)", r"--early-stopping\1", message)
                message = message.replace("--early-stopping=", "--early-stopping ")
                message = name_options(message, self.commands[ctx.invoked_subcommand])
            fail(message, status=2)


def _terminate(*_: object) -> None:
    """Handle SIGTERM: raise `Terminated`."""
    raise common.Terminated


app = typer.Typer(
    name="tfw2v",
    cls=CommandsWithClearFailures,
    help="Train, evaluate and explore word2vec vectors.",
    epilog="Exit status: 0 done, 1 output not read to the end, 2 wrong usage or input, "
    "130 interrupted, 143 terminated.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def _print_version(version: bool) -> None:
    if version:
        typer.echo(f"tfw2v {__version__}")
        raise typer.Exit


_version = option("Show the version and exit.", "--version", callback=_print_version, is_eager=True)


@app.callback()
def options(version: Annotated[bool, _version] = False) -> None:
    """Declare the options of ``tfw2v`` itself, which precede the command."""


for command in COMMANDS:
    app.command(cls=Command)(command)
for alias in NEIGHBOURS_ALIASES:
    app.command(alias, cls=Command, hidden=True)(neighbours)
app.add_typer(cluster.app, name="cluster")


def main() -> None:
    """Run the tool with the arguments of this process, and exit."""
    with defer_interrupts():
        command = typer.main.get_command(app)
    run_and_exit(lambda: command(prog_name="tfw2v"))


if __name__ == "__main__":
    main()
