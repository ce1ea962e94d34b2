"""Atomic checkpoints of a training run: its arrays and its position.

A checkpoint is a folder that is written under a temporary name, synced, and renamed when complete.
Its description contains a checksum of each file and of itself. If a checksum doesn't match, because
a file was truncated or changed, the previous checkpoint is used, which is kept for this case. A
damaged checkpoint is renamed, and removed only when the training has finished. If a checkpoint
cannot be read for a reason that may pass, such as a disk that does not respond, an error is raised.
"""

import contextlib
import errno
import json
import logging
import os
import shutil
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.sharded_rows import ShardedRows, load_tables
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.processes.threads import LOOK_SECONDS, defer_interrupts, interrupt_is_pending
from gensim_tfw2v.training.array_checksums import read_checksummed, save_checksummed, sync

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Version of the format in which checkpoints are written.
FORMAT = 5
#: Version of the format of checkpoints whose tables are files that ps tasks have written.
SHARDED_FORMAT = 6
#: Formats that can be read, and the names that the identities in them lack. Formats 3 and 4
#: have a checksum of the work units in place of that of the corpus; see `_upgrade`.
READABLE_FORMATS: dict[int, tuple[str, ...]] = {
    3: ("tree", "corpus"),
    4: ("corpus",),
    FORMAT: (),
    SHARDED_FORMAT: (),
}
DESCRIPTION = "checkpoint.json"

#: Seconds after which an interrupted training run reports that it waits for a checkpoint.
PATIENCE_SECONDS = 5.0

#: Seconds between two of these reports.
REPORT_SECONDS = 30.0

_PREFIX = "checkpoint-"
_UNFINISHED = ".unfinished"
_DAMAGED = ".damaged"


class CheckpointError(ValueError):
    """A checkpoint folder is in use, or contains checkpoints that this training run cannot resume.

    Such checkpoints are of a different training run, or of a different version of this package.
    """


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder, or one below it, contains a checkpoint."""
    return any(folder.glob(f"**/{_PREFIX}*[0-9]/{DESCRIPTION}"))


class Checkpoints:
    """Checkpoints of one training run in a folder, which keeps the last two.

    Parameters
    ----------
    folder : Path
        Created if it is missing. An OSError is raised if it is not writable.
    training : dict
        Identity of the training, from `identity_of`. Only checkpoints with the same values are
        resumed, with one exception: ``epochs`` may be larger than in the checkpoint of a finished
        training run. A run is finished if ``epoch`` of its state equals its ``epochs``.
    is_exclusive : bool
        Whether no other training run can use the folder; see `lock_folder`. Otherwise only
        checkpoints that this object has written are removed.
    linked_folder : Path, optional
        Folder with files that are replaced, but never changed. If a read-only array is mapped from
        such a file, a checkpoint has a link to the file instead of a copy.
    """

    def __init__(
        self,
        folder: Path,
        training: Mapping[str, Any],
        is_exclusive: bool = True,
        linked_folder: Path | None = None,
    ) -> None:
        self.folder = folder
        self._linked_folder = linked_folder
        self.is_exclusive = is_exclusive
        self._written: list[Path] = []  # finished checkpoints of this object
        # an unfinished checkpoint has a unique name, because a second training run may write one
        self._unfinished_suffix = f".{uuid.uuid4().hex[:8]}{_UNFINISHED}"
        # NumPy scalars are converted to Python numbers
        self.training = json.loads(json.dumps(training, default=lambda scalar: scalar.item()))
        self._writer: threading.Thread | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if is_exclusive:
            for unfinished in folder.glob(f"{_PREFIX}*{_UNFINISHED}"):
                shutil.rmtree(unfinished, ignore_errors=True)
        self._next = self._next_number()

    def save(
        self,
        arrays: Mapping[str, np.ndarray],
        state: Mapping[str, Any],
        is_last: bool = False,
    ) -> None:
        """Write a checkpoint in a background thread, after waiting for the previous one.

        The arrays must not change until the next `save` or `wait`. JSON must be able to encode the
        state. A failure, such as a full disk, is logged as an error; earlier checkpoints are kept,
        and training continues. `is_last` means that the training has finished.
        """
        arrays = dict(arrays)

        def write_files(folder: Path) -> dict[str, Any]:
            linked_folder = self._linked_folder
            checksums = {
                name: save_checksummed(folder, name, array, linked_folder)
                for name, array in arrays.items()
            }
            return {"files": checksums}

        self.wait()
        description = {"format": FORMAT, "training": self.training, "state": state}
        arguments = self._next_path(), write_files, json.dumps(description), is_last
        with defer_interrupts():  # `wait` cannot join a thread that was not started
            self._writer = threading.Thread(target=self._write, args=arguments, daemon=True)
            self._writer.start()

    def save_shards(
        self,
        write: Callable[[Path], Mapping[str, ShardedRows]],
        state: Mapping[str, Any],
    ) -> dict[str, ShardedRows]:
        """Write a checkpoint whose tables `write` writes to files of a folder.

        Returns the tables by name, or an empty dict if none was written: `write` has returned none,
        or has raised an OSError, which is logged.
        """

        def write_files(folder: Path) -> dict[str, Any] | None:
            tables = write(folder)
            descriptions = {name: table.describe() for name, table in tables.items()}
            return {"files": {}, "shards": descriptions} if tables else None

        self.wait()
        description = {"format": SHARDED_FORMAT, "training": self.training, "state": state}
        folder = self._write(self._next_path(), write_files, json.dumps(description), False)
        return {} if folder is None else load_tables(folder)

    def _next_path(self) -> Path:
        if not self.is_exclusive:
            self._next = self._next_number()
        self._next += 1
        return self._path(self._next - 1)

    @defer_interrupts()  # otherwise the thread could still be writing after the end of `train`
    def wait(self) -> None:
        """Wait until the background thread has written its checkpoint.

        The wait has no limit: an array that is changed while it is written would be torn.
        """
        if self._writer is None:
            return
        report_time = time.monotonic() + PATIENCE_SECONDS
        while self._writer.is_alive():
            self._writer.join(LOOK_SECONDS)
            if interrupt_is_pending() and time.monotonic() > report_time:
                report_time = time.monotonic() + REPORT_SECONDS
                logger.warning("interrupted: waiting for a checkpoint in %s", self.folder)
        self._writer = None

    def load_latest(self, take: Callable[[dict[str, Any], Any], T]) -> T | None:
        """Return the result of `take` for the last valid checkpoint; None if there is none.

        Parameters
        ----------
        take : callable
            Function of the arrays, which are read-only or `ShardedRows`, and of the state. If it
            raises an exception other than those below, the checkpoint counts as damaged, and the
            previous one is tried.

        Raises
        ------
        CheckpointError
            If a checkpoint is of a different training run, or of a different version of this
            package.
        OSError
            If a checkpoint cannot be read, for example because its disk does not respond. The
            folder is not changed then.
        MemoryError
        """
        self.wait()
        paths = self._list_folders()[::-1]
        for path, previous_path in zip(paths, [*paths, None][1:], strict=True):
            try:
                description = self._read_description(path)
                files = description["files"].items()
                arrays: dict[str, Any] = {
                    name: read_checksummed(path, name, crc) for name, crc in files
                }
                for name, shards in description.get("shards", {}).items():
                    arrays[name] = ShardedRows.of(path, name, shards)
                    arrays[name].check()
                return take(arrays, description["state"])
            except (CheckpointError, MemoryError):
                raise
            except Exception as error:  # a damaged file may raise anything
                is_missing = isinstance(error, FileNotFoundError | IsADirectoryError)
                if isinstance(error, OSError) and not is_missing:
                    raise
                damaged_path = _set_aside(path)
                logger.error(
                    "%s is damaged (%s), and was renamed to %s: %s",
                    path,
                    f"{type(error).__name__}: {error}",
                    damaged_path.name,
                    f"using the previous one, {previous_path.name}"
                    if previous_path
                    else "starting from scratch",
                )
        return None

    def _read_description(self, path: Path) -> dict[str, Any]:
        """Return the description of a checkpoint, after a check that it is of this training run."""
        description = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
        if description.pop("checksum", None) != _checksum(description):
            raise ValueError(f"{DESCRIPTION} has a wrong checksum")
        if description["format"] not in READABLE_FORMATS:
            raise CheckpointError(
                f"{path} has format {quoted(description['format'])}, of a different version of "
                f"this package; this one reads format {max(READABLE_FORMATS)}: finish that "
                "training run with the version that started it, or use a different checkpoint_dir "
                "to start from scratch"
            )
        missing_names = READABLE_FORMATS[description["format"]]
        _upgrade(description)
        training = description["training"]
        for name, value in self.training.items():
            saved_value = training.get(name)
            if saved_value is None and name in missing_names:
                continue
            is_finished = saved_value == description["state"].get("epoch")
            if name == "epochs" and is_finished and saved_value < value:
                continue  # a finished training run is extended by more epochs
            if saved_value != value:
                raise CheckpointError(
                    f"{path} is of a different training run: it has "
                    f"{name}={quoted(saved_value)}, this one has {name}={quoted(value)}; resume "
                    "it with its own options, or start from scratch with a different "
                    "checkpoint_dir or after removing this one"
                )
        return description

    def _path(self, number: int) -> Path:
        return self.folder / f"{_PREFIX}{number:06}"

    def _next_number(self) -> int:
        """Return the first number after those of all checkpoints in the folder."""
        paths = [*self._list_paths(), *self._list_paths(_DAMAGED)]
        return max(map(_parse_number, paths), default=0) + 1

    def _list_paths(self, suffix: str = "") -> list[Path]:
        """Return all paths that are named like a checkpoint, with this suffix."""
        paths = self.folder.glob(f"{_PREFIX}*{suffix}")
        return [
            path
            for path in paths
            if path.name.removeprefix(_PREFIX).removesuffix(suffix).isdecimal()
        ]

    def _list_folders(self) -> list[Path]:
        """Return the folders of all checkpoints, the oldest first."""
        return sorted(filter(Path.is_dir, self._list_paths()), key=_parse_number)

    def _write(
        self,
        path: Path,
        write_files: Callable[[Path], dict[str, Any] | None],
        description: str,
        is_last: bool,
    ) -> Path | None:
        """Write a checkpoint, and return its folder; None if it could not be written.

        `write_files` writes files to a folder, and returns their description; None if it wrote
        none.
        """
        unfinished = path.with_name(path.name + self._unfinished_suffix)
        try:
            unfinished.mkdir()
            files = write_files(unfinished)
            if files is None:
                shutil.rmtree(unfinished, ignore_errors=True)
                return None
            content = json.loads(description) | files
            description_path = unfinished / DESCRIPTION
            description_path.write_text(
                json.dumps(content | {"checksum": _checksum(content)}), "utf-8"
            )
            sync(description_path)
            path = self._rename(unfinished, path)
            sync(self.folder)
        except BaseException as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            if isinstance(error, ClusterLost) or not isinstance(error, OSError):
                raise
            logger.error(
                "no checkpoint was written to %s: %s; training continues, with the earlier ones",
                path,
                error.strerror or error,
            )
            return None
        self._written.append(path)
        obsolete_paths = self._written[:-2]
        if self.is_exclusive:
            obsolete_paths = self._list_folders()[:-2]
            if is_last:
                obsolete_paths += self._list_paths(_DAMAGED)
        for obsolete_path in obsolete_paths:
            self._remove(obsolete_path)
        del self._written[:-2]
        return path

    def _rename(self, unfinished: Path, path: Path) -> Path:
        """Give a checkpoint its final name, or the next one that is free; return its path."""
        while True:
            try:
                os.replace(unfinished, path)
                return path
            except OSError as error:
                is_taken = error.errno in (errno.ENOTEMPTY, errno.EEXIST)
                if self.is_exclusive or not is_taken:
                    raise
            path = self._path(self._next_number())

    def _remove(self, path: Path) -> None:
        """Remove a checkpoint.

        It is renamed first: if the process is killed before all files are removed, the remaining
        ones are not mistaken for a checkpoint.
        """
        name = path.name.removesuffix(_DAMAGED)
        unfinished = path.with_name(name + self._unfinished_suffix)
        with contextlib.suppress(OSError):
            os.replace(path, unfinished)
        shutil.rmtree(unfinished, ignore_errors=True)


def _parse_number(path: Path) -> int:
    return int(path.name.removeprefix(_PREFIX).partition(".")[0])


def _set_aside(path: Path) -> Path:
    """Rename a damaged checkpoint; return its new path."""
    damaged_path = path.with_name(path.name + _DAMAGED)
    os.replace(path, damaged_path)
    return damaged_path


def _upgrade(description: dict[str, Any]) -> None:
    """Move the checksum of the work units of an earlier format to where this format has it."""
    if description["format"] < FORMAT:
        description["state"]["cut"] = {"units": description["training"].pop("corpus")}


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
