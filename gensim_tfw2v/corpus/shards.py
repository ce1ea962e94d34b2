"""Ids on disk: shards, which are files of whole sentences, in a temporary folder."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.files.temporary import TemporaryFolder

Ids = NDArray[np.int32]
#: Told the words, sentences, word types and bytes of files so far.
Progress = Callable[[int, int, int, int], object]
#: Where a temporary folder is made; None for where `tempfile` makes them (see TMPDIR).
Parent = str | os.PathLike[str] | None

ID = np.dtype("<i4")  # on disk, whatever the machine
END, UNKNOWN = -1, -2  # after each sentence; in place of a word outside the vocabulary
SHARD = 1 << 22  # entries, at most (more only if one sentence is longer)
MAX_SENTENCE = 10_000  # words: gensim's MAX_WORDS_IN_BATCH, where LineSentence cuts a line


@dataclass(frozen=True)
class Shard:
    """A file of whole sentences: raw little-endian int32 ids, -1 after each sentence."""

    path: str
    entries: int  # int32 in the file
    tokens: int  # of them words
    raw_words: int  # words of the text that it stands for
    sentences: int  # sentences of the text that it stands for


class Part(NamedTuple):
    """Shards and counts of one part of a corpus.

    With a known vocabulary the shards hold its ids, and there are no words; else they hold
    provisional ids: places in `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    raw_words: int
    sentences: int
    words: bytes = b""  # each with a line's end after it
    counts: NDArray[np.int64] = np.zeros(0, np.int64)


Opened = TypeVar("Opened", bound="OnDisk")


class OnDisk:
    """Arrays kept in a temporary folder.

    The folder is removed by `close`, at the end of a ``with`` block, when this is collected, or at
    the interpreter's exit.

    Attributes
    ----------
    folder : Path
    """

    def __init__(self, temporary: TemporaryFolder) -> None:
        self.folder = temporary.folder
        self.close = temporary.close

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextlib.contextmanager
def fresh_folder(parent: Parent = None) -> Iterator[TemporaryFolder]:
    """Make a temporary folder that stays, unless there is an error."""
    with explained(Path(parent or "the folder for temporary files")):
        made = TemporaryFolder("corpus", parent)
    try:
        yield made
    except BaseException:  # Ctrl-C too
        made.close()
        raise


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say in an OSError how much was written where, and what to do; it keeps errno and class."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        written = sum(map(_size, folder.glob("**/*")))
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            advice = "free space there, or"
        elif error.errno in (errno.ENOENT, errno.ENOTDIR):
            advice = "make the folder first, or"
        else:
            advice = "mend that, or"
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}, after {written:,} bytes of encoded corpus; {advice} "
            "name another folder (encoded_dir=…, or TMPDIR in the environment)",
            str(folder),
        ) from error


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # it has been moved
        if path.is_file():
            return path.stat().st_size
    return 0


def check_shards(shards: Iterable[Shard]) -> None:
    """Raise a ValueError unless files are as long as was written."""
    for shard in shards:
        size = os.path.getsize(shard.path) if os.path.exists(shard.path) else 0
        if size != shard.entries * ID.itemsize:
            raise ValueError(f"{shard.path} is missing or cut short: encode the corpus again")


def without_unknown(run: Ids) -> Ids:
    """Drop the unknown words of whole sentences, then the sentences that this left empty."""
    run = run[run != UNKNOWN]
    ends = run == END
    empty = ends.copy()
    empty[1:] &= ends[:-1]
    return run[~empty]


def save_ids(path: Path, ids: Ids) -> None:
    """Write ids to a file; errors are explained."""
    with explained(path.parent), open(path, "wb", buffering=0) as file:
        data = memoryview(ids.astype(ID, copy=False).tobytes())
        while data:  # a disk that fills takes a part of the bytes before it complains
            data = data[file.write(data) :]


def read_ids(path: str, start: int, stop: int) -> Ids:
    """Read a slice of a shard: int32, [stop - start]."""
    ids = np.fromfile(path, ID, stop - start, offset=start * ID.itemsize)
    if len(ids) != stop - start:
        raise ValueError(f"{path} is cut short: encode the corpus again")
    return ids.astype(np.int32, copy=False)
