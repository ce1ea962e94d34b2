"""The units of a job: their entries, sent or read from a folder, and the rows that they use."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.shards import WorkUnit
from gensim_tfw2v.kernel.native_unit import NativeUnit, number_rows
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.unit import prepare_unit
from gensim_tfw2v.kernel.word_arrays import WordArrays

#: What `source_of` gives for no unit.
NOTHING = (b"", (0, 0))


def source_of(unit: WorkUnit, is_shared: bool) -> tuple[bytes, tuple[int, int]]:
    """Source of a unit that a worker is sent: arguments of `read_entries`.

    Parameters
    ----------
    unit : WorkUnit
    is_shared : bool
        Whether workers see its file.
    """
    of_file = (unit.start, unit.stop)
    if is_shared:
        return os.fsencode(os.path.abspath(unit.path)), of_file
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
    """Return whether all workers see what this process writes to a folder."""
    path, token = folder.absolute() / f"seen-{uuid.uuid4().hex}", uuid.uuid4().bytes
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


def prepare_units(
    program: Program,
    words: WordArrays,
    sources: tf.Tensor,
    ranges: tf.Tensor,
    keys: tf.Tensor,
    alphas: tf.Tensor,
) -> list[Any]:
    """Draw and plan the units of a job; arguments as in `job_signature`."""
    of_units = zip(*(tf.unstack(x) for x in (sources, ranges, keys, alphas)), strict=True)
    return [
        prepare_unit(
            program, words, read_entries(source, of_file, program.shared_corpus), key, alpha
        )
        for source, of_file, key, alpha in of_units
    ]


def own_ids(prepared: list[Any], words: WordArrays) -> tuple[Any, list[Any], WordArrays]:
    """Number the rows that units use from 0.

    Parameters
    ----------
    prepared : list of PreparedUnit or of NativeUnit
    words : WordArrays

    Returns
    -------
    ids : Tables of Tensor [n], int32
        The distinct ids of each table; None without use.
    prepared, words
        The same, with the new numbers.
    """
    if isinstance(prepared[0], NativeUnit):
        return number_rows(prepared, words)
    ids = Tables(None, None, None)
    for name in Tables._fields:
        parts = [getattr(part.unit, name) for part in prepared]
        if parts[0] is None:
            continue
        distinct, numbers = tf.unique(tf.concat(parts, 0))
        own = tf.split(numbers, [tf.size(part) for part in parts], num=len(parts))
        ids = ids._replace(**{name: distinct})
        if name == "inputs" and words.lock.shape[0] != 0:
            words = words._replace(lock=tf.gather(words.lock, distinct))
        prepared = [
            part._replace(unit=part.unit._replace(**{name: number}))
            for part, number in zip(prepared, own, strict=True)
        ]
    return ids, prepared, words
