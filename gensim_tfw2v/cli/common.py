"""Helpers of all commands: declaring options, printing results, reporting failures."""

import contextlib
import functools
import logging
import math
import re
import select
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

#: Names in Python of options whose name on the command line would be ambiguous.
PYTHON_NAMES = {"table_encoding": "encoding"}


class BadInput(Exception):
    """Invalid input from the user; the message states the input and what to do instead."""


def fail(message: str, *, status: int) -> NoReturn:
    """Print one line on stderr and exit with `status`."""
    print(f"tfw2v: {message}", file=sys.stderr)
    raise typer.Exit(status)


def is_unread() -> bool:
    """Return whether standard output or error is a pipe whose reader is gone."""
    poll = select.poll()
    poll.register(1)
    poll.register(2)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def fail_interrupted(what: str = "") -> NoReturn:
    """Exit as after Ctrl-C, with status 130 (128 + SIGINT)."""
    fail(f"interrupted{what}", status=130)


def one_line(error: BaseException) -> str:
    """Return an exception's message on one line; its type if it has no message."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def memory_error_message(error: MemoryError) -> str:
    """Return one line that says what was needed, as the error does, and what there is."""
    import psutil  # most commands do not need it

    gib = 1 << 30
    limits = [f"{psutil.virtual_memory().available / gib:.1f} GiB of memory are available"]
    with contextlib.suppress(ImportError):  # Windows
        import resource

        address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
        if address_space != resource.RLIM_INFINITY:
            limits.append(f"ulimit -v is {address_space / gib:.1f} GiB")
    needed = "" if not error.args else f": {one_line(error)}"
    return f"too little memory{needed}. {', '.join(limits)}"


def naming_options(message: str, command: Any) -> str:
    """Replace names of Python arguments in a message by those of the command's options."""
    options = {PYTHON_NAMES.get(one.name, one.name): one for one in command.params}
    for name, one in options.items():
        typed = max(one.opts, key=len)
        start = rf"(?<!the )(?<![\w./'-]){name}"
        # names without "_" are ordinary words too: replace them only before such verbs
        named = r"(?![\w./(=-])" if "_" in name else "(?= is | must | needs )"
        if typed.startswith("--"):
            if one.is_flag:
                message = re.sub(f"{start}=(True|1)", typed, message)
                off = (one.secondary_opts or [typed])[0]
                message = re.sub(f"{start}=(False|0|None)", off, message)
            typed_value = functools.partial(_type_value, typed)
            message = re.sub(rf"{start}='([^' ]+)'", typed_value, message)
            message = re.sub(f"{start}=", f"{typed} ", message)
            message = re.sub(start + named, typed, message)
    return message


def _type_value(option: str, literal: re.Match[str]) -> str:
    """Return an option and the value of a Python string literal, as they are typed in a shell."""
    value = literal[1].replace("\\\\", "\\")
    return f"{option} {shlex.quote(value)}"


def print_rows(rows: Iterable[tuple[str, object]], saved: Iterable[Path] = ()) -> None:
    """Print a line for each result that is not None and each saved file, with its name first."""
    for name, value in (*rows, *(("saved", path) for path in saved)):
        if value is not None:
            print(f"{name:<11}{value}")


def print_neighbours(found: dict[str, list[tuple[Any, float]]]) -> None:
    """Print ``{query: [(word, similarity), …]}`` as `print_table` does."""
    rows = [
        [query, str(word), f"{similarity:.6f}"]
        for query in found
        for word, similarity in found[query]
    ]
    print_table(["word", "neighbour", "similarity"], rows)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on a terminal, and tab-separated values to a file or pipe."""
    if not sys.stdout.isatty():
        print(*("\t".join(row) for row in (headings, *rows)), sep="\n")
        return
    from rich.console import Console  # slow to import, and most commands print no table
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings)
    for row in rows:
        table.add_row(*map(Text, row))  # Text, so that "[b]" in a word is not parsed as markup
    Console(highlight=False).print(table)


def option(help: str, *names: str, **settings: Any) -> Any:
    """Declare an option: help, names (by default from the parameter), and further settings."""
    settings.setdefault("callback", _check_finite)
    return typer.Option(*names, help=help, **settings)


def given(context: typer.Context) -> dict[str, Any]:
    """Return the values of the options that the user has set, by name."""
    values = context.params.items()
    # compare the source's name, because str(source) depends on the version of click
    source = context.get_parameter_source
    return {n: v for n, v in values if "DEFAULT" not in getattr(source(n), "name", "")}


def _check_finite(value: Any) -> Any:
    """Raise for infinity, and for NaN, which passes the checks of limits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def _turn_on_log(verbose: bool) -> bool:
    if verbose:
        form = "%(asctime)s : %(levelname)s : %(message)s"  # the format of gensim's documentation
        logging.basicConfig(format=form, level=logging.INFO, stream=sys.stderr, force=True)
        logging.getLogger("gensim_tfw2v").setLevel(logging.DEBUG)
    return verbose


#: Option of every command.
Verbose = Annotated[
    bool,
    option(
        "Log to stderr in gensim's format, with a traceback on failure.",
        *("--verbose", "-v"),
        callback=_turn_on_log,
    ),
]

READABLE = "or vectors, in any format that `evaluate` reads."
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=f"Model {READABLE}")]
Output = Annotated[Path, option("Where to save the model (gensim's format).", "--output", "-o")]
Vectors = Annotated[
    Path | None,
    option("Also write only the vectors: as text, or by suffix (.bin, .npz, .kv)."),
]
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
        'JSON or YAML file with the addresses of all tasks, such as {"ps": ["10.0.0.2:2222"], '
        '"worker": ["10.0.0.3:2222"]}, instead of TF_CONFIG.'
    ),
]
PsTasks = Annotated[int, option("Number of ps tasks, which hold the vectors.", min=1)]
WorkerTasks = Annotated[int, option("Number of worker tasks, which train.", min=1)]
