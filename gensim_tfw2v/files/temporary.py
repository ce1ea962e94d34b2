"""Temporary folders: each goes with its owner, or when the next program makes one beside it.

A program that is killed removes nothing. So the owner of a folder holds a lock on a file in it,
which the system drops when the owner ends, however it does; a folder whose lock can be had belongs
to nobody. Not by process numbers: they are reused, and others beyond a container or a file system.
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

from gensim_tfw2v.processes.process_guards import defer_interrupts

try:
    import fcntl
except ImportError:  # not a POSIX system: what a killed program leaves stays
    fcntl: Any = None  # type: ignore[no-redef]

logger = logging.getLogger(__name__)

#: What the names of all folders begin with; a dot may stand before it.
PREFIX = "tfw2v-"

#: The file that is locked. Another machine looks for another name: a file system that both use may
#: keep the locks of each to itself.
OWNED = f".owned-on-{quote(platform.node(), safe='')}"


class TemporaryFolder:
    """A fresh folder: removed by `close`, when collected, or at the interpreter's exit.

    The first one that a program makes in a place removes those of programs that were killed. Its
    absolute path is `folder`. `kind`, what it is for, is a part of its name; `parent` is by default
    where `tempfile` makes folders (see TMPDIR).
    """

    def __init__(
        self, kind: str, parent: str | os.PathLike[str] | None = None, is_hidden: bool = False
    ) -> None:
        # absolute: other processes have other working folders
        place = Path(parent or tempfile.gettempdir()).absolute()
        _remove_abandoned(place)
        prefix = f"{'.' * is_hidden}{PREFIX}{kind}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        lock = _own(self.folder)
        self._finalizer = weakref.finalize(self, _end, self.folder, os.getpid(), lock)

    def close(self) -> None:
        """Remove the folder and what is in it; again does nothing."""
        with defer_interrupts():  # a finalizer that is interrupted isn't called again
            self._finalizer()

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        self.close()


def check_folder(name: str, folder: str | os.PathLike[str]) -> None:
    """Refuse an argument's folder that cannot be made or written to, before hours of work.

    Raises
    ------
    OSError
        Naming the argument, the folder and the reason.
    """
    if reason := why_unwritable(folder):
        said = f"{name}={os.fspath(folder)!r}: cannot be written to ({reason})"
        raise OSError(f"{said}; give another folder")


def why_unwritable(folder: str | os.PathLike[str]) -> str:
    """Say why nothing can be written to a folder that may still have to be made; else empty."""
    place = Path(folder).absolute()
    there = next(each for each in (place, *place.parents) if each.exists())
    try:
        # permission bits do not tell the whole truth (read-only mounts, root): try it
        TemporaryFolder("trying", there, is_hidden=True).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _own(folder: Path) -> BinaryIO | None:
    """Lock a file in a new folder; give it, to be kept open, or None where locks say nothing."""
    fresh = folder / f"{OWNED}.new"
    lock = fresh.open("wb")
    with fresh.open("wb") as another:
        if locked(lock) and not locked(another):
            fresh.rename(folder / OWNED)  # under this name it has always been locked
            return lock
    lock.close()
    fresh.unlink()
    return None


def locked(file: BinaryIO) -> bool | None:
    """Lock a file; False if another program has it, and None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without
        return None
    return True


def _end(folder: Path, owner: int, lock: BinaryIO | None) -> None:
    if os.getpid() == owner:  # a forked child must not remove its parent's folder
        with contextlib.suppress(OSError):  # who still writes there, on another machine, ends
            folder = folder.rename(folder.with_name(f"{folder.name}-removed"))
        _remove(folder)
    if lock is not None:
        lock.close()


def _remove(folder: Path) -> None:
    """Remove a folder, what tells its owner last: the rest is then found again after a kill."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != OWNED:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _remove_abandoned(place: Path) -> None:
    """Remove the folders in a place whose owners are gone; once in a process."""
    with contextlib.suppress(OSError):
        for folder in [*place.glob(f"{PREFIX}*"), *place.glob(f".{PREFIX}*")]:
            with contextlib.suppress(OSError):
                found = folder.lstat()
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                    continue
                with (folder / OWNED).open("r+b") as file:
                    if locked(file):
                        logger.info("%s is removed: its program was killed", folder)
                        _remove(folder)
