"""Marks that show which save a model's files of arrays belong to.

gensim saves large arrays to files of their own next to the main file. `set_replacement` never
leaves a mixture of files of two saves. But copies of single files, two processes that save at the
same time, or a save while a different process loads can mix them.

The law: every file of arrays ends with a mark that contains a random id of its save, and a checksum
of the main file. Loading compares the marks of all files with each other and with the main file. A
mark is behind the array, where NumPy and gensim ignore it, even in mapped files; in a compressed
file it is the comment of the archive. Files of earlier versions and of gensim have no marks. They
are loaded, but not together with marked files.
"""

import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gensim_tfw2v.files.file_set import FileSetError, file_version, load_set

T = TypeVar("T")

#: Start of a mark.
MAGIC = b"\0tfw2v-save"

#: Size in bytes of the id of a save.
ID_SIZE = 16

#: Size in bytes of the checksum of the main file.
SUM_SIZE = 4

#: Size in bytes of a mark.
SIZE = len(MAGIC) + ID_SIZE + SUM_SIZE

#: Suffixes of gensim's files of arrays.
ARRAY_SUFFIXES = (".npy", ".npz")

#: Number of bytes that are read at a time.
CHUNK = 1 << 20


def mark_arrays(main: Path, other_files: Sequence[Path]) -> None:
    """Append marks to gensim's files of arrays, if all other files of a set are such files."""
    if not other_files:  # `main` may be a folder
        return
    for path in other_files:
        if not path.name.startswith(f"{main.name}.") or path.suffix not in ARRAY_SUFFIXES:
            return
    mark = MAGIC + secrets.token_bytes(ID_SIZE) + _checksum(main)
    for path in other_files:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path, "a") as archive:
                archive.comment = mark
        else:
            with path.open("ab") as file:
                file.write(mark)


def load_marked(name: Any, load: Callable[[], T]) -> T:
    """Return the result of `load`, after checking that all files it has loaded are of one save.

    See `file_set.load_set`. Files that are not local are not checked.

    Raises
    ------
    FileNotFoundError
        If an interrupted save cannot be finished here.
    FileSetError
        If a file of arrays is of a different save than the main file.
    """
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str) or "://" in name:
        return load()
    path = Path(name)

    def load_and_check() -> T:
        version = file_version(path)
        try:
            saved = load()
        except Exception as error:
            # a mixture may be the reason, because arrays of two saves can differ in shape
            mixture = _describe_mixture_on_disk(path)
            if mixture:
                raise FileSetError(mixture) from error
            raise
        mixture = _describe_mixture(saved, path, version)
        if mixture:
            raise FileSetError(mixture)
        return saved

    return load_set(path, load_and_check)


def _describe_mixture_on_disk(path: Path) -> str:
    """Describe the mixture of saves in files that could not be loaded; "" without a mixture."""
    from gensim.utils import unpickle

    try:
        return _describe_mixture(unpickle(str(path)), path, file_version(path))
    except Exception:  # a damaged or missing file was the reason
        return ""


def _describe_mixture(saved: Any, path: Path, version: tuple[int, ...]) -> str:
    """Describe which files of a loaded object are of different saves; "" if all are of one save.

    `version` is the `file_version` of the main file before it was loaded.
    """
    marks = {file: _read_mark(file) for file in _find_array_files(saved, str(path))}
    if marks and file_version(path) != version:
        return f"{path}: was saved again while it was loaded; load it again"
    if not any(marks.values()):
        return ""
    checksum = _checksum(path)
    foreign_files = [file for file, mark in marks.items() if not mark.endswith(checksum)]
    if not foreign_files and len(set(marks.values())) > 1:
        foreign_files = list(marks)
    if not foreign_files:
        return ""
    names = ", ".join(file.name for file in foreign_files)
    return (
        f"{path}: loading it would mix two saves, because {names} and {path.name} are not of the "
        "same save; restore all of its files from one backup, or save the model again"
    )


def _find_array_files(saved: Any, name: str) -> Iterator[Path]:
    """Yield the files of arrays that gensim loads for an object and for its attributes."""
    suffix = ".npz" if name.endswith((".gz", ".bz2")) else ".npy"

    def visit(holder: Any, prefix: str) -> Iterator[Path]:
        for attribute in getattr(holder, "__numpys", ()):
            yield Path(f"{prefix}.{attribute}{suffix}")
        for attribute in getattr(holder, "__recursive_saveloads", ()):
            # gensim removes some attributes of older versions after it has loaded them
            yield from visit(getattr(holder, attribute, None), f"{prefix}.{attribute}")

    yield from visit(saved, name)


def _read_mark(path: Path) -> bytes:
    """Return the mark at the end of a file; empty if it has none."""
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - SIZE))
        last_bytes = file.read(SIZE)
    return last_bytes if last_bytes.startswith(MAGIC) else b""


def _checksum(path: Path) -> bytes:
    """Return the checksum of a file's content."""
    checksum = 0
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            checksum = zlib.crc32(data, checksum)
    return checksum.to_bytes(SUM_SIZE, "little")
