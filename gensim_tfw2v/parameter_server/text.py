"""Entries of work units, which workers read from shared files, draw, or get from the coordinator.

The coordinator sends entries in the code of the engine: see `Engine.pack`.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.spec import Role
from gensim_tfw2v.kernel.tables import UnitTask
from gensim_tfw2v.ops.walks import WalkFiles, draw_walks
from gensim_tfw2v.parameter_server.job_config import JobConfig

#: Source and range of an empty unit, as in the result of `source_of`. Jobs with fewer units than
#: threads are padded with it.
NOTHING = (b"", (0, 0))


def source_of(task: UnitTask, config: JobConfig) -> tuple[bytes, tuple[int, int]]:
    """Return the source and the range of a unit's text, which are arguments of `read_entries`.

    The range of text that is sent is not used, and empty: it may exceed int32 if sentences have
    large weights.
    """
    unit = task.unit
    if config.shared_corpus:
        return unit.shard.source(task.epoch), (unit.start, unit.stop)
    return config.engine.pack(unit.read(task.epoch)), NOTHING[1]


def read_entries(
    source: tf.Tensor,
    entry_range: tf.Tensor,
    config: JobConfig,
    walk_files: WalkFiles | None = None,
) -> tf.Tensor:
    """Read or draw the entries of a unit, on a worker.

    Parameters
    ----------
    source : Tensor [], string
        With ``config.shared_corpus``, the result of `Shard.source`: the path of a file of entries,
        little-endian int32, or what determines walks. Otherwise the entries themselves, from
        `Engine.pack`.
    entry_range : Tensor [2], int32
        Index of the unit's first entry in the file, and of the entry after its last one; or
        numbers of walks. Not used without ``config.shared_corpus``.
    config : JobConfig
    walk_files : WalkFiles, optional
        Used only with ``config.draws_walks``.

    Returns
    -------
    Tensor [n], int32
    """
    if not config.shared_corpus:
        return config.engine.unpack(source)
    if config.draws_walks:
        assert walk_files is not None
        return draw_walks(source, entry_range, walk_files)

    def read() -> tf.Tensor:
        start, stop = tf.unstack(4 * entry_range)
        return tf.strings.substr(tf.io.read_file(source), start, stop - start)

    text = tf.cond(entry_range[0] < entry_range[1], read, lambda: tf.constant(b""))
    return tf.io.decode_raw(text, tf.int32)


def servers_can_write(folder: Path, n_servers: int) -> bool:
    """Return whether all ps tasks of the cluster can write files in a folder of this machine."""
    # A ps task that doesn't share the folder would create it on its own machine.
    if not tasks_can_read(folder, "ps", n_servers):
        return False
    for index in range(n_servers):
        path = folder.absolute() / f"written-{uuid.uuid4().hex}"
        try:
            with tf.device(f"/job:ps/replica:0/task:{index}/device:CPU:0"):
                tf.io.write_file(os.fsencode(path), b"")
            path.unlink()
        except (tf.errors.NotFoundError, tf.errors.PermissionDeniedError, FileNotFoundError):
            return False
    return True


def tasks_can_read(folder: Path, role: Role, n_tasks: int) -> bool:
    """Return whether all tasks of a role can read files that this process writes to a folder."""
    path = folder.absolute() / f"seen-{uuid.uuid4().hex}"
    token = uuid.uuid4().bytes
    path.write_bytes(token)
    try:
        for index in range(n_tasks):
            with tf.device(f"/job:{role}/replica:0/task:{index}/device:CPU:0"):
                if tf.io.read_file(os.fsencode(path)).numpy() != token:
                    return False
    except (tf.errors.NotFoundError, tf.errors.PermissionDeniedError):
        return False
    finally:
        path.unlink()
    return True
