"""Shards, which are files of sentences as word ids: their entries, counts and errors."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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


@dataclass(frozen=True)
class Shard:
    """File of whole sentences: raw little-endian int32 ids, with -1 after each sentence.

    A sentence may be a document, whose tags do not count as tokens. After `EncodedCorpus.recut`,
    the first and the last sentence may be parts of a sentence.
    """

    path: str
    n_entries: int  # number of int32 values in the file
    n_tokens: int  # number of entries that are words
    n_raw_words: int  # number of words in the encoded text, including unknown ones
    n_sentences: int  # number of sentences in the encoded text, including empty ones


class EncodedPart(NamedTuple):
    """Shards and counts of one part of a corpus.

    With a known vocabulary, shards contain its ids, and `words` is empty. Otherwise they contain
    provisional ids: indices of `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    n_raw_words: int
    n_sentences: int
    words: bytes = b""  # UTF-8, a newline after each word
    counts: NDArray[np.int64] = np.zeros(0, np.int64)  # occurrences of each of `words`


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


def check_shards(shards: Iterable[Shard]) -> None:
    """Raise a ValueError if a shard's file is missing or has a wrong length."""
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.n_entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def without_unknown(entries: Ids) -> Ids:
    """Remove unknown words from the entries of whole sentences, and return the rest.

    Sentences that contain no known words are dropped, with their tags.
    """
    entries = entries[entries != UNKNOWN]
    ends = np.flatnonzero(entries == END)
    n_words = np.diff(np.cumsum(entries >= 0)[ends], prepend=0)
    return entries[np.repeat(n_words > 0, np.diff(ends, prepend=-1))]
