"""Checkpoints of a training: arrays and where the training stood, whole or not there.

A checkpoint is a folder, written under another name, synced, and renamed when complete. Its
description holds a checksum of each array, so that one which was cut short or changed is
found out, and the one before it, which is kept, is taken.
"""

import json
import logging
import os
import shutil
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

FORMAT = 1
DESCRIPTION = "checkpoint.json"
_PREFIX, _UNFINISHED = "checkpoint-", ".unfinished"


class CheckpointError(ValueError):
    """A checkpoint cannot be used."""


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
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob(f"{_PREFIX}*{_UNFINISHED}"):
            shutil.rmtree(unfinished, ignore_errors=True)
        numbers = [_number(path) for path in self._paths()]
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

    def latest(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and state of the last checkpoint that is whole; None if there is none.

        Raises
        ------
        CheckpointError
            If it is of another training.
        """
        self.wait()
        for path in sorted(self._paths(), key=_number, reverse=True):
            try:
                text = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
                form, training, state = text["format"], text["training"], text["state"]
                files = text["files"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                logger.error("%s is no whole checkpoint (%s): taking the one before", path, error)
                continue
            if form != FORMAT:
                raise CheckpointError(
                    f"{path} has format {form}, not {FORMAT}: name another checkpoint_dir"
                )
            self._check(path, training)
            try:
                return {name: _read(path, name, crc) for name, crc in files.items()}, state
            except (OSError, ValueError) as error:
                logger.error("%s is damaged (%s): taking the one before", path, error)
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
            if path.is_dir() and path.name.removeprefix(_PREFIX).isdecimal()
        ]

    def _write(self, path: Path, arrays: dict[str, np.ndarray], description: str) -> None:
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            unfinished.mkdir()
            files = {name: _save(unfinished, name, array) for name, array in arrays.items()}
            text = json.dumps(json.loads(description) | {"files": files})
            with open(unfinished / DESCRIPTION, "w", encoding="utf-8") as out:
                out.write(text)
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
        for old in sorted(self._paths(), key=_number)[:-2]:
            shutil.rmtree(old, ignore_errors=True)


def _number(path: Path) -> int:
    return int(path.name.removeprefix(_PREFIX))


def _save(folder: Path, name: str, array: np.ndarray) -> int:
    array = np.ascontiguousarray(array)
    with open(folder / f"{name}.npy", "wb") as out:
        form = np.lib.format
        form.write_array_header_1_0(out, form.header_data_from_array_1_0(array))
        out.write(array.data)  # NumPy's own way of writing does not say why it cannot
        _sync(out)
    return zlib.crc32(array.data)


def _read(folder: Path, name: str, crc: int) -> np.ndarray:
    path = folder / f"{name}.npy"
    array: np.ndarray = np.load(path, "r", allow_pickle=False)
    if zlib.crc32(np.ascontiguousarray(array).data) != crc:
        raise ValueError(f"{path.name} is not what was written")
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
