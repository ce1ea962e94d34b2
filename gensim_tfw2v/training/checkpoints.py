"""Checkpoints of a training: its arrays and its position, whole or not there.

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
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import WorkUnit
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.files.temporary import locked
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.table import named

logger = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT = 3
DESCRIPTION = "checkpoint.json"
LOCK = "in-use.lock"
_PREFIX = "checkpoint-"
_UNFINISHED = ".unfinished"


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
        self.training = json.loads(json.dumps(training, default=lambda number: number.item()))
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
        description = {"format": FORMAT, "training": self.training, "state": state}
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
        for name, value in self.training.items():
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


def description_of(model: Any, units: list[WorkUnit], seed: int) -> dict[str, Any]:
    """Description that tells a training from others, as `Checkpoints` takes it."""
    corpus = [(unit.start, unit.stop, unit.tokens, unit.raw_words) for unit in units]
    return {
        "vocabulary": _keys(model.wv, "words"),
        # with none each program draws one: going on with another is as good
        "seed": f"any, training {model.train_count + 1}" if model.seed is None else seed,
        **{name: getattr(model, name) for name in named("identity")},
        **{
            name: getattr(model.wv, name)
            for name in named("identity", "FastText")
            if model.has_subwords
        },
        **{
            name: getattr(model, name)
            for name in named("identity", "Doc2Vec")
            if model.has_documents
        },
        **({"tags": _keys(model.dv, "tags")} if model.has_documents else {}),
        # last, for its units are as options have it
        "corpus": f"{len(units)} units, {zlib.crc32(repr(corpus).encode()):08x}",
    }


def _keys(vectors: KeyedVectors, what: str) -> str:
    text = "\n".join(map(str, vectors.index_to_key))
    return f"{len(vectors)} {what}, {zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
