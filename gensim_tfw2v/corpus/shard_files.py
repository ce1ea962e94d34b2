"""Entries of a corpus on disk: their code, limits, and errors of writing them."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
#: Callback whose arguments count what was read: words, sentences, word types, bytes of files.
Progress = Callable[[int, int, int, int], object]
#: Folder in which a temporary folder is made; None for the default of `tempfile` (see TMPDIR).
Parent = str | os.PathLike[str] | None

ID = np.dtype("<i4")  # an entry on disk, little-endian on all machines
END = -1  # entry after each sentence
UNKNOWN = -2  # entry of a word outside the vocabulary
FIRST_TAG = -3  # FIRST_TAG - n is the entry of tag n, before the words of its document
SHARD_ENTRIES = 1 << 22  # maximum entries of a shard; only a shard of one sentence may have more
MAX_SENTENCE = 10_000  # maximum words of a sentence, as in LineSentence; longer ones are cut


def write_error(code: int | None, folder: Path) -> OSError:
    """Return the error of a failed write, with the bytes written so far and a remedy.

    `code` is the errno, and `folder` the folder of the encoded corpus.
    """
    n_bytes = sum(map(_size, folder.glob("**/*")))
    if code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "free space there, or"
    elif code in (errno.ENOENT, errno.ENOTDIR):
        advice = "make the folder first, or"
    else:
        advice = "fix that, or"
    return OSError(
        code,
        f"{os.strerror(code or 0)}, after {n_bytes:,} bytes of encoded corpus; {advice} "
        "use a different folder (encoded_dir=…, or TMPDIR in the environment)",
        str(folder),
    )


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # the file was moved or removed meanwhile
        if path.is_file():
            return path.stat().st_size
    return 0


def without_unknown(entries: Ids) -> Ids:
    """Remove unknown words from the entries of whole sentences, and return the rest.

    Sentences that contain no known words are dropped, with their tags.
    """
    entries = entries[entries != UNKNOWN]
    ends = np.flatnonzero(entries == END)
    n_words = np.diff(np.cumsum(entries >= 0)[ends], prepend=0)
    return entries[np.repeat(n_words > 0, np.diff(ends, prepend=-1))]
