"""Atomic checkpoints of a training: its arrays and its position.

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
import uuid
import weakref
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.files.temporary import try_lock
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import option_names
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.training.huffman import Paths

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Version of the format in which checkpoints are written.
FORMAT = 5
#: Formats that can be read, and the names that their identities of a training lack. Formats 3 and 4
#: have a checksum of the work units in place of that of the corpus; see `_upgrade`.
READABLE_FORMATS: dict[int, tuple[str, ...]] = {3: ("tree", "corpus"), 4: ("corpus",), FORMAT: ()}
DESCRIPTION = "checkpoint.json"
LOCK = "in-use.lock"
_PREFIX = "checkpoint-"
_UNFINISHED = ".unfinished"
_DAMAGED = ".damaged"

#: Bytes that are read from a file at a time.
_CHUNK = 1 << 20


class CheckpointError(ValueError):
    """A checkpoint folder is in use, or contains checkpoints that this training cannot resume.

    Such checkpoints are of a different training, or of a different version of this package.
    """


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder, or one below it, contains a checkpoint."""
    return any(folder.glob(f"**/{_PREFIX}*[0-9]/{DESCRIPTION}"))


class FolderLock(NamedTuple):
    """Lock of a folder, until it is closed or the process exits.

    Attributes
    ----------
    file : file
        Locked file in the folder.
    is_exclusive : bool
        Whether no other training can use the folder. False if its file system has no locks.
    """

    file: BinaryIO
    is_exclusive: bool

    def close(self) -> None:
        """Release the lock."""
        self.file.close()


def lock_folder(folder: Path) -> FolderLock:
    """Lock a folder for the checkpoints of one training, and create it if it is missing.

    If the file system has no locks, a warning is logged. Raises a `CheckpointError` if a different
    training has locked the folder, and an OSError if the folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / LOCK, "ab")  # noqa: SIM115
    is_locked = try_lock(file)
    if is_locked is False:
        file.close()
        raise CheckpointError(
            f"{folder}: another training is using this checkpoint_dir; wait until it ends, "
            "or use a different folder"
        )
    if is_locked is None:
        logger.warning(
            "%s: its file system has no locks, so nothing prevents a second training in this "
            "checkpoint_dir: run only one. Only checkpoints of this process are removed from it",
            folder,
        )
    _locks.add(file)
    return FolderLock(file, is_exclusive=bool(is_locked))


#: Locked files of this process. A forked child closes its copies. Otherwise it would keep the locks
#: after this process exits.
_locks: weakref.WeakSet[BinaryIO] = weakref.WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [file.close() for file in _locks])


class Checkpoints:
    """Checkpoints of one training in a folder, which keeps the last two.

    Parameters
    ----------
    folder : Path
        Created if it is missing. An OSError is raised if it is not writable.
    training : dict
        Identity of the training, as values that JSON can encode. Only checkpoints with the same
        values are resumed, with one exception: ``epochs`` may be larger than in the checkpoint of a
        finished training. A training is finished if ``epoch`` of its state equals its ``epochs``.
    is_exclusive : bool
        Whether no other training can use the folder; see `lock_folder`. Otherwise only checkpoints
        that this object has written are removed.
    """

    def __init__(
        self, folder: Path, training: Mapping[str, Any], is_exclusive: bool = True
    ) -> None:
        self.folder = folder
        self.is_exclusive = is_exclusive
        self._written: list[Path] = []  # finished checkpoints of this object
        # the name of an unfinished checkpoint is unique, because a second training may write one
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
        self.wait()
        if not self.is_exclusive:
            self._next = self._next_number()
        path = self._path(self._next)
        self._next += 1
        description = {"format": FORMAT, "training": self.training, "state": state}
        arguments = path, dict(arrays), json.dumps(description), is_last
        with defer_interrupts():  # `wait` cannot join a thread that was not started
            self._writer = threading.Thread(target=self._write, args=arguments, daemon=True)
            self._writer.start()

    @defer_interrupts()  # otherwise the thread could still be writing after the end of `train`
    def wait(self) -> None:
        """Wait until the background thread has written its checkpoint."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def load_latest(self, take: Callable[[dict[str, np.ndarray], Any], T]) -> T | None:
        """Return the result of `take` for the last valid checkpoint; None if there is none.

        Parameters
        ----------
        take : callable
            Function of the arrays, which are read-only, and of the state. If it raises an exception
            other than those below, the checkpoint counts as damaged, and the previous one is tried.

        Raises
        ------
        CheckpointError
            If a checkpoint is of a different training, or of a different version of this package.
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
                arrays = {name: _read(path, name, crc) for name, crc in files}
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
        """Return the description of a checkpoint, after checking that it is of this training."""
        description = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
        if description.pop("checksum", None) != _checksum(description):
            raise ValueError(f"{DESCRIPTION} has a wrong checksum")
        if description["format"] not in READABLE_FORMATS:
            raise CheckpointError(
                f"{path} has format {quoted(description['format'])}, of a different version of "
                f"this package; this one reads format {FORMAT}: finish that training with the "
                "version that started it, or use a different checkpoint_dir to start from scratch"
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
                continue  # a finished training is extended by more epochs
            if saved_value != value:
                raise CheckpointError(
                    f"{path} is of a different training: it has "
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
        self, path: Path, arrays: dict[str, np.ndarray], description: str, is_last: bool
    ) -> None:
        unfinished = path.with_name(path.name + self._unfinished_suffix)
        try:
            unfinished.mkdir()
            files = {name: _save(unfinished, name, array) for name, array in arrays.items()}
            content = json.loads(description) | {"files": files}
            description_path = unfinished / DESCRIPTION
            description_path.write_text(
                json.dumps(content | {"checksum": _checksum(content)}), "utf-8"
            )
            _sync(description_path)
            path = self._rename(unfinished, path)
            _sync(self.folder)
        except OSError as error:
            logger.error(
                "no checkpoint was written to %s: %s; training continues, with the earlier ones",
                path,
                error.strerror or error,
            )
            shutil.rmtree(unfinished, ignore_errors=True)
            return
        self._written.append(path)
        obsolete_paths = self._written[:-2]
        if self.is_exclusive:
            obsolete_paths = self._list_folders()[:-2]
            if is_last:
                obsolete_paths += self._list_paths(_DAMAGED)
        for obsolete_path in obsolete_paths:
            self._remove(obsolete_path)
        del self._written[:-2]

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
    if description["format"] != FORMAT:
        description["state"]["cut"] = {"units": description["training"].pop("corpus")}


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
        raise ValueError(f"{path.name} has a wrong checksum")
    return np.load(path, "r", allow_pickle=False)


def _crc(path: Path) -> int:
    # The file is read, not mapped: a read error in mapped memory would kill the process.
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def _sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def description_of(model: Any, corpus: EncodedCorpus, seed: int) -> dict[str, Any]:
    """Return the identity of a training, for `Checkpoints`."""
    description = {
        "vocabulary": _describe_keys(model.wv, "words"),
        # without a seed, each process draws a random one, so checkpoints with any seed are resumed
        "seed": f"any, training {model.train_count + 1}" if model.seed is None else seed,
        **{name: getattr(model, name) for name in option_names(Use.IDENTITY)},
    }
    if model.hs:  # rows of syn1 are nodes of this tree, and fit no other
        description["tree"] = f"{Paths.of(model.wv).checksum():08x}"
    if model.has_subwords:
        description |= {
            name: getattr(model.wv, name) for name in option_names(Use.IDENTITY, "FastText")
        }
    if model.has_documents:
        description |= {
            name: getattr(model, name) for name in option_names(Use.IDENTITY, "Doc2Vec")
        }
        description["tags"] = _describe_keys(model.dv, "tags")
    # last, because the ids of the corpus depend on the vocabulary: its changes are reported first
    counts = f"{corpus.total_raw_words} words, {corpus.total_sentences} sentences"
    description["corpus"] = f"{counts}, {corpus.checksum:08x}"
    return description


def _describe_keys(vectors: KeyedVectors, kind: str) -> str:
    """Describe the words or tags of vectors by their number and a checksum."""
    text = "\n".join(map(str, vectors.index_to_key))
    return f"{len(vectors)} {kind}, {zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
