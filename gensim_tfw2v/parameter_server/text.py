"""Encoded text of work units, which workers read from shared files, or get from the coordinator.

The coordinator sends entries in the engine's code: see `Engine.pack`.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit
from gensim_tfw2v.parameter_server.job_config import JobConfig

#: Source and range of an empty unit, as from `source_of`; padding for jobs with too few units.
NOTHING = (b"", (0, 0))


def source_of(unit: WorkUnit, config: JobConfig) -> tuple[bytes, tuple[int, int]]:
    """Return the source and range of a unit, for `read_entries` on a worker."""
    entry_range = unit.start, unit.stop
    if config.shared_corpus:
        return os.fsencode(os.path.abspath(unit.path)), entry_range
    return config.engine.pack(unit.read()), entry_range


def read_entries(source: tf.Tensor, entry_range: tf.Tensor, config: JobConfig) -> tf.Tensor:
    """Return a unit's entries, on the worker.

    Parameters
    ----------
    source : Tensor [], string
        Entries from `Engine.pack`; with ``config.shared_corpus``, the path of a file that contains
        them as little-endian int32.
    entry_range : Tensor [2], int32
        First entry and end of the unit's range in the file.
    config : JobConfig

    Returns
    -------
    Tensor [n], int32
    """
    if not config.shared_corpus:
        return config.engine.unpack(source)

    def read() -> tf.Tensor:
        start, stop = tf.unstack(4 * entry_range)
        return tf.strings.substr(tf.io.read_file(source), start, stop - start)

    text = tf.cond(entry_range[0] < entry_range[1], read, lambda: tf.constant(b""))
    return tf.io.decode_raw(text, tf.int32)


def is_seen_by(workers: int, folder: Path) -> bool:
    """Return whether all workers can read what this process writes to a folder."""
    path = folder.absolute() / f"seen-{uuid.uuid4().hex}"
    token = uuid.uuid4().bytes
    path.write_bytes(token)
    try:
        for index in range(workers):
            with tf.device(f"/job:worker/replica:0/task:{index}/device:CPU:0"):
                if tf.io.read_file(os.fsencode(path)).numpy() != token:
                    return False
    except (tf.errors.NotFoundError, tf.errors.PermissionDeniedError):
        return False
    finally:
        path.unlink()
    return True
