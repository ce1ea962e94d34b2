"""Helpers of all commands: declaring options, printing results, reporting failures."""

import contextlib
import errno
import functools
import logging
import os
import re
import select
import shlex
import signal
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
    """Print one line on stderr, with control characters escaped, and exit with `status`."""
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)
    with contextlib.suppress(OSError):  # the status is what is left if this disk is full, too
        print(f"tfw2v: {line}", file=sys.stderr)
    raise typer.Exit(status)


def is_unread() -> bool:
    """Return whether standard output or error is a pipe whose reader is gone."""
    poll = select.poll()
    poll.register(1)
    poll.register(2)
    return any(event & select.POLLERR for _, event in poll.poll(0))


class Terminated(SystemExit):
    """SIGTERM, which ends a command as cleanly as Ctrl-C does."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def fail_stopped(error: BaseException, kept: str = "") -> NoReturn:
    """Exit after Ctrl-C, with status 130 (128 + SIGINT), or after SIGTERM, with status 143."""
    if isinstance(error, Terminated):
        fail(f"terminated{kept}", status=143)
    fail(f"interrupted{kept}", status=130)


def one_line(error: BaseException) -> str:
    """Return an exception's message on one line; its type if it has no message."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


#: Advice for errors of the system.
CURES = {
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
    """Return an error on one line; with the file and what to do, if it is one of the system."""
    if not isinstance(error, OSError) or error.errno is None:
        return one_line(error)
    said = one_line(error)
    is_plain = error.strerror == os.strerror(error.errno)  # it has no cure of its own
    cure = CURES.get(error.errno) if is_plain else None
    return f"{said}; {cure}" if cure else said


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


#: Advice that only programs in Python can follow, at the end of messages.
_OF_PYTHON = re.compile(r"\. The model's vectors are lost, because they were trained in place: .*")

#: Values that a message quotes. Names that are followed by a quoted value have a "=" before it.
_QUOTED = re.compile(r"((?<![=\w])'[^']*'(?!\w))")

#: Words before a list of names of arguments, such as "a smaller alpha, window or negative".
_BEFORE_NAMES = r"set|leave out|lower|raise|a smaller|a larger"


def naming_options(message: str, command: Any) -> str:
    """Replace names of Python arguments in a message by those of the command's options."""
    parts = _QUOTED.split(_OF_PYTHON.sub("", message))
    return "".join(
        part if place % 2 else _name_options(part, command) for place, part in enumerate(parts)
    )


def _name_options(message: str, command: Any) -> str:
    """Replace the names outside of quoted values; see `naming_options`."""
    parameters = {PYTHON_NAMES.get(one.name, one.name): one for one in command.params}
    options = {name: max(one.opts, key=len) for name, one in parameters.items()}
    options = {name: option for name, option in options.items() if option.startswith("--")}
    one_of = rf"\b({'|'.join(options) or '(?!)'})\b(?![\w./(=-])"
    message = re.sub(
        rf"\b(?:{_BEFORE_NAMES}) {one_of}((, or|,| or| and) {one_of})*",
        lambda names: re.sub(rf"(?<!-){one_of}", lambda name: options[name[1]], names[0]),
        message,
    )
    for name, one in parameters.items():
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
    # Older versions of Typer convert a value, such as a path, before it is in `context.params` only
    # if the option has a callback.
    settings.setdefault("callback", _same_value)
    return typer.Option(*names, help=help, **settings)


def given(context: typer.Context) -> dict[str, Any]:
    """Return the values of the options that the user has set, by name."""
    values = context.params.items()
    # compare the source's name, because str(source) depends on the version of click
    source = context.get_parameter_source
    return {n: v for n, v in values if "DEFAULT" not in getattr(source(n), "name", "")}


def _same_value(value: Any) -> Any:
    """Return the value of an option unchanged."""
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
        'JSON or YAML file with the addresses of all tasks, such as {"ps": ["10.0.0.2:2222"], '
        '"worker": ["10.0.0.3:2222"]}, instead of TF_CONFIG.'
    ),
]
PsTasks = Annotated[int, option("Number of ps tasks, which hold the vectors.", min=1, max=9999)]
WorkerTasks = Annotated[int, option("Number of worker tasks, which train.", min=1, max=9999)]
