"""Folders that disappear again, and disks that fill."""

import contextlib
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path


class Workspace:
    """A fresh temporary folder: removed by `close`, when collected, or at the interpreter's exit.

    Parameters
    ----------
    parent : path, optional
        Where to make it; by default where `tempfile` makes folders (see TMPDIR).

    Raises
    ------
    OSError
        If that can't be written (`explained`).
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        with explained(Path(parent or "the folder for temporary files")):
            # absolute: helpers have other working folders
            self.folder = Path(tempfile.mkdtemp(prefix="tfw2v-corpus-", dir=parent)).absolute()
        self._finalizer = weakref.finalize(self, _remove, self.folder, os.getpid())

    def close(self) -> None:
        """Remove the folder and what is in it; again does nothing."""
        self._finalizer()


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not remove its parent's folder
        with contextlib.suppress(OSError):  # who still writes there, on another machine, ends
            folder = folder.rename(folder.with_name(f"{folder.name}-removed"))
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say in an OSError how much was written where, and what to do.

    The error keeps its errno, and so its class.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        written = sum(map(_size, folder.glob("**/*")))
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            advice = "free space there, or"
        elif error.errno in (errno.ENOENT, errno.ENOTDIR):
            advice = "make the folder first, or"
        else:
            advice = "mend that, or"
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}, after {written:,} bytes of encoded corpus; {advice} "
            "name another folder (folder=…, or TMPDIR in the environment)",
            str(folder),
        ) from error


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # it has been moved
        if path.is_file():
            return path.stat().st_size
    return 0
