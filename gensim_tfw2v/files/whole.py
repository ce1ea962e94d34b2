"""Files that are either whole or not there."""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from gensim_tfw2v.files.temporary import OWNED, TemporaryFolder


def save_whole(path: Path, write: Callable[[str], object]) -> list[Path]:
    """Let `write` make the file `path`, and the files that gensim puts beside it, or none.

    They are written to a hidden folder beside `path` under their final names and moved when all
    are complete; `path` last, so that it never stands without the arrays it refers to. What gensim
    logs meanwhile, and an OSError, name the final files. After an error, older files of these names
    are as they were. What was written is returned, `path` last.
    """
    hidden = None
    try:
        with TemporaryFolder("saving", path.parent, is_hidden=True) as folder:
            hidden = _Hidden(folder.name)
            gensims = logging.getLogger("gensim.utils")
            gensims.addFilter(hidden)
            try:
                write(str(folder / path.name))
            finally:
                gensims.removeFilter(hidden)
            made = [file for file in folder.iterdir() if file.name != OWNED]
            written = sorted(made, key=lambda file: file.name == path.name)
            final = [path.parent / file.name for file in written]
            for file, to in zip(written, final, strict=True):
                if to.exists():
                    shutil.copymode(to, file)
                file.replace(to)
            return final
    except OSError as error:
        if isinstance(error.filename, str):
            error.filename = str(path) if hidden is None else hidden.shown(error.filename)
        raise


def save_local(name: object, write: Callable[[object], object]) -> object:
    """Save to a file of this machine by `save_whole`, and to anything else as gensim does.

    Anything else is an address (``"s3://..."``), a link, a device, or a file in a folder in which
    no others can be made.
    """
    name = os.fspath(name) if isinstance(name, Path) else name
    if not isinstance(name, str) or "://" in name:
        return write(name)
    path = Path(name)
    is_plain = path.is_file() and not path.is_symlink()
    is_free = is_plain or (bool(path.name) and not os.path.lexists(path))
    if is_free and os.access(path.parent, os.W_OK | os.X_OK):
        return save_whole(path, write)
    return write(name)


class _Hidden(logging.Filter):
    """Leaves a hidden folder out of the names of files that are logged."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def shown(self, text: str) -> str:
        return text.replace(f"{self._name}{os.sep}", "")

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                self.shown(part) if isinstance(part, str) else part for part in record.args
            )
        return True
