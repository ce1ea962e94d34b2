"""Marks in a model's files of arrays, which identify the save that wrote a file.

gensim saves each large array of a model to a separate file next to the main file.
`set_replacement` never leaves a mixture of files of two saves. But users may copy single files, two
processes may save at the same time, or a process may save while another one loads. Then the main
file and the files of arrays could be from different saves.

So every file of arrays ends with a mark, which contains a random id of the save and a checksum of
the main file. Loading compares the marks of all files with each other, and with the main file. The
mark follows the array, where NumPy and gensim ignore it, even if the file is mapped. In a
compressed file (``.npz``), the mark is the comment of the archive. Files that gensim or earlier
versions of this package have saved contain no marks. They can be loaded, but not together with
marked files.
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

#: Bytes at the start of every mark.
MAGIC = b"\0tfw2v-save"

#: Size in bytes of the id of a save.
ID_SIZE = 16

#: Size in bytes of the checksum of the main file.
SUM_SIZE = 4

#: Size in bytes of a mark.
MARK_SIZE = len(MAGIC) + ID_SIZE + SUM_SIZE

#: Suffixes of gensim's files of arrays.
ARRAY_SUFFIXES = (".npy", ".npz")

#: Number of bytes that are read at a time to compute a checksum.
CHUNK_SIZE = 1 << 20


def mark_arrays(main: Path, other_files: Sequence[Path]) -> None:
    """Append marks to the files of arrays that gensim has saved next to the file `main`.

    Nothing is marked if any of `other_files` is not such a file.
    """
    if not other_files:  # without files of arrays, `main` may be a folder, which has no checksum
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
    """Call `load`, check that it has loaded files of one save only, and return its result.

    `name` is the path or URL of the main file. A set that is being replaced is handled as in
    `file_set.load_set`. Files that are not local are not checked.

    Raises
    ------
    FileNotFoundError
        If an interrupted save cannot be finished by this process.
    FileSetError
        If a file of arrays is from a different save than the main file.
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
            # Files of two saves may be the reason, because their arrays can differ in shape.
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
    """Describe the mixture of saves in files that `load` could not load; "" if there is none."""
    from gensim.utils import unpickle

    try:
        return _describe_mixture(unpickle(str(path)), path, file_version(path))
    except Exception:  # a damaged or missing file, not a mixture, was the reason
        return ""


def _describe_mixture(saved: Any, path: Path, version: tuple[int, ...]) -> str:
    """Describe the mixture of saves in the files of a loaded object; "" if all are from one save.

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
    """Yield the files of arrays from which gensim loads an object and its attributes."""
    suffix = ".npz" if name.endswith((".gz", ".bz2")) else ".npy"

    def visit(holder: Any, prefix: str) -> Iterator[Path]:
        for attribute in getattr(holder, "__numpys", ()):
            yield Path(f"{prefix}.{attribute}{suffix}")
        for attribute in getattr(holder, "__recursive_saveloads", ()):
            # The attribute may be missing: gensim removes some attributes of older versions after
            # it has loaded them.
            yield from visit(getattr(holder, attribute, None), f"{prefix}.{attribute}")

    yield from visit(saved, name)


def _read_mark(path: Path) -> bytes:
    """Return the mark at the end of a file; b"" if the file has none."""
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - MARK_SIZE))
        last_bytes = file.read(MARK_SIZE)
    return last_bytes if last_bytes.startswith(MAGIC) else b""


def _checksum(path: Path) -> bytes:
    """Return the CRC-32 checksum of a file's content."""
    checksum = 0
    with path.open("rb") as file:
        while data := file.read(CHUNK_SIZE):
            checksum = zlib.crc32(data, checksum)
    return checksum.to_bytes(SUM_SIZE, "little")
