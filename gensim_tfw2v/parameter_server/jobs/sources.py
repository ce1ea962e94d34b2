"""Where workers take the entries of units from: they are sent, or read from a folder all see."""

import os
import uuid
from pathlib import Path

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.units import WorkUnit

#: What `source_of` gives for no unit.
NOTHING = (b"", (0, 0))


def source_of(unit: WorkUnit, is_shared: bool) -> tuple[bytes, tuple[int, int]]:
    """What a worker is sent of a unit; arguments of `read_entries`.

    Parameters
    ----------
    unit : WorkUnit
    is_shared : bool
        Whether workers see its file.
    """
    of_file = (unit.start, unit.stop)
    if is_shared:
        return os.path.abspath(unit.path).encode(), of_file
    return unit.read().astype("<i4").tobytes(), of_file


def read_entries(source: tf.Tensor, of_file: tf.Tensor, is_shared: bool) -> tf.Tensor:
    """Give a unit's entries on the worker.

    Parameters
    ----------
    source : Tensor [], string
        Little-endian int32, or, if it is shared, the path of the file that holds them.
    of_file : Tensor [2], int32
        Which entries of the file.

    Returns
    -------
    Tensor [n], int32
    """

    def read() -> tf.Tensor:
        start, stop = tf.unstack(4 * of_file)
        return tf.strings.substr(tf.io.read_file(source), start, stop - start)

    if is_shared:
        source = tf.cond(of_file[0] < of_file[1], read, lambda: tf.constant(b""))
    return tf.io.decode_raw(source, tf.int32)


def is_seen_by(workers: int, folder: Path) -> bool:
    """Whether all workers see what this process writes to a folder."""
    path, token = folder.absolute() / f"seen-{uuid.uuid4().hex}", uuid.uuid4().bytes
    path.write_bytes(token)
    try:
        for index in range(workers):
            with tf.device(f"/job:worker/replica:0/task:{index}/device:CPU:0"):
                if tf.io.read_file(str(path)).numpy() != token:
                    return False
    except (tf.errors.NotFoundError, tf.errors.PermissionDeniedError):
        return False
    finally:
        path.unlink()
    return True
