"""Files that are either whole or not there."""

from collections.abc import Callable
from pathlib import Path

from gensim_tfw2v.cli.failures import BadInput
from gensim_tfw2v.files import whole as saving
from gensim_tfw2v.files.temporary import TemporaryFolder


def check_can_save(path: Path) -> None:
    """Find out before hours of work whether `path` can be written at their end.

    Raises
    ------
    BadInput
        `path` is a folder, its folder is missing, or nothing can be written there.
    """
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise BadInput(f"{path.parent}: no such folder; create it first (mkdir -p)")
    try:
        # permission bits do not tell the whole truth (read-only mounts, root): try it
        TemporaryFolder("saving", path.parent, is_hidden=True).close()
    except OSError as error:
        raise BadInput(f"{path.parent}: cannot be written to ({error.strerror})") from error


def save_whole(
    path: Path, write: Callable[[str], None], progress: bool | None = None
) -> list[Path]:
    """Let `write` make the file `path`, and the files that gensim puts beside it, or none.

    See `gensim_tfw2v.files.whole.save_whole`.

    Parameters
    ----------
    path : Path
    write : callable
        Writes to the path that it is given.
    progress : bool, optional
        Whether to show that it is being saved; by default on a terminal.

    Returns
    -------
    list of Path
        What was written, `path` last.
    """
    from gensim_tfw2v.monitor.progress import phase

    with phase(f"saving {path}", progress):
        return saving.save_whole(path, write)
