"""A helper process: reads one byte range of a corpus file (started by helpers.py).

It is called with the path of a job, the number of its part, and its range. It writes shards and
a pickled `Part` beside the job, and says on standard output, a JSON object a line, how far it is,
that it is done, or what went wrong. It ends when its standard input does, so that it never
outlives the process that started it.
"""

import json
import os
import pickle
import sys
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.files import open_corpus
from gensim_tfw2v.corpus.lines import CorpusDecodeError, encode_lines
from gensim_tfw2v.corpus.numbering import KnownWords, Numbering
from gensim_tfw2v.corpus.parts import read_part
from gensim_tfw2v.corpus.workspace import explained


def main(job: str, number: str, start: str, stop: str) -> None:
    """Read the bytes from `start` to `stop` of the job's corpus as part `number`."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _read(Path(job), int(number), int(start), int(stop))
        _say(done=True)
    except CorpusDecodeError as error:
        fields = bytes(error.object).hex(), error.start, error.end, error.reason, error.offset
        _say(undecodable=fields)
    except OSError as error:
        _say(oserror=(error.errno, error.strerror or str(error), error.filename))
    except Exception:
        _say(failure=traceback.format_exc(limit=-3)[-2000:])


def _read(job: Path, number: int, start: int, stop: int) -> None:
    path, known = pickle.loads(job.read_bytes())

    def progress(words: int, sentences: int, word_types: int) -> None:
        _say(progress=(number, words, sentences, word_types))

    ids = Numbering() if known is None else KnownWords(known)
    with open_corpus(path) as stream:
        stream.seek(start)
        chunks = encode_lines(stream, ids, path=path, start=start, stop=stop)
        part = read_part(chunks, ids, job.parent, f"part{number:03}-", progress)
    with explained(job.parent), open(job.parent / f"part{number:03}.pickle", "wb") as file:
        # words hold no white space, and one string is far quicker to load than many
        pickle.dump((replace(part, words=[]), "\n".join(map(str, part.words))), file)


def _say(**message: Any) -> None:
    # one write of less than PIPE_BUF bytes: the helpers share the pipe
    os.write(1, json.dumps(message).encode() + b"\n")


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
