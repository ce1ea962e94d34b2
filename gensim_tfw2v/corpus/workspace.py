"""The temporary folder of a corpus, and disks that fill."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from gensim_tfw2v.files.temporary import TemporaryFolder


class Workspace(TemporaryFolder):
    """A temporary folder for a corpus.

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
            super().__init__("corpus", parent)


@contextlib.contextmanager
def fresh_workspace(parent: str | os.PathLike[str] | None = None) -> Iterator[Workspace]:
    """Make a workspace that stays, unless there is an error."""
    workspace = Workspace(parent)
    try:
        yield workspace
    except BaseException:  # Ctrl-C too
        workspace.close()
        raise


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
