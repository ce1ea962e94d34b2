"""Lock of a folder, so that only one training run writes its checkpoints there."""

import logging
import os
import weakref
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gensim_tfw2v.files.temporary import try_lock
from gensim_tfw2v.training.checkpoints import CheckpointError

logger = logging.getLogger(__name__)

#: Name of the locked file in a folder.
LOCK = "in-use.lock"


class FolderLock(NamedTuple):
    """Lock of a folder, until it is closed or the process exits.

    Attributes
    ----------
    file : file
        Locked file in the folder.
    is_exclusive : bool
        Whether no other training run can use the folder. False if its file system has no locks.
    """

    file: BinaryIO
    is_exclusive: bool

    def close(self) -> None:
        """Release the lock."""
        self.file.close()


def lock_folder(folder: Path) -> FolderLock:
    """Lock a folder for the checkpoints of one training run, and create it if it is missing.

    If the file system has no locks, a warning is logged. Raises a `CheckpointError` if a different
    training run has locked the folder, and an OSError if the folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / LOCK, "ab")  # noqa: SIM115
    is_locked = try_lock(file)
    if is_locked is False:
        file.close()
        raise CheckpointError(
            f"{folder}: another training run is using this checkpoint_dir; wait until it ends, "
            "or use a different folder"
        )
    if is_locked is None:
        logger.warning(
            "%s: its file system has no locks, so nothing prevents a second training run in this "
            "checkpoint_dir: start only one. Only checkpoints of this process are removed from it",
            folder,
        )
    _locks.add(file)
    return FolderLock(file, is_exclusive=bool(is_locked))


#: Locked files of this process. A forked child closes its copies. Otherwise it would keep the locks
#: after this process exits.
_locks: weakref.WeakSet[BinaryIO] = weakref.WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [file.close() for file in _locks])
