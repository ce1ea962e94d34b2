"""Replacement of a set of files: all of its files are replaced, or none.

A saved model may consist of several files: a main file and files of arrays, or a folder of JSON and
arrays. File systems replace one file at a time. So a process that is killed between two files could
leave a mixture of two saves.

To prevent this, files of two saves never have their final names at the same time. All new files are
first completed in a hidden folder next to the set. Then the old files are moved out, the main file
first, and the new files are moved in, the main file last. So if the main file exists, all files are
from the same save, the old or the new one. If it is missing, a replacement is running or was
interrupted. The next load or save in that folder finishes an interrupted replacement (see
`file_set`), which is possible because every step can be repeated.
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

#: Kind of the hidden folders, a part of their names: see `TemporaryFolder`.
KIND = "saving"

#: Subfolder of a hidden folder for the complete new files.
NEW = "new"

#: Subfolder of a hidden folder for the old files that were moved out.
OLD = "old"

#: Maximum time in seconds to wait while another process replaces a set, which takes milliseconds.
MAX_WAIT = 2.0


def replace_set(folder: Path, path: Path, names: Sequence[str]) -> None:
    """Replace all files of a set by the new files in a hidden folder; after an error, none.

    If a file is a link, the target of the link is replaced. New files get the permissions of the
    old files.

    Parameters
    ----------
    folder : Path
        Hidden folder. It is in the folder of the main file (or of its target, if the main file is a
        link), and contains the new files in its subfolder ``new``.
    path : Path
        Main file.
    names : sequence of str
        Names of all files of the set, the main file last. They are in the folder of `path`.

    Raises
    ------
    OSError
        If a file cannot be replaced. All old files then have their final names.
    """
    with contextlib.ExitStack() as stack:
        staged_files = _stage(folder, path, names, stack)
        if len(names) == 1:
            for file in staged_files:
                file.copy_mode()
                try:
                    file.new.replace(file.target)  # replacing a single file is atomic
                except OSError as failure:
                    _copy_instead(failure, staged_files)
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
            _copy_instead(error, staged_files)


def finish_replacements(folder: Path) -> dict[Path, str]:
    """Finish the replacements of sets in a folder that killed processes have interrupted.

    Some main files may still be missing, because another process is replacing their sets, or
    because this process cannot finish the replacement. Returns these main files, as absolute paths
    without links, with the hidden folders that contain their new files.
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
                # Without the lock of the folder, the main file could be missing because a third
                # process is replacing the set.
                with contextlib.ExitStack() as stack, _lock(hidden.parent):
                    if not path.exists():
                        is_complete = all(
                            (hidden / NEW / name).exists() or (path.parent / name).exists()
                            for name in names
                        )
                        if not is_complete:
                            # new files were removed, so the replacement cannot be finished
                            del missing[path.resolve()]
                            continue
                        error = _exchange(_stage(hidden, path, names, stack))
                        if error is not None:
                            raise error  # `list_file` remains, for the next attempt
                        logger.warning("%s: finished a save that was interrupted", path)
                list_file.unlink(missing_ok=True)
                missing.pop(path.resolve(), None)
                remove(hidden)
    return missing


class _Staged(NamedTuple):
    """Paths of a file of a set: of the new file, its target, and where the old file is moved to."""

    new: Path
    target: Path
    old: Path

    def copy_mode(self) -> None:
        """Give the new file the permissions of the old file, if there is an old file."""
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(self.target, self.new)


def _stage(
    folder: Path, path: Path, names: Sequence[str], stack: contextlib.ExitStack
) -> list[_Staged]:
    """Return the files of a set that are not at their targets yet.

    A new file whose target is in a different folder is first copied there, because a file cannot be
    moved between disks atomically. `stack` closes the temporary folders of these copies.
    """
    staged_files = []
    for name in names:
        target = Path(os.path.realpath(path.parent / name))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        new = folder / NEW / name
        old = folder / OLD / name
        if not new.exists():  # a killed process has already moved the file to its target
            continue
        if target.parent != folder.parent:  # the target of a link, maybe on a different disk
            link_folder = stack.enter_context(TemporaryFolder(KIND, target.parent, is_hidden=True))
            new = Path(shutil.copyfile(new, link_folder / NEW))
            old = link_folder / OLD
        staged_files.append(_Staged(new, target, old))
    return staged_files


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder, so that only one process at a time replaces sets in it.

    Without support for locks, or after `MAX_WAIT`, the context is entered without the lock.
    """
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
    """Write the list of a set's files, which `finish_replacements` reads after an interruption."""
    main_folder = path.parent.resolve()
    # "" stands for the folder that contains the hidden folder, even after this folder is renamed.
    folder = "" if main_folder == list_file.parent.parent.resolve() else str(main_folder)
    unfinished = list_file.with_suffix(".new")
    unfinished.write_text(json.dumps({"folder": folder, "names": list(names)}), "utf-8")
    unfinished.replace(list_file)


def _exchange(staged_files: Sequence[_Staged]) -> BaseException | None:
    """Move old files out and new files in; return None.

    After an error, all files are moved back, and the error is returned. If a file cannot be moved
    back, an error is raised, and the set remains half replaced.
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


def _copy_instead(error: BaseException, staged_files: Sequence[_Staged]) -> None:
    """Copy new files over their targets after an error, if it says that a target cannot be moved.

    Otherwise the error is raised. A file that is mounted alone, as in containers, can be written to
    but not moved. Copying is not atomic, but without it, the new files would be lost.
    """
    if not isinstance(error, OSError) or error.errno not in (errno.EPERM, errno.EBUSY):
        raise error
    for file in reversed(staged_files):  # the main file first, because its error changes nothing
        shutil.copyfile(file.new, file.target)
