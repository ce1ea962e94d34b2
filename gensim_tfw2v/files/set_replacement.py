"""Replacing a set of files as one thing.

A saved model may consist of several files: a main file and files of arrays, or a folder of JSON and
arrays. File systems replace one file at a time. So a process that is killed between two files could
leave a mixture of two saves.

The law: the files of two saves never have their final names at the same time. The complete new
files are in a hidden folder next to the set. Then the old files are moved out, the main file first,
and the new files are moved in, the main file last. So if the main file is missing, a replacement
was interrupted. Every step can be repeated, and the next load or save in that folder finishes it:
see `file_set`. If the main file exists, all files are those of the old save or all are those of the
new one.
"""

import contextlib
import errno
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gensim_tfw2v.files.temporary import (
    KEPT,
    OWNED,
    PREFIX,
    TemporaryFolder,
    is_own,
    remove,
    try_lock,
)
from gensim_tfw2v.processes.threads import defer_interrupts

logger = logging.getLogger(__name__)

#: Kind of the hidden folders, see `TemporaryFolder`.
KIND = "saving"

#: Subfolder of a hidden folder for the complete new files.
NEW = "new"

#: Subfolder of a hidden folder for the old files that were moved out.
OLD = "old"

#: Maximum time in seconds to wait for another process that replaces a set. It needs milliseconds.
MAX_WAIT = 2.0


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
        If a file cannot be replaced. All old files then have their names.
    """
    with contextlib.ExitStack() as stack:
        staged_files = _stage(folder, path, names, stack)
        if len(names) == 1:
            for file in staged_files:
                file.copy_mode()
                file.new.replace(file.target)  # replacing a single file is atomic
            return
        stack.enter_context(defer_interrupts())
        stack.enter_context(_lock(folder.parent))
        for file in staged_files:
            file.copy_mode()
        (folder / OLD).mkdir()
        _write_list(folder / KEPT, path, names)
        error = _exchange(staged_files)
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
                if not is_own(hidden) or not try_lock(owned):
                    continue
                # Without this lock, the main file could be missing because a third process is
                # replacing the set.
                with contextlib.ExitStack() as stack, _lock(hidden.parent):
                    if not path.exists():
                        is_complete = all(
                            (hidden / NEW / name).exists() or (path.parent / name).exists()
                            for name in names
                        )
                        if not is_complete:  # somebody has removed files
                            del missing[path.resolve()]
                            continue
                        error = _exchange(_stage(hidden, path, names, stack))
                        if error is not None:
                            raise error  # the list remains for the next attempt
                        logger.warning("%s: finished a save that was interrupted", path)
                list_file.unlink(missing_ok=True)
                missing.pop(path.resolve(), None)
                remove(hidden)
    return missing


class _Staged(NamedTuple):
    """New file, its final path, and the path to which the old file is moved."""

    new: Path
    target: Path
    old: Path

    def copy_mode(self) -> None:
        """Give the new file the permissions of the old one, if that exists."""
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(self.target, self.new)


def _stage(
    folder: Path, path: Path, names: Sequence[str], stack: contextlib.ExitStack
) -> list[_Staged]:
    """Return the files that have not been moved yet, after copying each to the disk of its target.

    `stack` closes the temporary folders of the copies.
    """
    staged_files = []
    for name in names:
        target = Path(os.path.realpath(path.parent / name))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        new = folder / NEW / name
        old = folder / OLD / name
        if not new.exists():  # the process that was killed has moved it
            continue
        if target.parent != folder.parent:  # a link leads there, maybe to a different disk
            link_folder = stack.enter_context(TemporaryFolder(KIND, target.parent, is_hidden=True))
            new = Path(shutil.copyfile(new, link_folder / NEW))
            old = link_folder / OLD
        staged_files.append(_Staged(new, target, old))
    return staged_files


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder, so that processes replace sets in it one by one; without locks, do nothing."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        deadline = time.monotonic() + MAX_WAIT
        while try_lock(descriptor) is False and time.monotonic() < deadline:
            time.sleep(MAX_WAIT / 1000)
        yield
    finally:
        os.close(descriptor)


def _write_list(list_file: Path, path: Path, names: Sequence[str]) -> None:
    """Write the list of a set's files, which `finish_replacements` reads."""
    main_folder = path.parent.resolve()
    # "" is the folder of the hidden folder, which can be renamed
    folder = "" if main_folder == list_file.parent.parent.resolve() else str(main_folder)
    unfinished = list_file.with_suffix(".new")
    unfinished.write_text(json.dumps({"folder": folder, "names": list(names)}), "utf-8")
    unfinished.replace(list_file)


def _exchange(staged_files: Sequence[_Staged]) -> BaseException | None:
    """Move old files out and new files in; after an error, move all back, and return the error.

    If a file cannot be moved back, an error is raised.
    """
    moves = [(file.target, file.old) for file in reversed(staged_files) if file.target.exists()]
    moves += [(file.new, file.target) for file in staged_files]
    n_moved = 0
    try:
        for source, target in moves:
            source.rename(target)
            n_moved += 1
    except BaseException as error:
        for source, target in reversed(moves[:n_moved]):
            target.rename(source)
        return error
    return None
