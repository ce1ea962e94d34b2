"""Atomic writing: files appear under their names only when they are complete."""

import contextlib
import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gensim_tfw2v.files.set_marks import mark_arrays
from gensim_tfw2v.files.set_replacement import KIND, NEW, finish_replacements, replace_set
from gensim_tfw2v.files.temporary import TemporaryFolder

#: Function that writes to its argument: an open file, or the path of a file. With a path, it may
#: write further files to the same folder.
Write = Callable[[str | IO[bytes]], object]

#: File descriptor of standard output.
STDOUT = 1


class HiddenPath(str):
    """Path of a new file in a hidden folder.

    Attributes
    ----------
    final : str
        The argument `path` of `save_atomically`: where the file will be after the save.
    """

    final: str


def save_atomically(path: Path, write: Write) -> list[Path]:
    """Save the file `path`, and the files that gensim writes next to it: all of them, or none.

    `write` is called with a path in a hidden folder. When all files in this folder are complete,
    they replace older files as a set: see `set_replacement`. gensim's files of arrays are marked:
    see `set_marks`. If a path to replace is a link, the target of the link is replaced. gensim's
    log messages and an OSError contain the final paths instead of the hidden ones. After an error,
    the older files are unchanged. Returns the paths of the written files, `path` last.

    If `path` cannot be replaced, for example because it is a device, `write` is called with an open
    file instead, and writes directly to the device.
    """
    hidden_folder = ""
    final_folder = str(path.parent.absolute())

    def name_final_files(text: str) -> str:
        return text.replace(hidden_folder, final_folder) if hidden_folder else text

    def edit_log(record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                name_final_files(value) if isinstance(value, str) else value
                for value in record.args
            )
        return True

    try:
        target = replaceable(path)
        if target is None:
            with _open_irreplaceable(path) as file:
                write(file)
            return [path]
        with contextlib.ExitStack() as stack:
            finish_replacements(target.parent)
            folder = stack.enter_context(TemporaryFolder(KIND, target.parent, is_hidden=True))
            new_files = folder / NEW
            new_files.mkdir()
            hidden_folder = str(new_files)
            gensim_logger = logging.getLogger("gensim.utils")
            gensim_logger.addFilter(edit_log)
            stack.callback(gensim_logger.removeFilter, edit_log)
            new_name = HiddenPath(new_files / path.name)
            new_name.final = str(path)
            write(new_name)
            # The sort key is True only for the main file, so the main file is last.
            names = sorted((file.name for file in new_files.iterdir()), key=path.name.__eq__)
            mark_arrays(new_files / path.name, [new_files / name for name in names[:-1]])
            replace_set(folder, path, names)
            return [path.parent / name for name in names]
    except OSError as error:
        if error.errno is not None:
            is_named = hidden_folder and isinstance(error.filename, str)
            error.filename = name_final_files(error.filename if is_named else str(path))
        raise


def save_local(name: object, write: Callable[..., object]) -> None:
    """Save to a local path by `save_atomically`, or to a URL or open file directly, like gensim."""
    name = os.fspath(name) if isinstance(name, Path) else name
    if isinstance(name, str) and "://" not in name:
        save_atomically(Path(name).expanduser(), write)
    else:
        write(name)


def replaceable(path: Path) -> Path | None:
    """Return the path of the file that saving to `path` replaces: the target, if `path` is a link.

    The file need not exist. Returns None if it cannot be replaced because it is a device, a pipe or
    this process's standard output, or because files cannot be created in its folder.
    """
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return target
    is_file = stat.S_ISREG(status.st_mode) and not _is_stdout(status)
    # If `path` is a link, files of arrays are saved next to the link, so the link's folder must be
    # writable, too.
    folders = target.parent, path.parent
    are_writable = all(os.access(folder, os.W_OK | os.X_OK) for folder in folders)
    return target if is_file and are_writable else None


def is_protected(path: Path) -> bool:
    """Return whether a file exists that this process may not replace, because its folder is sticky.

    In a folder with the sticky bit, such as /tmp, only the owner of a file, the owner of the folder
    and root may move or replace the file. Others may still be able to write to it.
    """
    path = Path(os.path.realpath(path))
    if not path.exists():
        return False
    folder_status = path.parent.stat()
    owners = (0, folder_status.st_uid, path.stat().st_uid)
    return bool(folder_status.st_mode & stat.S_ISVTX) and os.geteuid() not in owners


def _is_stdout(status: os.stat_result) -> bool:
    """Return whether a file, by its status, is the file that standard output writes to."""
    with contextlib.suppress(OSError):
        return os.path.samestat(status, os.fstat(STDOUT))
    return False


def _open_irreplaceable(path: Path) -> IO[bytes]:
    """Open a file that cannot be replaced for writing.

    Standard output is opened at its current position, after what was written there before.
    """
    if path.exists() and _is_stdout(path.stat()):
        with contextlib.suppress(AttributeError):  # sys.stdout may be None
            sys.stdout.flush()
        return os.fdopen(os.dup(STDOUT), "wb")
    return path.open("wb")
