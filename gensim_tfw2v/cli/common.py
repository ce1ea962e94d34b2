"""Helpers of all commands: declaring options, printing results, reporting failures."""

import contextlib
import errno
import logging
import os
import select
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from gensim_tfw2v.messages import LOG_FORMAT


class BadInput(Exception):
    """Invalid input from the user; the message states the input and what to do instead."""


def fail(message: str, *, status: int) -> NoReturn:
    """Print one line on stderr, with control characters escaped, and exit with `status`."""
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)
    with contextlib.suppress(OSError):  # disk full: the exit status still reports the failure
        print(f"tfw2v: {line}", file=sys.stderr)
    raise typer.Exit(status)


def is_unread() -> bool:
    """Return whether standard output or error is a pipe without a reader."""
    poll = select.poll()
    poll.register(1)
    poll.register(2)
    return any(event & select.POLLERR for _, event in poll.poll(0))


class Terminated(SystemExit):
    """Exception for SIGTERM, which stops a command as cleanly as Ctrl-C does."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def fail_stopped(error: BaseException, result: str = "") -> NoReturn:
    """Exit after Ctrl-C, with status 130 (128 + SIGINT), or after SIGTERM, with status 143.

    `result` is appended to the message: it states which files were saved.
    """
    if isinstance(error, Terminated):
        fail(f"terminated{result}", status=143)
    fail(f"interrupted{result}", status=130)


def one_line(error: BaseException) -> str:
    """Return an exception's message on one line, or its type if it has no message."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


#: Advice for errors of the operating system, by error number.
ADVICE_BY_ERRNO = {
    errno.ENOENT: "check the path",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "a part of this path is a file; give a different path",
    errno.EACCES: "change its permissions, or give a different path",
    errno.EPERM: "change its permissions, or give a different path",
    errno.EROFS: "give a different folder",
    errno.ENOSPC: "free some space, or use a different disk",
    errno.EDQUOT: "free some space, or use a different disk",
    errno.ENAMETOOLONG: "give a shorter path",
}


def failure_message(error: Exception) -> str:
    """Return an error on one line; errors of the system get the file and advice."""
    message = one_line(error)
    if not isinstance(error, OSError) or error.errno is None:
        return message
    # Advice is added only to the system's own text. Errors that we raise contain advice already.
    is_plain = error.strerror == os.strerror(error.errno)
    advice = ADVICE_BY_ERRNO.get(error.errno) if is_plain else None
    return f"{message}; {advice}" if advice else message


def memory_error_message(error: MemoryError) -> str:
    """Return one line with the error's message and the memory that is available."""
    import psutil  # imported here because most commands do not need it

    gib = 1 << 30
    limits = [f"{psutil.virtual_memory().available / gib:.1f} GiB of memory are available"]
    with contextlib.suppress(ImportError):  # Windows has no module `resource`
        import resource

        address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
        if address_space != resource.RLIM_INFINITY:
            limits.append(f"ulimit -v is {address_space / gib:.1f} GiB")
    needed = "" if not error.args else f": {one_line(error)}"
    return f"too little memory{needed}. {', '.join(limits)}"


def print_rows(rows: Iterable[tuple[str, object]], saved: Iterable[Path] = ()) -> None:
    """Print a line per result that is not None, and per saved file: a name and a value."""
    for name, value in (*rows, *(("saved", path) for path in saved)):
        if value is not None:
            print(f"{name:<11}{value}")


def print_neighbours(neighbours: dict[str, list[tuple[Any, float]]]) -> None:
    """Print the neighbours ``{query: [(word, similarity), …]}`` as a table."""
    rows = [
        [query, str(word), f"{similarity:.6f}"]
        for query, pairs in neighbours.items()
        for word, similarity in pairs
    ]
    print_table(["word", "neighbour", "similarity"], rows)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on a terminal, and tab-separated values to a file or pipe."""
    if not sys.stdout.isatty():
        print(*("\t".join(row) for row in (headings, *rows)), sep="\n")
        return
    from rich.console import Console  # rich is slow to import, and most commands print no table
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text does not parse "[b]" as markup
    Console(highlight=False).print(table)


def option(help: str, *names: str, **settings: Any) -> Any:
    """Declare an option by its help, its names and further settings of Typer.

    By default, the name is that of the parameter.
    """
    # Older versions of Typer leave values in `context.params` unconverted (str instead of Path),
    # unless the option has a callback. So every option gets one.
    settings.setdefault("callback", _same_value)
    return typer.Option(*names, help=help, **settings)


def find_user_options(context: typer.Context) -> dict[str, Any]:
    """Return the values of the options that the user has set, by name."""
    options = {}
    for name, value in context.params.items():
        # Sources are compared by name, because str(source) depends on the version of click.
        source = getattr(context.get_parameter_source(name), "name", "")
        if "DEFAULT" not in source:
            options[name] = value
    return options


def _same_value(value: Any) -> Any:
    """Return the value of an option unchanged."""
    return value


def _turn_on_log(verbose: bool) -> bool:
    """Log to stderr if --verbose is set; the callback of that option."""
    if verbose:
        logging.basicConfig(format=LOG_FORMAT, level=logging.INFO, stream=sys.stderr, force=True)
        logging.getLogger("gensim_tfw2v").setLevel(logging.DEBUG)
    return verbose


#: The option --verbose, which every command has.
Verbose = Annotated[
    bool,
    option(
        "Log to stderr in gensim's format, with a traceback on failure.",
        "--verbose",
        "-v",
        callback=_turn_on_log,
    ),
]

#: End of the help of arguments for models, after "Model" or "Models".
READABLE = "or vectors, in any format that `evaluate` reads."

# Arguments and options of several commands.
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=f"Model {READABLE}")]
Output = Annotated[Path, option("Where to save the model (gensim's format).", "--output", "-o")]
Vectors = Annotated[
    Path | None,
    option("Also write only the vectors: as text, or by suffix (.bin, .npz, .kv)."),
]
Json = Annotated[bool, option("Print JSON instead of text.", "--json")]
Encoding = Annotated[
    str, option("Encoding of a MODEL in word2vec's text or binary format: latin-1, cp1252, ...")
]
Documents = Annotated[
    bool, option("Use the vectors of documents, by tag, instead of words.", "--documents")
]
Binary = Annotated[bool, option("Write --vectors in word2vec's binary format.", "--binary")]
Hosts = Annotated[
    Path | None,
    option(
        'JSON or YAML file with the addresses of all tasks, such as {"chief": ["10.0.0.1:2222"], '
        '"ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}, instead of TF_CONFIG.'
    ),
]
PsTasks = Annotated[int, option("Number of ps tasks, which hold the vectors.", min=1, max=9999)]
WorkerTasks = Annotated[int, option("Number of worker tasks, which train.", min=1, max=9999)]
