"""Files that are either whole or not there; a model's arrays in files mapped into memory.

The operating system keeps in memory what is in use of mapped arrays, as it does with any file: so
models may be larger. While a cluster trains, only pieces of them are read and written by the
program that it trains for.
"""

import contextlib
import errno
import logging
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike

from gensim_tfw2v.files.temporary import OWNED, TemporaryFolder

#: Makes a file of this name, and others beside it, or writes all to an open file.
Write = Callable[[str | IO[bytes]], object]

STDOUT = 1


def save_whole(path: Path, write: Write) -> list[Path]:
    """Let `write` make the file `path`, and the files that gensim puts beside it, or none.

    They are written to a hidden folder under their final names and moved when all are complete;
    `path` last, so that it never exists without the arrays it refers to. Links stay links: what
    they name is replaced. What gensim logs meanwhile, and an OSError, name the final files. After
    an error, older files of these names are as they were. What was written is returned, `path`
    last.

    What cannot be replaced, as a device, is given to `write` as an open file.
    """
    hidden = ""
    final_folder = str(path.parent.absolute())

    def shown(text: str) -> str:
        return text.replace(hidden, final_folder) if hidden else text

    def renamed(record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(shown(x) if isinstance(x, str) else x for x in record.args)
        return True

    try:
        if (real := replaceable(path)) is None:
            with _opened(path) as opened:
                write(opened)
            return [path]
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(TemporaryFolder("saving", real.parent, is_hidden=True))
            hidden = str(folder)
            gensims = logging.getLogger("gensim.utils")
            gensims.addFilter(renamed)
            stack.callback(gensims.removeFilter, renamed)
            write(str(folder / path.name))
            made = [file for file in folder.iterdir() if file.name != OWNED]
            written = sorted(made, key=lambda file: file.name == path.name)
            final = [path.parent / file.name for file in written]
            places = [Path(os.path.realpath(name)) for name in final]
            for number, place in enumerate(places):
                if place.parent != real.parent:  # by a link: there may be another disk
                    there = TemporaryFolder("saving", place.parent, is_hidden=True)
                    copy = stack.enter_context(there) / place.name
                    written[number] = Path(shutil.copyfile(written[number], copy))
            for file, place in zip(written, places, strict=True):
                if place.exists():
                    shutil.copymode(place, file)
                file.replace(place)
            return final
    except OSError as error:
        if error.errno is not None:
            name = error.filename if hidden and isinstance(error.filename, str) else str(path)
            error.filename = shown(name)
        raise


def save_local(name: object, write: Callable[..., object]) -> None:
    """Save to a file of this machine by `save_whole`, and to an address as gensim does."""
    name = os.fspath(name) if isinstance(name, Path) else name
    if isinstance(name, str) and "://" not in name:
        save_whole(Path(name).expanduser(), write)
    else:
        write(name)


def replaceable(path: Path) -> Path | None:
    """Return the regular file that a path names by its links, whether it exists or not.

    None is a device, a pipe, this process's own standard output, or what exists where no other
    file can be made.
    """
    real = Path(os.path.realpath(path))
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return real
    is_file = stat.S_ISREG(found.st_mode) and not _is_stdout(found)
    folders = real.parent, path.parent  # of a link too: arrays come beside it
    is_free = all(os.access(folder, os.W_OK | os.X_OK) for folder in folders)
    return real if is_file and is_free else None


def _is_stdout(found: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(found, os.fstat(STDOUT))
    return False


def _opened(path: Path) -> IO[bytes]:
    """Open what cannot be replaced; standard output where it has come to."""
    if path.exists() and _is_stdout(path.stat()):
        with contextlib.suppress(AttributeError):  # there is none
            sys.stdout.flush()
        return os.fdopen(os.dup(STDOUT), "wb")
    return path.open("wb")


#: Rows that are looked at or made at a time.
ROWS_AT_A_TIME = 1 << 14


def map_weights(model: Any, folder: Path) -> None:
    """Give a TFWord2Vec new weights, as gensim's ``init_weights``, in (new) files of a folder.

    Vectors of documents' tags follow those of the words, in one file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [(model.wv, model.seed)]
    if model.has_documents:
        parts.append((model.dv, model.seed + 7919))  # as in gensim
    numbers = [len(of.index_to_key) for of, _ in parts]
    whole = new_array(folder / "vectors.npy", (sum(numbers), model.wv.vector_size))
    for (of, seed), vectors in zip(parts, np.split(whole, numbers[:1]), strict=False):
        draws = np.random.default_rng(seed=seed)
        for rows in pieces(vectors):
            rows[:] = draws.random(rows.shape, dtype=np.float32)
            rows *= 2.0
            rows -= 1.0
            rows /= of.vector_size
        prior = of.vectors[: len(vectors)]
        vectors[: len(prior)] = prior
        of.vectors = vectors
        of.resize_vectors(seed=seed)  # which is done; and what goes with it
    shape = numbers[0], model.layer1_size
    if model.hs:
        model.syn1 = new_array(folder / "syn1.npy", shape)
    if model.negative:
        model.syn1neg = new_array(folder / "syn1neg.npy", shape)


def pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Views of an array's rows, `ROWS_AT_A_TIME`."""
    for first in range(0, len(array), ROWS_AT_A_TIME):
        yield array[first : first + ROWS_AT_A_TIME]


def all_finite(array: np.ndarray) -> bool:
    """Return whether all numbers are finite."""
    return all(bool(np.isfinite(rows).all()) for rows in pieces(array))


def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> np.memmap:
    """Zeros in a new ``.npy`` file, which has all its room on the disk.

    Without, what is written to the array later would end the process by a signal where the disk is
    full; so there is an OSError, and no file. An older file is replaced; who has mapped it keeps
    what it has.
    """
    path.unlink(missing_ok=True)
    try:
        array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
        with open(path, "r+b", buffering=0) as file:
            _take_room(file, path.stat().st_size - array.nbytes, array.nbytes)
    except OSError as error:
        path.unlink(missing_ok=True)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize / 1e6
        advice = f"{path.name} needs {size:,.1f} MB; free space there, or name another folder"
        what = f"{error.strerror or error}: {advice}"
        raise OSError(error.errno, what, str(path.parent)) from error
    return array


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array into a ``.npy`` file: as `np.save`, but with the errors of `new_array`."""
    new = new_array(path, array.shape, array.dtype)
    for to, rows in zip(pieces(new), pieces(array), strict=True):
        to[:] = rows


def _take_room(file: IO[bytes], first: int, size: int) -> None:
    """Have the disk keep room for zeros in a file."""
    if not size:
        return
    try:
        os.posix_fallocate(file.fileno(), first, size)
        return
    except AttributeError:  # macOS
        pass
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a file system without
            raise
    file.seek(first)
    zeros = bytes(1 << 20)
    while size > 0:
        size -= file.write(zeros[:size])
