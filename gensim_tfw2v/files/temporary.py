"""Temporary folders, removed with their owner, or later if the owner was killed.

A killed process removes nothing. So the owner of a folder holds a lock on a file in it, which the
system releases whenever the owner exits. A process that makes a folder first removes the folders
next to it whose lock is free. Process ids would not do: they are reused, and differ between
containers and between machines that share a file system.
"""

import contextlib
import functools
import logging
import os
import platform
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from gensim_tfw2v.processes.threads import defer_interrupts

try:
    import fcntl
except ImportError:  # not a POSIX system: folders of killed processes are kept
    fcntl: Any = None  # type: ignore[no-redef]

logger = logging.getLogger(__name__)

#: Prefix of the names of all temporary folders, after an optional dot.
PREFIX = "tfw2v-"

#: Name of the locked file. It differs between machines, because a shared file system may not share
#: locks between them.
OWNED = f".owned-on-{quote(platform.node(), safe='')}"

#: Name of a file that keeps a folder, and its content, from being removed: see `set_replacement`.
KEPT = "kept.json"


class TemporaryFolder:
    """New folder, removed by `close`, when garbage collected, or at the interpreter's exit.

    `folder` is its absolute path. Its name contains `kind`, the purpose. `parent` is by default the
    folder of `tempfile` (see TMPDIR). Before a process makes its first folder in a parent, it
    removes the folders that killed processes have left there.
    """

    def __init__(
        self, kind: str, parent: str | os.PathLike[str] | None = None, is_hidden: bool = False
    ) -> None:
        # The path is absolute, because other processes have different working directories.
        parent = Path(parent or tempfile.gettempdir()).absolute()
        _remove_abandoned(parent)
        prefix = f".{PREFIX}{kind}-" if is_hidden else f"{PREFIX}{kind}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock_new_folder(self.folder)
        self._finalizer = weakref.finalize(self, _finalize, self.folder, os.getpid(), lock)

    @defer_interrupts()  # an interrupted finalizer isn't called again
    def close(self) -> None:
        """Remove the folder and its content; idempotent."""
        self._finalizer()

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        self.close()


def check_folder(name: str, folder: str | os.PathLike[str]) -> None:
    """Check early that the folder of an argument can be made and written to.

    Raises
    ------
    OSError
        If the folder cannot be used; the message contains the argument, the folder and the reason.
    """
    reason = why_unwritable(folder)
    if reason:
        raise OSError(
            f"{name}={os.fspath(folder)!r}: cannot be written to ({reason}); use a different folder"
        )


def why_unwritable(folder: str | os.PathLike[str]) -> str:
    """Return the reason why a folder, existing or not, is not writable; empty if it is."""
    path = Path(folder).absolute()
    existing_folder = next(parent for parent in (path, *path.parents) if parent.exists())
    try:
        # permission bits are not reliable (read-only mounts, root), so make a folder there
        TemporaryFolder("trying", existing_folder, is_hidden=True).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _lock_new_folder(folder: Path) -> BinaryIO | None:
    """Lock a file in a new folder, and return it, to be kept open; None if locks do not work."""
    path = folder / f"{OWNED}.new"
    lock = path.open("wb")
    with path.open("wb") as second_file:
        works = try_lock(lock) and not try_lock(second_file)
    if works:
        path.rename(folder / OWNED)  # renamed after locking, so that no process sees it unlocked
        return lock
    lock.close()
    path.unlink()
    return None


def try_lock(file: BinaryIO | int) -> bool | None:
    """Lock an open file, or that of a descriptor, and return whether that was possible.

    The result is False if the file is already locked, and None if locks are not supported.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system does not support locks
        return None
    return True


def _finalize(folder: Path, owner: int, lock: BinaryIO | None) -> None:
    """Remove a folder if this is its owner's process, and release its lock."""
    is_owner = os.getpid() == owner  # a forked child must not remove its parent's folder
    if is_owner and not (folder / KEPT).exists():
        with contextlib.suppress(OSError):  # writers on remote machines fail then
            folder = folder.rename(folder.with_name(f"{folder.name}-removed"))
        remove(folder)
    if lock is not None:
        lock.close()


def is_temporary(folder: Path) -> bool:
    """Return whether a folder is a `TemporaryFolder`, which its owner removes."""
    return folder.name.startswith(PREFIX) and (folder / OWNED).exists()


def is_own(folder: Path) -> bool:
    """Return whether a path is a folder, not a link, that belongs to this process's user."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def remove(folder: Path) -> None:
    """Remove a folder, its lock file last, so that an interrupted removal can be finished."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != OWNED:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _remove_abandoned(parent: Path) -> None:
    """Remove the folders in a parent whose owners have exited; once per process."""
    with contextlib.suppress(OSError):
        for folder in [*parent.glob(f"{PREFIX}*"), *parent.glob(f".{PREFIX}*")]:
            with contextlib.suppress(OSError):
                if not is_own(folder) or (folder / KEPT).exists():
                    continue
                with (folder / OWNED).open("r+b") as file:
                    if try_lock(file):
                        logger.info("removed %s, left by a killed process", folder)
                        remove(folder)
