"""Reading texts with several helper processes, on this machine or on others."""

import gzip
import json
import os
import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gensim_tfw2v.corpus.lines import CorpusDecodeError
from gensim_tfw2v.corpus.numbering import ID, Ids, Progress
from gensim_tfw2v.corpus.parts import Part
from gensim_tfw2v.corpus.shards import Shard
from gensim_tfw2v.corpus.texts import Piece
from gensim_tfw2v.corpus.workspace import explained
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.processes.children import start_module
from gensim_tfw2v.processes.machine import usable_cores

BYTES_A_HELPER = 8 << 20  # a helper starts in the time in which one process reads about 4 MB
MAX_HELPERS = 8  # each holds the vocabulary of its part

#: The file of a job: what each helper is to make a `Part` of. Beside it stand arrays of the job.
JOB, WORDS, WORD_IDS, TABLE = "job.json", "words.txt", "words.npy", "table{:05}.npy"

#: What a damaged file raises, whatever process reads it.
DAMAGED = {kind.__name__: kind for kind in (EOFError, gzip.BadGzipFile, zlib.error, LZMAError)}

#: What is said of a helper that says nothing.
ENDED_EARLY = (
    "a helper that read the corpus ended early: was it killed, for example for want of memory?"
)


class Readers(Protocol):
    """Those who run helper processes."""

    def runs(self, size: int) -> int:
        """Into how many runs texts of so many bytes should be cut."""
        ...

    def messages(
        self, folder: Path, sizes: Sequence[int]
    ) -> AbstractContextManager[Iterator[dict[str, Any]]]:
        """Run a helper for each part of the job in a folder; give what they say.

        Parameters
        ----------
        folder : Path
        sizes : sequence of int
            Bytes that are to be read for each.
        """
        ...


class Processes:
    """Helper processes of this machine, all at the same time.

    Parameters
    ----------
    number : int, optional
        By default one for every usable core, fewer for small texts.

    Raises
    ------
    ValueError
        If `number` is below 1.
    """

    def __init__(self, number: int | None = None) -> None:
        if number is not None and number < 1:
            raise ValueError(f"processes must be at least 1, but is {number}")
        self._number = number

    def runs(self, size: int) -> int:
        """Into how many runs texts of so many bytes should be cut."""
        if self._number is not None:
            return self._number
        return max(1, min(len(usable_cores()), MAX_HELPERS, size // BYTES_A_HELPER))

    def messages(
        self, folder: Path, sizes: Sequence[int]
    ) -> AbstractContextManager[Iterator[dict[str, Any]]]:
        """Run a helper for each part of the job in a folder; give what they say."""
        return running(folder, range(len(sizes)))


@contextmanager
def running(folder: Path, parts: Sequence[int]) -> Iterator[Iterator[dict[str, Any]]]:
    """Run a helper for each of some parts of a job, give their messages, and leave none running."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    read_end, write_end = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    with open(read_end, "rb") as messages:
        try:
            try:
                for part in parts:
                    processes.append(
                        start_module(
                            "gensim_tfw2v.corpus.worker",
                            str(folder),
                            str(part),
                            environment=one_thread,
                            stdout=write_end,
                        )
                    )
            finally:
                os.close(write_end)
            yield (json.loads(line) for line in messages if line.startswith(b"{"))
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.communicate()


def read_texts(
    runs: Sequence[Sequence[Piece]],
    key_to_index: Mapping[str, int] | None,
    folder: Path,
    readers: Readers,
    progress: Progress | None = None,
) -> Iterator[Part]:
    """Read runs of texts, each with a process of its own.

    Parameters
    ----------
    runs : list of list of Piece
    key_to_index : dict, optional
        The vocabulary, if it is known; else words are numbered.
    folder : Path
        Where shards are written.
    readers : Readers

    Returns
    -------
    iterator of Part
        In the order of the runs; loaded one by one, for each holds a vocabulary.

    Raises
    ------
    CorpusDecodeError, OSError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError
        As the helpers met them.
    RuntimeError
        If a helper failed otherwise, or was killed.
    """
    with explained(folder):
        if key_to_index is not None:
            # what is no string, or has a line's end in it, does not occur in a text
            known = {w: i for w, i in key_to_index.items() if isinstance(w, str) and "\n" not in w}
            text = "\n".join(known).encode("utf-8", "surrogatepass")
            (folder / WORDS).write_bytes(text)
            save_array(folder / WORD_IDS, np.fromiter(known.values(), ID, len(known)))
    runs = [[piece._replace(path=_absolute(piece.path)) for piece in run] for run in runs]
    sizes = [sum(piece.bytes for piece in run) for run in runs]
    job = {"is_known": key_to_index is not None, "runs": runs}
    return _parts(job, folder, sizes, readers, progress)


def renumber(
    parts: Sequence[tuple[Sequence[Shard], Ids]], numbers: Ids, folder: Path, readers: Readers
) -> Iterator[Part]:
    """Give the ids in shards other numbers, part by part, each with a process of its own.

    Parameters
    ----------
    parts : list of (list of Shard, int32 array)
        Shards, and the place in `numbers` of each id in them.
    numbers : int32 array
        The new ones.
    folder : Path
        Where the new shards are written.

    Returns
    -------
    iterator of Part
        Errors are those of `read_texts`.
    """
    with explained(folder):
        for number, (_, places) in enumerate(parts):
            save_array(folder / TABLE.format(number), numbers[places])
    shards = [[vars(shard) for shard in shards] for shards, _ in parts]
    sizes = [ID.itemsize * sum(shard.entries for shard in shards) for shards, _ in parts]
    return _parts({"shards": shards}, folder, sizes, readers, None)


def _parts(
    job: Mapping[str, Any],
    folder: Path,
    sizes: Sequence[int],
    readers: Readers,
    progress: Progress | None,
) -> Iterator[Part]:
    with explained(folder):
        (folder / JOB).write_text(json.dumps(job), encoding="utf-8")
    with readers.messages(folder, sizes) as messages:
        _follow(messages, len(sizes), progress)
    for path in (folder / JOB, folder / WORDS, folder / WORD_IDS, *folder.glob("table*.npy")):
        path.unlink(missing_ok=True)
    return (Part.load(folder, number) for number in range(len(sizes)))


def _follow(messages: Iterator[dict[str, Any]], helpers: int, progress: Progress | None) -> None:
    """Report the progress of all helpers together until all are done."""
    latest: dict[int, list[int]] = {}
    done: set[int] = set()
    for message in messages:
        if "progress" in message:
            number, *state = message["progress"]
            latest[number] = state
            if progress:
                words, sentences, word_types, read = zip(*latest.values(), strict=True)
                progress(sum(words), sum(sentences), max(word_types), sum(read))
        elif "done" in message:
            done.add(message["done"])
            if len(done) == helpers:
                return
        else:
            raise trouble_of(message)
    raise RuntimeError(f"{ENDED_EARLY} Fewer helpers (processes=1) need less")


def trouble_of(message: Mapping[str, Any]) -> Exception:
    """What a helper met, that says neither how far it is nor that it is done."""
    if "undecodable" in message:
        path, near, start, end, reason, offset = message["undecodable"]
        error = UnicodeDecodeError("utf-8", bytes.fromhex(near), start, end, reason)
        return CorpusDecodeError(error, path, offset)
    if "damaged" in message:
        kind, text = message["damaged"]
        return DAMAGED.get(kind, OSError)(text)
    if "oserror" in message:
        return OSError(*message["oserror"])
    return RuntimeError(f"a helper that read the corpus failed:\n{message['failure']}")


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)
