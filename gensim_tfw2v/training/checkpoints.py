"""Checkpoints of a training: arrays and where the training stood, whole or not there.

A checkpoint is a folder, written under another name, synced, and renamed when complete. Its
description holds a checksum of each file and of itself, so that one which was cut short or changed
is found out, and the one before it, which is kept, is taken.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import weakref
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.files.temporary import locked
from gensim_tfw2v.kernel.tables import UnitReport
from gensim_tfw2v.messages import quoted

logger = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT = 3
DESCRIPTION = "checkpoint.json"
LOCK = "in-use.lock"
_PREFIX = "checkpoint-"
_UNFINISHED = ".unfinished"


@dataclass
class Position:
    """Progress of a training: its epoch, and what has been trained of it."""

    epoch: int = 0
    done: set[int] = field(default_factory=set)  # indices of this epoch's units that are trained
    sentences: int = 0  # this and the next four: of these units
    trained: int = 0  # words, after subsampling
    raw_words: int = 0  # words of the text
    #: Summed loss, and of how many predictions, of each epoch that is being trained.
    losses: list[list[float]] = field(default_factory=list)
    #: Words trained on, raw words and units of each epoch before.
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0  # gensim's `running_training_loss`

    def add(self, report: UnitReport, in_total: bool) -> None:
        """Count a unit; its loss in `total_loss` too, if it is that of all its steps."""
        self.done.add(report.unit.index)
        self.sentences += report.unit.sentences
        self.trained += report.kept
        self.raw_words += report.unit.raw_words
        while len(self.losses) <= report.epoch:
            self.losses.append([0.0, 0.0])
        self.losses[report.epoch][0] += report.loss
        self.losses[report.epoch][1] += report.predictions
        self.total_loss += report.loss if in_total else 0.0

    def means(self) -> list[float]:
        """Mean loss per prediction of the epochs being trained that have computed it."""
        return [loss / predictions for loss, predictions in self.losses if predictions]

    def end_epochs(self, number: int, raw_words: int) -> None:
        """Go on after so many epochs that were trained as one, as if it had been each.

        `raw_words` are those of the text, also those that stand in no unit.
        """
        trained = self.trained
        units = len(self.done)
        self.finished += [
            (trained * (e + 1) // number - trained * e // number, raw_words, units)
            for e in range(number)
        ]
        self.mean_losses += self.means()
        self.epoch = self.epoch + number
        self.done = set()
        self.sentences = self.trained = self.raw_words = 0
        self.losses = []

    def state(self) -> dict[str, Any]:
        """The same as values that JSON can hold."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Position:
        """Make one of what `state` gave."""
        finished = [tuple(ended) for ended in state["finished"]]
        return cls(**state | {"done": set(state["done"]), "finished": finished})


class CheckpointError(ValueError):
    """Checkpoint folder that is in use, or whose checkpoints cannot be resumed from.

    They are of a different training, or of a different version of this package.
    """


def has_checkpoint(folder: Path) -> bool:
    """Return whether there is a checkpoint in a folder, or in one below it."""
    return any(folder.glob(f"**/{_PREFIX}*[0-9]/{DESCRIPTION}"))


def lock_folder(folder: Path) -> BinaryIO:
    """Keep a folder for checkpoints to one training, until the file is closed or its process ends.

    Makes the folder if it is not there. Raises a `CheckpointError` if another training has it, and
    an OSError if it cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / LOCK, "ab")  # noqa: SIM115
    if locked(file) is False:  # without locks, nothing tells
        file.close()
        raise CheckpointError(
            f"{folder}: another training is using this checkpoint_dir; wait until it has "
            "ended, or name another one"
        )
    _locks.add(file)
    return file


#: A process that is forked from this one would keep them beyond its end.
_locks: weakref.WeakSet[BinaryIO] = weakref.WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [file.close() for file in _locks])


class Checkpoints:
    """The checkpoints of one training in a folder; the last two are kept.

    Parameters
    ----------
    folder : Path
        Made if it is not there; an OSError if it cannot be written to.
    training : dict
        What tells this training from others: values that JSON can hold. ``epochs`` may be larger
        than in a checkpoint whose state has that ``epoch``, after which it was finished.
    """

    def __init__(self, folder: Path, training: Mapping[str, Any]) -> None:
        self.folder = folder
        # numbers of NumPy as Python's
        self._training = json.loads(json.dumps(training, default=lambda number: number.item()))
        self._writer: threading.Thread | None = None
        self._damaged: set[Path] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob(f"{_PREFIX}*{_UNFINISHED}"):
            shutil.rmtree(unfinished, ignore_errors=True)
        self._next = max(map(_number, self._named()), default=0) + 1

    def save(self, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Write a checkpoint, on a thread of its own; the one before is waited for.

        The arrays must not change until the next `save` or `wait`; JSON can hold the state. If it
        cannot be written, because the disk is full, say, that is logged as an error; earlier
        checkpoints stay, and training goes on.
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
        """Return what `take` makes of the last checkpoint that is whole; None if there is none.

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
        paths = self._paths()[::-1]
        for path, before in zip(paths, [*paths, None][1:], strict=True):
            try:
                description = self._described(path)
                files = description["files"].items()
                arrays = {name: _read(path, name, crc) for name, crc in files}
                return take(arrays, description["state"])
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
        return None

    def _described(self, path: Path) -> dict[str, Any]:
        """The description of a checkpoint of this training, if it is what was written."""
        description: dict[str, Any] = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
        if description.pop("checksum", None) != _checksum(description):
            raise ValueError(f"{DESCRIPTION} is not what was written")
        if description["format"] != FORMAT:
            raise CheckpointError(
                f"{path} has format {quoted(description['format'])}, of another version of this "
                f"package; this one reads format {FORMAT}: end that training with the version that "
                "began it, or name another checkpoint_dir to begin anew"
            )
        training = description["training"]
        for name, value in self._training.items():
            had = training.get(name)
            if name == "epochs" and had == description["state"].get("epoch") and had < value:
                continue  # a finished training, which is given more epochs
            if had != value:
                raise CheckpointError(
                    f"{path} is of a different training: it has {name}={quoted(had)}, this one has "
                    f"{name}={quoted(value)}; resume it with its own options, name another "
                    "checkpoint_dir, or remove it to begin anew"
                )
        return description

    def _named(self) -> list[Path]:
        """Everything that is named like a checkpoint."""
        found = self.folder.glob(f"{_PREFIX}*")
        return [path for path in found if path.name.removeprefix(_PREFIX).isdecimal()]

    def _paths(self) -> list[Path]:
        """All checkpoints, the last one last."""
        return sorted(filter(Path.is_dir, self._named()), key=_number)

    def _write(self, path: Path, arrays: dict[str, np.ndarray], description: str) -> None:
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            unfinished.mkdir()
            files = {name: _save(unfinished, name, array) for name, array in arrays.items()}
            content = json.loads(description) | {"files": files}
            described = unfinished / DESCRIPTION
            described.write_text(json.dumps(content | {"checksum": _checksum(content)}), "utf-8")
            _sync(described)
            os.replace(unfinished, path)
            _sync(self.folder)
        except OSError as error:
            logger.error(
                "no checkpoint was written to %s: %s; earlier ones stay, and training goes on",
                path,
                error.strerror or error,
            )
            shutil.rmtree(unfinished, ignore_errors=True)
            return
        whole = [path for path in self._paths() if path not in self._damaged]
        for old in self._damaged.union(whole[:-2]):
            shutil.rmtree(old, ignore_errors=True)
        self._damaged.clear()


def _number(path: Path) -> int:
    return int(path.name.removeprefix(_PREFIX))


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _save(folder: Path, name: str, array: np.ndarray) -> int:
    path = folder / f"{name}.npy"
    save_array(path, array)
    _sync(path)
    return _crc(path)


def _read(folder: Path, name: str, crc: int) -> np.ndarray:
    path = folder / f"{name}.npy"
    if _crc(path) != crc:
        raise ValueError(f"{path.name} is not what was written")
    array: np.ndarray = np.load(path, "r", allow_pickle=False)
    return array


def _crc(path: Path) -> int:
    return zlib.crc32(np.memmap(path, np.uint8, "r").data)


def _sync(path: Path) -> None:
    """See that a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
