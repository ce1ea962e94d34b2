"""Checkpoints of a training: arrays and where the training stood, whole or not there.

A checkpoint is a folder, written under another name, synced, and renamed when complete. Its
description holds a checksum of each file and of itself, so that one which was cut short or changed
is found out, and the one before it, which is kept, is taken.
"""

import json
import logging
import os
import shutil
import threading
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

try:
    import fcntl
except ImportError:  # not a POSIX system: two trainings in one folder are not found out
    fcntl: Any = None  # type: ignore[no-redef]

logger = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT = 2
DESCRIPTION = "checkpoint.json"
LOCK = "in-use.lock"
_PREFIX, _UNFINISHED = "checkpoint-", ".unfinished"


class CheckpointError(ValueError):
    """A checkpoint cannot be used."""


def has_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint in a folder, or in one below it."""
    return any(folder.glob(f"**/{_PREFIX}*[0-9]/{DESCRIPTION}"))


class FolderLock:
    """Keeps a folder for checkpoints to one training at a time, until `close` or its process ends.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Raises
    ------
    CheckpointError
        If another training has it.
    OSError
        If the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = open(folder / LOCK, "ab")  # noqa: SIM115
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise CheckpointError(
                f"{folder}: another training is using this checkpoint_dir; wait until it has "
                "ended, or name another one"
            ) from error
        except OSError as error:  # a file system without locks
            logger.debug("%s cannot be locked: %s", folder, error)
        _locks.add(self)

    def close(self) -> None:
        """Let others have the folder."""
        self._file.close()


#: Processes that are forked from one which has locks: they would keep them beyond its end.
_locks: "weakref.WeakSet[FolderLock]" = weakref.WeakSet()


def _close_locks() -> None:
    for lock in _locks:
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_locks)


class Checkpoints:
    """The checkpoints of one training in a folder; the last two are kept.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    training : dict
        What tells this training from others: values that JSON can hold.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """

    def __init__(self, folder: Path, training: Mapping[str, Any]) -> None:
        self.folder = folder
        self._training = json.loads(json.dumps(training))
        self._writer: threading.Thread | None = None
        self._damaged: set[Path] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob(f"{_PREFIX}*{_UNFINISHED}"):
            shutil.rmtree(unfinished, ignore_errors=True)
        numbers = [_number(path) for path in folder.glob(f"{_PREFIX}*") if _is_checkpoint(path)]
        self._next = max(numbers, default=0) + 1

    def save(self, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Write a checkpoint, on a thread of its own; the one before is waited for.

        If it cannot be written, because the disk is full, say, that is logged as an error; earlier
        checkpoints stay, and training goes on.

        Parameters
        ----------
        arrays : mapping from names to ndarray
            They must not change until the next `save` or `wait`.
        state : mapping
            Values that JSON can hold.
        """
        self.wait()
        path = self.folder / f"{_PREFIX}{self._next:06}"
        self._next += 1
        description = {"format": FORMAT, "training": self._training, "state": state}
        self._writer = threading.Thread(
            target=self._write, args=(path, dict(arrays), json.dumps(description)), daemon=True
        )
        self._writer.start()

    def wait(self) -> None:
        """Wait until what is being written is on the disk."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def latest(self, take: Callable[[dict[str, np.ndarray], Any], T]) -> T | None:
        """What is made of the last checkpoint that is whole; None if there is none.

        Parameters
        ----------
        take : callable
            Is given arrays, which cannot be written to, and the state. Raises an exception of any
            type if they are not what was saved: the checkpoint before is tried then.

        Raises
        ------
        CheckpointError
            If it is of another training, or of another version of this package.
        """
        self.wait()
        paths = sorted(self._paths(), key=_number, reverse=True)
        for path, before in zip(paths, [*paths, None][1:], strict=True):
            try:
                description = _described(path)
                if description["format"] == FORMAT:
                    self._check(path, description["training"])
                    files = description["files"].items()
                    return take(
                        {name: _read(path, name, crc) for name, crc in files},
                        description["state"],
                    )
            except CheckpointError:
                raise
            except Exception as error:  # there is no telling what a damaged file raises
                self._damaged.add(path)
                logger.error(
                    "%s is damaged (%s): %s",
                    path,
                    f"{type(error).__name__}: {error}",
                    f"taking the one before, {before.name}" if before else "training begins anew",
                )
                continue
            raise CheckpointError(
                f"{path} has format {description['format']!r}, of another version of this package; "
                f"this one reads format {FORMAT}: end that training with the version that began "
                "it, or name another checkpoint_dir to begin anew"
            )
        return None

    def _check(self, path: Path, training: Mapping[str, Any]) -> None:
        for name, value in self._training.items():
            if training.get(name) != value:
                raise CheckpointError(
                    f"{path} is of another training: its {name} is {training.get(name)!r}, here it "
                    f"is {value!r}; name another checkpoint_dir, or remove it to begin anew"
                )

    def _paths(self) -> list[Path]:
        return [
            path
            for path in self.folder.glob(f"{_PREFIX}*")
            if path.is_dir() and _is_checkpoint(path)
        ]

    def _write(self, path: Path, arrays: dict[str, np.ndarray], description: str) -> None:
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            unfinished.mkdir()
            files = {name: _save(unfinished, name, array) for name, array in arrays.items()}
            content = json.loads(description) | {"files": files}
            with open(unfinished / DESCRIPTION, "w", encoding="utf-8") as out:
                out.write(json.dumps(content | {"checksum": _checksum(content)}))
                _sync(out)
            os.replace(unfinished, path)
            _sync_folder(self.folder)
        except OSError as error:
            logger.error(
                "no checkpoint was written to %s: %s; earlier ones stay, and training goes on",
                path,
                error.strerror or error,
            )
            shutil.rmtree(unfinished, ignore_errors=True)
            return
        whole = sorted(set(self._paths()) - self._damaged, key=_number)
        for old in self._damaged.union(whole[:-2]):
            shutil.rmtree(old, ignore_errors=True)
        self._damaged.clear()


def check_array(
    name: str, array: np.ndarray, shape: tuple[int, ...], dtypes: Sequence[np.dtype]
) -> None:
    """See that an array of a checkpoint is as it has to be.

    Raises
    ------
    ValueError
        If it has another shape, or none of these types.
    """
    if array.shape != shape or array.dtype not in dtypes:
        raise ValueError(
            f"{name} is {array.dtype} of shape {array.shape}, here "
            f"{' or '.join(sorted({str(dtype) for dtype in dtypes}))} of shape {shape} is needed"
        )


def _is_checkpoint(path: Path) -> bool:
    return path.name.removeprefix(_PREFIX).isdecimal()


def _number(path: Path) -> int:
    return int(path.name.removeprefix(_PREFIX))


def _described(path: Path) -> dict[str, Any]:
    """The description of a checkpoint, if it is what was written; that of format 1 unchecked."""
    content = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
    checksum = content.pop("checksum", None)
    if checksum != _checksum(content) and (checksum is not None or content["format"] != 1):
        raise ValueError(f"{DESCRIPTION} is not what was written")
    return content


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


class _Counted:
    """A file that is written to, and the checksum of what was written."""

    def __init__(self, out: Any) -> None:
        self._out, self.crc = out, 0

    def write(self, content: Any) -> None:
        self._out.write(content)
        self.crc = zlib.crc32(content, self.crc)


def _save(folder: Path, name: str, array: np.ndarray) -> int:
    array = np.ascontiguousarray(array)
    with open(folder / f"{name}.npy", "wb") as out:
        counted, form = _Counted(out), np.lib.format
        form.write_array_header_1_0(counted, form.header_data_from_array_1_0(array))
        counted.write(array.data)  # NumPy's own way of writing does not say why it cannot
        _sync(out)
    return counted.crc


def _read(folder: Path, name: str, crc: int) -> np.ndarray:
    path = folder / f"{name}.npy"
    if zlib.crc32(np.memmap(path, np.uint8, "r").data) != crc:
        raise ValueError(f"{path.name} is not what was written")
    array: np.ndarray = np.load(path, "r", allow_pickle=False)
    return array


def _sync(out: Any) -> None:
    out.flush()
    os.fsync(out.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
