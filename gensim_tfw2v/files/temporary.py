"""Temporary folders, which are removed when their owner exits, even if it was killed.

The owner of a folder is the process that has created it. A killed process cannot remove its folders
itself. So each owner holds a lock on a file in its folder, which the system releases whenever the
process exits. A process that creates a folder first removes all folders next to it whose lock is
free. Process ids could not replace the locks: ids are reused, and differ between containers and
between machines that share a file system.
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
except ImportError:  # without POSIX locks, folders of killed processes remain
    fcntl: Any = None  # type: ignore[no-redef]

logger = logging.getLogger(__name__)

#: Prefix of the names of all temporary folders, after an optional dot.
PREFIX = "tfw2v-"

#: Name of the locked file in a folder. The name contains the machine's name, because machines that
#: share a file system may not share its locks.
OWNED = f".owned-on-{quote(platform.node(), safe='')}"

#: Name of a file that prevents the removal of its folder: see `set_replacement`.
KEPT = "kept.json"


class TemporaryFolder:
    """Temporary folder.

    The folder is removed by `close`, when this object is garbage collected, or when the interpreter
    exits. Before a process creates its first folder in a parent folder, it removes the folders that
    killed processes have left there.

    Parameters
    ----------
    kind : str
        Purpose of the folder, a part of its name.
    parent : path, optional
        Folder in which it is created; by default that of `tempfile`, such as TMPDIR.
    is_hidden : bool
        Whether the name begins with a dot.

    Attributes
    ----------
    folder : Path
        Absolute path.
    """

    def __init__(
        self, kind: str, parent: str | os.PathLike[str] | None = None, is_hidden: bool = False
    ) -> None:
        # An absolute path is valid in processes with different working directories, too.
        parent = Path(parent or tempfile.gettempdir()).absolute()
        _remove_abandoned(parent)
        prefix = f".{PREFIX}{kind}-" if is_hidden else f"{PREFIX}{kind}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = _lock_new_folder(self.folder)
        except BaseException:
            remove(self.folder)
            raise
        self._finalizer = weakref.finalize(self, _finalize, self.folder, os.getpid(), lock)

    @defer_interrupts()  # a finalizer that an interrupt has stopped isn't called again
    def close(self) -> None:
        """Remove the folder and its content. Further calls do nothing."""
        self._finalizer()

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        self.close()


def check_folder(name: str, folder: str | os.PathLike[str]) -> None:
    """Check that the folder `folder` of an argument `name` can be created and written to.

    Raises
    ------
    OSError
        If the folder cannot be used. The message contains the argument, the folder and the reason.
    """
    reason = why_unwritable(folder)
    if reason:
        raise OSError(
            f"{name}={os.fspath(folder)!r}: cannot be written to ({reason}); use a different folder"
        )


def why_unwritable(folder: str | os.PathLike[str]) -> str:
    """Return why a folder cannot be created or written to; "" if it can."""
    path = Path(folder).absolute()
    existing_folder = next(parent for parent in (path, *path.parents) if parent.exists())
    try:
        # Create a folder as a test, because permission bits are not reliable: the file system may
        # be mounted read-only, and root needs no permission.
        TemporaryFolder("trying", existing_folder, is_hidden=True).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _lock_new_folder(folder: Path) -> BinaryIO | None:
    """Create and lock a file in a new folder; return the open file, which holds the lock.

    Returns None if locks do not work.
    """
    path = folder / f"{OWNED}.new"
    lock = path.open("wb")
    with path.open("wb") as second_file:
        # A lock works if it is acquired, and then excludes a second lock of the file.
        works = try_lock(lock) and not try_lock(second_file)
    if works:
        path.rename(folder / OWNED)  # after locking, so that no process sees it unlocked
        return lock
    lock.close()
    path.unlink()
    return None


def try_lock(file: BinaryIO | int) -> bool | None:
    """Lock an open file or file descriptor, without waiting; return whether it is now locked.

    The result is False if a different process or open file holds the lock, and None if locks are
    not supported.
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
    """Remove a folder if this process is its owner, and release the folder's lock."""
    is_owner = os.getpid() == owner  # a forked child must not remove its parent's folder
    if is_owner and not (folder / KEPT).exists():
        # After renaming, processes that still write to the folder get an error.
        with contextlib.suppress(OSError):
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
    """Remove a folder, its locked file last, so that an interrupted removal can be finished."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != OWNED:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _remove_abandoned(parent: Path) -> None:
    """Remove the folders in `parent` whose owners have exited, once per process and parent."""
    with contextlib.suppress(OSError):
        for folder in [*parent.glob(f"{PREFIX}*"), *parent.glob(f".{PREFIX}*")]:
            with contextlib.suppress(OSError):
                if not is_own(folder) or (folder / KEPT).exists():
                    continue
                with (folder / OWNED).open("r+b") as file:
                    if try_lock(file):
                        logger.info("removed %s, left by a killed process", folder)
                        remove(folder)
