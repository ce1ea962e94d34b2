"""Loading a set of files, although an interrupted or concurrent save may replace it.

`set_replacement` describes such saves.
"""

import errno
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gensim_tfw2v.files import set_replacement

T = TypeVar("T")

#: Maximum number of attempts to load a set that other processes are replacing.
MAX_ATTEMPTS = 3


class FileSetError(ValueError):
    """Files that were not saved together, or that another process replaced during loading.

    The message contains their names. To repair the set, restore all files from one backup, or save
    again.
    """


def load_set(path: Path, load: Callable[[], T]) -> T:
    """Return the result of `load`, which loads a set with the main file `path`.

    An interrupted replacement is finished first. If `load` fails, and another process has replaced
    the main file meanwhile, `load` is called again.

    Raises
    ------
    FileNotFoundError
        If an interrupted replacement cannot be finished here.
    FileSetError
        If another process has replaced the set during each attempt.
    Exception
        Any error of `load`.
    """
    for _ in range(MAX_ATTEMPTS):
        find_set(path)
        version = file_version(path)
        try:
            return load()
        except Exception as error:
            find_set(path)  # another process may be replacing the main file
            if file_version(path) == version:
                raise
            last_error = error
    raise FileSetError(
        f"another process replaced {path.name} {MAX_ATTEMPTS} times while it was loaded: load it "
        "again"
    ) from last_error


def file_version(path: Path) -> tuple[int, ...]:
    """Return numbers that change when a file is replaced.

    The result is empty if the file is missing or not a regular file.
    """
    try:
        status = path.stat()
    except OSError:
        return ()
    if not stat.S_ISREG(status.st_mode):
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def find_set(path: Path) -> None:
    """Finish an interrupted replacement of a set, or wait for a running one, if `path` is missing.

    Raises
    ------
    FileNotFoundError
        If an interrupted replacement cannot be finished here. Nothing is raised if the file is
        missing for a different reason.
    """
    if path.exists():
        return
    deadline = time.monotonic() + set_replacement.MAX_WAIT
    while not path.exists():
        target = path.resolve()
        new_files = set_replacement.finish_replacements(target.parent).get(target)
        if new_files is None:
            return
        if time.monotonic() > deadline:
            raise FileNotFoundError(
                errno.ENOENT,
                "saving it was interrupted, and this process cannot finish it; load it once with "
                f"write access to its folder, or move the files of {new_files} next to it",
                str(path),
            )
        time.sleep(set_replacement.MAX_WAIT / 100)
