"""Random texts and integers, valid and invalid, read by a scanner compiled with sanitizers.

Run by ``sanitized_program.py``.
"""

import contextlib
import random
import tempfile
from pathlib import Path

import numpy as np

from gensim_tfw2v.corpus import (
    integer_sentences,
    integer_table,
    scanner,
    shard_files,
    strings,
)
from gensim_tfw2v.corpus.marks import Marks
from gensim_tfw2v.corpus.scanner import FileRange
from gensim_tfw2v.corpus.text_streams import CorpusDecodeError

PIECES = [b"a", b" ", b"\n", b"\r\n", b"word", b"w" * 70, "\u3000 \x85 漢字 é 🧬".encode(), b"\0"]
WRONG = [b"\xff", b"\xc3", b"\xe3\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]


def encode_integers(choose):
    """Encode random sentences of integers, in arrays without spare room, and invalid lengths."""
    table = integer_table.IntegerTable()
    for size in (0, 1, 17, choose.choice((40, 6000))):
        values = np.array([choose.randint(-9, 9) << choose.choice((0, 40)) for _ in range(size)])
        edges = sorted(choose.choices(range(size + 1), k=5))
        lengths = np.diff([0, *edges, size])
        batch = integer_sentences.IntegerBatch(values.astype(np.int64), lengths, 6)
        assert (table.encode(batch) >= -1).all()
        known = integer_table.KnownIntegers(table.words()[::2])
        assert len(known.encode(batch)) == size + (-(-lengths // 7)).sum()
        for wrong in (lengths[:-1], -lengths, lengths + 1):
            if wrong.sum() != size:
                with contextlib.suppress(ValueError):
                    table.encode(batch._replace(lengths=wrong))
                    raise AssertionError("wrong lengths were accepted")


def main():
    shard_files.MAX_SENTENCE, shard_files.SHARD_ENTRIES = 7, 50
    known = scanner.KnownWords({"a": 2, "漢字": 0, "w" * 70: 1, "not there": 3})
    choose, refused = random.Random(5), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        for number in range(400):
            pieces = choose.choices(PIECES, k=choose.choice((0, 1, 5, 300)))
            if number % 4 == 0:
                pieces.insert(choose.randint(0, len(pieces)), choose.choice(WRONG))
            path.write_bytes(b"".join(pieces))
            listed = scanner.WordCounter()
            for grows in (True, False):
                text = b"".join(piece + b"\0" for piece in pieces)
                places = np.sort(choose.choices(range(len(pieces) + 1), k=7))
                marks = Marks(places.astype(np.int64), np.arange(-9, -2, dtype=np.int32))
                found = listed.encode(text, len(pieces), grows, marks)
                assert (found is None) == (b"\0" in pieces)
                listed.encode(text[:-1], len(pieces), grows)
            encode_integers(choose)
            words = [piece.decode("utf-8", "surrogateescape") for piece in pieces]
            joined = strings.join_strings([words[:9], tuple(words[9:])])
            assert joined == "".join(f"{word}\0" for word in words).encode("utf-8", "surrogatepass")
            scanner.BLOCK_BYTES = choose.choice((1, 2, 3, 8, 100, 1 << 18))
            try:
                tagged = number % 3 == 0
                text = FileRange(str(path), 0, path.stat().st_size)
                part = scanner.scan([text] * 2, Path(folder, "part"), None, tagged)
                scanner.scan([text], Path(folder, "known"), known, tagged)
            except CorpusDecodeError:
                refused += 1
                continue
            words = scanner.WordCounter()
            places = words.add(part.words, part.counts)
            for shard in part.shards:
                ids = np.fromfile(shard.path, np.int32)
                with contextlib.suppress(IndexError):
                    scanner.renumber(ids.copy(), places[: len(places) // 2])
                scanner.renumber(ids, np.where(places % 3, places, shard_files.UNKNOWN))
    print(refused)


if __name__ == "__main__":
    main()
