"""Reading a corpus file with several helper processes."""

import json
import os
import pickle
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gensim_tfw2v.children import start_module
from gensim_tfw2v.corpus.lines import CorpusDecodeError
from gensim_tfw2v.corpus.numbering import Progress
from gensim_tfw2v.corpus.parts import Part
from gensim_tfw2v.corpus.workspace import explained


def read_ranges(
    path: str,
    ranges: Sequence[tuple[int, int]],
    key_to_index: Mapping[str, int] | None,
    folder: Path,
    progress: Progress | None = None,
) -> Iterator[Part]:
    """Read each range with a process of its own.

    Parameters
    ----------
    path : str
        A plain file.
    ranges : list of (start, stop)
        In bytes, each of whole lines.
    key_to_index : dict, optional
        The vocabulary, if it is known.
    folder : Path
        Where shards are written.

    Returns
    -------
    iterator of Part
        In the order of the ranges; loaded one by one, for each holds a vocabulary.

    Raises
    ------
    CorpusDecodeError, OSError
        As the helpers met them.
    RuntimeError
        If a helper failed otherwise, or was killed.
    """
    job = folder / "job.pickle"
    # a word that is no str does not occur in a file
    known = key_to_index and {w: i for w, i in key_to_index.items() if isinstance(w, str)}
    with explained(folder):
        job.write_bytes(pickle.dumps((os.path.abspath(path), known)))
    commands = [(str(job), str(n), str(a), str(b)) for n, (a, b) in enumerate(ranges)]
    with _running(commands) as messages:
        _follow(path, messages, len(ranges), progress)
    job.unlink()
    return (_load(folder / f"part{number:03}.pickle") for number in range(len(ranges)))


@contextmanager
def _running(commands: Sequence[Sequence[str]]) -> Iterator[Iterator[dict[str, Any]]]:
    """Run helpers, give their messages, and leave none running."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    read_end, write_end = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    with open(read_end, "rb") as messages:
        try:
            try:
                for command in commands:
                    processes.append(
                        start_module(
                            "gensim_tfw2v.corpus.worker",
                            *command,
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


def _follow(
    path: str, messages: Iterator[dict[str, Any]], helpers: int, progress: Progress | None
) -> None:
    """Report the progress of all helpers together until all are done."""
    latest: dict[int, tuple[int, int, int]] = {}
    done = 0
    for message in messages:
        if "progress" in message:
            number, *state = message["progress"]
            latest[number] = (state[0], state[1], state[2])
            if progress:
                words, sentences, word_types = zip(*latest.values(), strict=True)
                progress(sum(words), sum(sentences), max(word_types))
        elif "done" in message:
            done += 1
            if done == helpers:
                return
        elif "undecodable" in message:
            near, start, end, reason, offset = message["undecodable"]
            error = UnicodeDecodeError("utf-8", bytes.fromhex(near), start, end, reason)
            raise CorpusDecodeError(error, path, offset)
        elif "oserror" in message:
            raise OSError(*message["oserror"])
        else:
            raise RuntimeError(f"a helper that read {path} failed:\n{message['failure']}")
    raise RuntimeError(
        f"a helper that read {path} ended early: was it killed, for example for want of memory? "
        "Fewer helpers (processes=1) need less"
    )


def _load(path: Path) -> Part:
    with open(path, "rb") as file:
        part, text = pickle.load(file)
    path.unlink()
    return replace(part, words=text.split("\n") if text else [])
