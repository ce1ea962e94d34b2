"""Walks that workers draw by a compiled op, from a file or from a copy of its content."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops

#: Maximum size of a file of walks that is sent to workers; TensorFlow's messages have less than
#: 2 GiB.
MAX_BYTES = 2**31 - 2**20


class WalkFiles(NamedTuple):
    """Content of a file of walks and of the file of its nodes' word ids, as arrays or tensors.

    Both are empty if the workers can read the files.

    Attributes
    ----------
    graph : Tensor [bytes], uint8
    ids : Tensor [nodes], int32
    """

    graph: tf.Tensor
    ids: tf.Tensor

    @classmethod
    def none(cls) -> WalkFiles:
        """Return empty arrays."""
        return cls(np.zeros(0, np.uint8), np.zeros(0, np.int32))

    @classmethod
    def load(cls, path: Path) -> WalkFiles:
        """Read both files, to send them to workers.

        Raises a ValueError if a graph is too large to be sent.
        """
        n_bytes = path.stat().st_size
        if n_bytes > MAX_BYTES:
            raise ValueError(
                f"the graph has {n_bytes / 1e9:,.1f} GB, but the workers can't read the folder "
                f"{path.parent}, and at most {MAX_BYTES / 1e9:,.1f} GB can be sent to them: use a "
                "folder that all tasks of the cluster share (encoded_dir=...)"
            )
        return cls(np.fromfile(path, np.uint8), np.fromfile(f"{path}.ids", "<i4"))


def draw_walks(source: tf.Tensor, walk_range: tf.Tensor, files: WalkFiles) -> tf.Tensor:
    """Draw walks: word ids [n], int32, with -1 after each walk.

    Parameters
    ----------
    source : Tensor [], string
        Result of `WalkShard.source`.
    walk_range : Tensor [2], int32
        Number of the first walk, and of the walk after the last one.
    files : WalkFiles
    """
    with tf.device("CPU"):
        entries = load_ops().tfw2v_walk(tf.io.decode_raw(source, tf.uint8), walk_range, *files)
        return tf.ensure_shape(entries, [None])
