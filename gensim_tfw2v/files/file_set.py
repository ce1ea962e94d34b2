"""Loading of a set of files that an interrupted or concurrent save may be replacing.

`set_replacement` describes how saves replace a set.
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
    """Error for files that were not saved together, or that were replaced while they were loaded.

    The message contains the names of the files. To repair a set of files, restore all of them from
    one backup, or save the model again.
    """


def load_set(path: Path, load: Callable[[], T]) -> T:
    """Load a set of files with the main file `path`: call `load`, and return its result.

    An interrupted replacement of the set is finished first. If `load` raises an error, and another
    process has replaced the main file meanwhile, `load` is called again.

    Raises
    ------
    FileNotFoundError
        If an interrupted replacement cannot be finished by this process.
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
            find_set(path)  # wait while another process replaces the main file
            if file_version(path) == version:
                raise
            last_error = error
    raise FileSetError(
        f"another process replaced {path.name} {MAX_ATTEMPTS} times while it was loaded: load it "
        "again"
    ) from last_error


def file_version(path: Path) -> tuple[int, ...]:
    """Return the version of a file: a tuple of numbers that differs after the file is replaced.

    The tuple is empty if the file is missing or not a regular file.
    """
    try:
        status = path.stat()
    except OSError:
        return ()
    if not stat.S_ISREG(status.st_mode):
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def find_set(path: Path) -> None:
    """Make sure that the main file `path` of a set exists, if a replacement has moved it away.

    If the file is missing, an interrupted replacement is finished, and a running one waited for.

    Raises
    ------
    FileNotFoundError
        If an interrupted replacement cannot be finished by this process. Nothing is raised if the
        file is missing for a different reason.
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
