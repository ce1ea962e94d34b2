"""A helper process: makes one part of an encoded corpus (started by helpers.py).

It is called with the folder of a job and the number of its part. It writes shards and a `Part`
there, and says on standard output, a JSON object a line, how far it is, that it is done, or what
went wrong. It ends when its standard input does, so that it never outlives the process that
started it.
"""

import json
import os
import sys
import threading
import traceback
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.corpus.helpers import DAMAGED, JOB, TABLE, WORD_IDS, WORDS
from gensim_tfw2v.corpus.lines import CorpusDecodeError
from gensim_tfw2v.corpus.numbering import KnownWords, Numbering, Progress, without_unknown
from gensim_tfw2v.corpus.parts import Part, read_part
from gensim_tfw2v.corpus.shards import Shard, ShardWriter, renumbered
from gensim_tfw2v.corpus.texts import Piece, PieceEncoder
from gensim_tfw2v.corpus.workspace import explained


def main(folder: str, number: str) -> None:
    """Make part `number` of the job in a folder."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _make(Path(folder), int(number))
        _say(done=int(number))
    except CorpusDecodeError as error:
        fields = bytes(error.object).hex(), error.start, error.end, error.reason, error.offset
        _say(undecodable=(error.path, *fields))
    except OSError as error:
        if error.errno is None:
            _say(damaged=(type(error).__name__, str(error)))
        else:
            _say(oserror=(error.errno, error.strerror or str(error), error.filename))
    except tuple(DAMAGED.values()) as error:
        _say(damaged=(type(error).__name__, str(error)))
    except Exception:
        _say(failure=traceback.format_exc(limit=-3)[-2000:])


def _make(folder: Path, number: int) -> None:
    job = json.loads((folder / JOB).read_text(encoding="utf-8"))

    def progress(*state: int) -> None:
        _say(progress=(number, *state))

    # its own files, also beside another that makes the same part because this one seemed lost
    prefix = f"part{number:05}-{uuid.uuid4().hex[:8]}-"
    if "shards" in job:
        shards = [Shard(**shard) for shard in job["shards"][number]]
        part = _renumber(shards, folder, number, prefix)
    else:
        part = _read(job, folder, number, prefix, progress)
    with explained(folder):
        part.save(folder, number)


def _read(
    job: Mapping[str, Any], folder: Path, number: int, prefix: str, progress: Progress
) -> Part:
    ids: KnownWords | Numbering = Numbering()
    if job["is_known"]:
        words = (folder / WORDS).read_bytes().decode("utf-8", "surrogatepass").split("\n")
        ids = KnownWords(dict(zip(words, np.load(folder / WORD_IDS).tolist(), strict=False)))
    pieces = [Piece(*piece) for piece in job["runs"][number]]
    return read_part(PieceEncoder(pieces, ids), ids, folder, prefix, progress)


def _renumber(shards: list[Shard], folder: Path, number: int, prefix: str) -> Part:
    writer = ShardWriter(folder, prefix, without_unknown)
    for run in renumbered(shards, np.load(folder / TABLE.format(number))):
        writer.write(run)
    return Part(writer.close(), writer.raw_words, writer.sentences, [], np.zeros(0, np.int64))


def _say(**message: Any) -> None:
    # one write of less than PIPE_BUF bytes: the helpers share the pipe
    os.write(1, json.dumps(message).encode() + b"\n")


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
