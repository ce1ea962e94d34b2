"""Atomic writing of files: they appear only when complete."""

import contextlib
import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gensim_tfw2v.files.file_set import KIND, NEW, finish_replacements, replace_set
from gensim_tfw2v.files.set_marks import mark_arrays
from gensim_tfw2v.files.temporary import TemporaryFolder

#: Function that writes to its argument: the name of a file, which may get further files next to it,
#: or an open file.
Write = Callable[[str | IO[bytes]], object]

STDOUT = 1


def save_atomically(path: Path, write: Write) -> list[Path]:
    """Call `write` to make the file `path`, and the files that gensim puts next to it: all or none.

    Files are written to a hidden folder under their final names, and replace older ones as a set
    when all are complete: see `file_set`. gensim's files of arrays are marked: see `set_marks`.
    Links are kept, and their targets replaced. gensim's log messages and an OSError name the final
    files. After an error, older files of these names are unchanged. Returns the written files,
    `path` last.

    If `path` cannot be replaced, for example because it is a device, `write` is called with an open
    file instead.
    """
    hidden = ""
    final_folder = str(path.parent.absolute())

    def shown(text: str) -> str:
        return text.replace(hidden, final_folder) if hidden else text

    def renamed(record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(shown(x) if isinstance(x, str) else x for x in record.args)
        return True

    try:
        if (real := replaceable(path)) is None:
            with _opened(path) as opened:
                write(opened)
            return [path]
        with contextlib.ExitStack() as stack:
            finish_replacements(real.parent)
            folder = stack.enter_context(TemporaryFolder(KIND, real.parent, is_hidden=True))
            new = folder / NEW
            new.mkdir()
            hidden = str(new)
            gensims = logging.getLogger("gensim.utils")
            gensims.addFilter(renamed)
            stack.callback(gensims.removeFilter, renamed)
            write(str(new / path.name))
            names = sorted((file.name for file in new.iterdir()), key=path.name.__eq__)
            mark_arrays(new / path.name, [new / name for name in names[:-1]])
            replace_set(folder, path, names)
            return [path.parent / name for name in names]
    except OSError as error:
        if error.errno is not None:
            name = error.filename if hidden and isinstance(error.filename, str) else str(path)
            error.filename = shown(name)
        raise


def save_local(name: object, write: Callable[..., object]) -> None:
    """Save to a local file by `save_atomically`, and to a URL or open file directly, as gensim."""
    name = os.fspath(name) if isinstance(name, Path) else name
    if isinstance(name, str) and "://" not in name:
        save_atomically(Path(name).expanduser(), write)
    else:
        write(name)


def replaceable(path: Path) -> Path | None:
    """Return the regular file, existing or not, that a path leads to through links.

    Returns None if it cannot be replaced: a device, a pipe, this process's standard output, or a
    file in a folder in which no files can be made.
    """
    real = Path(os.path.realpath(path))
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return real
    is_file = stat.S_ISREG(found.st_mode) and not _is_stdout(found)
    folders = real.parent, path.parent  # also a link's folder: arrays are saved next to it
    is_free = all(os.access(folder, os.W_OK | os.X_OK) for folder in folders)
    return real if is_file and is_free else None


def _is_stdout(found: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(found, os.fstat(STDOUT))
    return False


def _opened(path: Path) -> IO[bytes]:
    """Open a path that cannot be replaced; standard output at its current position."""
    if path.exists() and _is_stdout(path.stat()):
        with contextlib.suppress(AttributeError):  # sys.stdout is None
            sys.stdout.flush()
        return os.fdopen(os.dup(STDOUT), "wb")
    return path.open("wb")
