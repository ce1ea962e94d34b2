"""Replacing a set of files as one thing.

A saved model may consist of several files: a main file and files of arrays, or a folder of JSON and
arrays. File systems replace one file at a time. So a process that is killed between two files could
leave a mixture of two saves.

The law: the files of two saves never have their final names at the same time. The complete new
files are in a hidden folder next to the set. Then the old files are moved out, the main file first,
and the new files are moved in, the main file last. So if the main file is missing, a replacement
was interrupted. Every step can be repeated, and the next load or save in that folder finishes it.
If the main file exists, all files are those of the old save or all are those of the new one.
"""

import contextlib
import errno
import json
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from gensim_tfw2v.files.temporary import (
    KEPT,
    OWNED,
    PREFIX,
    TemporaryFolder,
    is_own,
    locked,
    remove,
)
from gensim_tfw2v.processes.threads import defer_interrupts

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: Kind of the hidden folders, see `TemporaryFolder`.
KIND = "saving"

#: Subfolders of a hidden folder: complete new files, and old files that were moved out.
NEW = "new"
OLD = "old"

#: Longest time in seconds to wait for another process that replaces a set; it needs milliseconds.
MAX_WAIT = 2.0

#: Number of attempts to load a set that is replaced meanwhile.
MAX_ATTEMPTS = 3


class FileSetError(ValueError):
    """Files that were not saved together, or that another process replaced during loading.

    The message contains their names. To repair the set, restore all files from one backup, or save
    again.
    """


def replace_set(folder: Path, path: Path, names: Sequence[str]) -> None:
    """Replace files by the complete new files in a hidden folder, or leave the old ones.

    Links are kept, and their targets replaced. New files get the permissions of old ones.

    Parameters
    ----------
    folder : Path
        Hidden folder in the folder of the main file's target, with the new files in ``new``.
    path : Path
        Main file.
    names : sequence of str
        Names of all files in the folder of `path`, the main file last.

    Raises
    ------
    OSError
        If a file cannot be replaced. The old files are in their places then.
    """
    with contextlib.ExitStack() as stack:
        staged = _stage(folder, path, names, stack)
        if len(names) == 1:
            for file in staged:
                file.copy_mode()
                file.new.replace(file.place)  # atomic without further steps
            return
        stack.enter_context(defer_interrupts())
        stack.enter_context(_lock(folder.parent))
        for file in staged:
            file.copy_mode()
        (folder / OLD).mkdir()
        _write_list(folder / KEPT, path, names)
        error = _exchange(staged)
        (folder / KEPT).unlink()
        if error is not None:
            raise error


def finish_replacements(folder: Path) -> dict[Path, str]:
    """Finish replacements of sets in a folder whose processes were killed.

    Returns the main files of sets that are still missing, because another process is replacing them
    or because this process cannot, with the hidden folders of their new files. Paths are absolute,
    without links.
    """
    missing: dict[Path, str] = {}
    for list_file in sorted(folder.resolve().glob(f".{PREFIX}{KIND}-*/{KEPT}")):
        hidden = list_file.parent
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            content = json.loads(list_file.read_text("utf-8"))
            names = content["names"]
            path = hidden.parent / content["folder"] / names[-1]
            if not path.exists():
                missing[path.resolve()] = str(hidden / NEW)
            with (hidden / OWNED).open("r+b") as owned:
                if not is_own(hidden) or not locked(owned):
                    continue
                # without the lock, the set could be missing because a third process replaces it
                with contextlib.ExitStack() as stack, _lock(hidden.parent):
                    if not path.exists():
                        new = (hidden / NEW / name for name in names)
                        if not all(x.exists() or (path.parent / x.name).exists() for x in new):
                            del missing[path.resolve()]  # somebody has removed files
                            continue
                        error = _exchange(_stage(hidden, path, names, stack))
                        if error is not None:
                            raise error  # the list stays, for the next attempt
                        logger.warning("%s: finished a save that was interrupted", path)
                list_file.unlink(missing_ok=True)
                missing.pop(path.resolve(), None)
                remove(hidden)
    return missing


def load_set(path: Path, load: Callable[[], T]) -> T:
    """Return what `load` loads from a set with the main file `path`.

    An interrupted replacement is finished first. If `load` fails, and the main file has been
    replaced meanwhile, it is called again.

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
    """Return what differs after a file was replaced; empty if it is missing or no regular file."""
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
        If the replacement cannot be finished here. Without one, nothing is raised.
    """
    if path.exists():
        return
    end = time.monotonic() + MAX_WAIT
    while not path.exists():
        real = path.resolve()
        new_files = finish_replacements(real.parent).get(real)
        if new_files is None:
            return
        if time.monotonic() > end:
            raise FileNotFoundError(
                errno.ENOENT,
                "saving it was interrupted, and this process cannot finish it; load it once with "
                f"write access to its folder, or move the files of {new_files} next to it",
                str(path),
            )
        time.sleep(MAX_WAIT / 100)


class _Staged(NamedTuple):
    """New file, its final place, and the path to which an old file is moved."""

    new: Path
    place: Path
    old: Path

    def copy_mode(self) -> None:
        """Give the new file the permissions of the old one, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(self.place, self.new)


def _stage(
    folder: Path, path: Path, names: Sequence[str], stack: contextlib.ExitStack
) -> list[_Staged]:
    """Return the files that are still to be moved, all on the disks of their places.

    Temporary folders for files on different disks are closed by `stack`.
    """
    staged = []
    for name in names:
        place = Path(os.path.realpath(path.parent / name))
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
        new = folder / NEW / name
        old = folder / OLD / name
        if not new.exists():  # moved by the process that was killed
            continue
        if place.parent != folder.parent:  # the target of a link, maybe on a different disk
            there = stack.enter_context(TemporaryFolder(KIND, place.parent, is_hidden=True))
            new = Path(shutil.copyfile(new, there / NEW))
            old = there / OLD
        staged.append(_Staged(new, place, old))
    return staged


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder, so that processes replace sets in it one by one; without locks, do nothing."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + MAX_WAIT
        while locked(descriptor) is False and time.monotonic() < end:
            time.sleep(MAX_WAIT / 1000)
        yield
    finally:
        os.close(descriptor)


def _write_list(list_file: Path, path: Path, names: Sequence[str]) -> None:
    """Write the list of a set's files, from which `finish_replacements` finishes."""
    home = path.parent.resolve()
    # relative if possible, because the folder can be renamed
    folder = "" if home == list_file.parent.parent.resolve() else str(home)
    unfinished = list_file.with_suffix(".new")
    unfinished.write_text(json.dumps({"folder": folder, "names": list(names)}), "utf-8")
    unfinished.replace(list_file)


def _exchange(staged: Sequence[_Staged]) -> BaseException | None:
    """Move old files out and new files in; after an error, move all back, and return the error.

    If a file cannot be moved back, an error is raised.
    """
    moves = [(file.place, file.old) for file in reversed(staged) if file.place.exists()]
    moves += [(file.new, file.place) for file in staged]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            source.rename(target)
            done.append((source, target))
    except BaseException as error:
        for source, target in reversed(done):
            target.rename(source)
        return error
    return None
