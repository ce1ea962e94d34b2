"""Encoded text of work units, which workers read from shared files, or get from the coordinator.

The coordinator sends ids as bytes of a code in which frequent words take one byte (``pack`` in
``kernel/native/src/text/text.h``). Without compiled kernels, it sends them as int32.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit
from gensim_tfw2v.kernel.kernel_config import KernelConfig
from gensim_tfw2v.kernel.native import load_ops

#: Source and range of an empty unit, as from `source_of`; padding for jobs with too few units.
NOTHING = (b"", (0, 0))


def packed(entries: np.ndarray, native: bool) -> bytes:
    """Return the entries [n], int32, as they are sent; `native`: by the compiled kernels."""
    if not native:
        return entries.astype("<i4").tobytes()
    with tf.device("CPU"):
        return bytes(load_ops().tfw2v_pack(entries.astype(np.int32)).numpy())


def unpacked(text: tf.Tensor, native: bool) -> tf.Tensor:
    """Return the entries [n], int32, of a text [], string, from `packed`."""
    if not native:
        return tf.io.decode_raw(text, tf.int32)
    with tf.device("CPU"):
        return tf.ensure_shape(load_ops().tfw2v_unpack(tf.io.decode_raw(text, tf.uint8)), [None])


def source_of(unit: WorkUnit, config: KernelConfig) -> tuple[bytes, tuple[int, int]]:
    """Return the source and range of a unit, for `read_entries` on a worker."""
    of_file = unit.start, unit.stop
    if config.shared_corpus:
        return os.fsencode(os.path.abspath(unit.path)), of_file
    return packed(unit.read(), config.native), of_file


def read_entries(source: tf.Tensor, of_file: tf.Tensor, config: KernelConfig) -> tf.Tensor:
    """Return a unit's entries, on the worker.

    Parameters
    ----------
    source : Tensor [], string
        Entries from `packed`; with ``config.shared_corpus``, the path of a file that contains them
        as little-endian int32.
    of_file : Tensor [2], int32
        First entry and end of the unit's range in the file.
    config : KernelConfig

    Returns
    -------
    Tensor [n], int32
    """
    if not config.shared_corpus:
        return unpacked(source, config.native)

    def read() -> tf.Tensor:
        start, stop = tf.unstack(4 * of_file)
        return tf.strings.substr(tf.io.read_file(source), start, stop - start)

    text = tf.cond(of_file[0] < of_file[1], read, lambda: tf.constant(b""))
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
