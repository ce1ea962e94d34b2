"""A part of a corpus, read by one process: its shards, and its words and their counts."""

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.numbering import Ids, KnownWords, Numbering, Progress, without_unknown
from gensim_tfw2v.corpus.sentences import SentenceEncoder
from gensim_tfw2v.corpus.shards import Shard, ShardWriter, check_shards, in_folder
from gensim_tfw2v.corpus.texts import PieceEncoder

#: The file of a part among others.
PART = "part{:05}.npz"


@dataclass(frozen=True)
class Part:
    """What one process found in its part of a corpus.

    With a known vocabulary the shards hold its ids, and `words` and `counts` are empty; else
    they hold provisional ids: places in `words`, which are in order of first occurrence.
    """

    shards: list[Shard]
    raw_words: int
    sentences: int
    words: list[Any]
    counts: NDArray[np.int64]  # [words]

    def save(self, folder: Path, number: int) -> None:
        """Write what is not in its shards, which are in the same folder, to a file there."""
        shards = [vars(shard) | {"path": Path(shard.path).name} for shard in self.shards]
        about = {"shards": shards, "raw_words": self.raw_words, "sentences": self.sentences}
        # one string is far quicker to load than many; words of a text hold no end of a line
        texts = json.dumps(about), "\n".join(map(str, self.words))
        arrays = [np.frombuffer(text.encode(), np.uint8) for text in texts]
        path = folder / PART.format(number)
        begun = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        with open(begun, "wb") as file:
            np.savez(file, about=arrays[0], words=arrays[1], counts=self.counts)
        os.replace(begun, path)

    @classmethod
    def load(cls, folder: Path, number: int) -> "Part":
        """Take what `save` wrote; its file is removed.

        Raises
        ------
        ValueError
            If there is something else, or its shards are not what was written.
        """
        path = folder / PART.format(number)
        with np.load(path, allow_pickle=False) as file:
            about, text = (bytes(file[name]).decode() for name in ("about", "words"))
            counts = file["counts"].astype(np.int64, copy=False)
        path.unlink()
        words, told = text.split("\n") if text else [], json.loads(about)
        if counts.shape != (len(words),):
            raise ValueError(f"{path} has {len(words)} words and {counts.shape} counts")
        shards = in_folder([Shard(**shard) for shard in told.pop("shards")], folder)
        check_shards(shards)
        return cls(shards, words=words, counts=counts, **told)


class Tally:
    """Counts the ids of the runs that pass through it."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def __call__(self, run: Ids) -> Ids:
        """Count a run of ids of -1 and up; give it back as it was."""
        found = np.bincount(run + 1)[1:]
        shorter, longer = sorted((self.counts, found), key=len)
        longer[: len(shorter)] += shorter
        self.counts = longer
        return run


def read_part(
    chunks: PieceEncoder | SentenceEncoder,
    ids: Numbering | KnownWords,
    folder: Path,
    prefix: str = "",
    progress: Progress | None = None,
) -> Part:
    """Write the shards of a part in `folder`, and count its words if they are being numbered.

    Parameters
    ----------
    chunks : PieceEncoder or SentenceEncoder
        Gives packed ids, made with `ids` while it is read.
    ids : Numbering or KnownWords
        Decides whether provisional ids are written, or final ones without unknown words.
    """
    tally = Tally()
    known = isinstance(ids, KnownWords)
    writer = ShardWriter(
        folder,
        prefix,
        finish=without_unknown if known else tally,
        report=progress
        and (lambda words, sentences: progress(words, sentences, len(ids), chunks.bytes_read)),
    )
    for chunk in chunks:
        writer.write(chunk)
    shards = writer.close()
    words = [] if known else list(ids)
    return Part(shards, writer.raw_words, writer.sentences, words, tally.counts)
