"""Interface to the compiled scanner, which writes text as ids to files without holding the GIL.

The source is ``kernel/native/src/text/text.cc``, which is compiled into the library of the kernels.
"""

import contextlib
import ctypes
import functools
import os
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.compiled_library import ScannerState, ShardCounts
from gensim_tfw2v.corpus import encoded_corpus
from gensim_tfw2v.corpus.encoded_corpus import (
    END,
    EncodedPart,
    Ids,
    Progress,
    Shard,
    without_unknown,
    write_error,
)
from gensim_tfw2v.corpus.text_files import CorpusDecodeError, FileRange, bytes_read, open_text

BLOCK = 1 << 18  # bytes per read


@functools.cache
def library() -> Any:
    """Load the compiled functions; None if they are missing or do not load on this system.

    Raises a `StaleLibrary` if they were built from other sources.
    """
    return compiled_library.load_optional()


class WordCounter:
    """Distinct words in the order in which they were added, and their counts."""

    def __init__(self) -> None:
        self.pointer = library().tfw2v_words_new()
        weakref.finalize(self, library().tfw2v_words_free, self.pointer)

    def __len__(self) -> int:
        return int(library().tfw2v_words_number(self.pointer))

    def add(self, text: bytes, counts: NDArray[np.int64] | None = None) -> Ids:
        """Count words, each followed by a newline; return the index of each among all words.

        A word counts 0 times, or `counts` times.
        """
        indices = np.empty(text.count(b"\n"), np.int32)
        address = None if counts is None else counts.ctypes.data
        library().tfw2v_words_add(self.pointer, text, len(text), address, indices.ctypes.data)
        return indices

    def encode(self, text: bytes, number: int, add: bool = True) -> tuple[Ids, Ids] | None:
        """Return the index of each of `number` words, and the places of the new ones.

        Each word is followed by a zero byte; None if a word contains one. Words are counted; or, if
        not `add`, new ones have the index `UNKNOWN`. A table is filled either by this method or by
        `add`.
        """
        indices = np.empty(number, np.int32)
        places = np.empty(number, np.int32)
        addresses = indices.ctypes.data, places.ctypes.data
        functions = library()
        new = functions.tfw2v_words_encode(self.pointer, text, len(text), number, add, *addresses)
        return None if new < 0 else (indices, places[:new])

    def encoded_words(self) -> list[str]:
        """Return the words that `encode` has added, as new strings, which lie close together."""
        return words_of(self.pointer)[0].decode("utf-8", "surrogatepass").split("\0\n")[:-1]


def words_of(counter: int) -> tuple[bytes, NDArray[np.int64]]:
    """Return the words of a counter at an address, each followed by a newline, and their counts."""
    functions = library()
    size = functions.tfw2v_words_size(counter)
    text = ctypes.string_at(functions.tfw2v_words_text(counter), size)
    number = functions.tfw2v_words_number(counter)
    counts = ctypes.string_at(functions.tfw2v_words_counts(counter), 8 * number)
    return text, np.frombuffer(counts, np.int64)


def release_memory() -> None:
    """Return memory to the system that reading has freed; glibc would keep it for its threads."""
    with contextlib.suppress(AttributeError):  # a different C library
        ctypes.CDLL(None).malloc_trim(0)


class Known(WordCounter):
    """Vocabulary with its ids, which concurrent scanners can share.

    Keys that are not strings, or cannot occur in a text, are left out.
    """

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        known = {
            word: number
            for word, number in key_to_index.items()
            if isinstance(word, str) and word and "\n" not in word
        }
        super().__init__()
        self.add("".join(f"{word}\n" for word in known).encode("utf-8", "surrogatepass"))
        self.numbers = np.fromiter(known.values(), np.int32, len(known))

    def save(self, folder: Path) -> None:
        """Write the vocabulary to files in a folder, for remote machines."""
        (folder / "known-words").write_bytes(words_of(self.pointer)[0])
        self.numbers.tofile(folder / "known-numbers")


def scan(
    run: Sequence[FileRange],
    prefix: Path,
    known: Known | None = None,
    tagged: bool = False,
    tell: Progress | None = None,
) -> EncodedPart:
    """Write the ids of a run of text to shards, whose paths start with `prefix`.

    Without a known vocabulary, words are counted and numbered. In `tagged` text, each line is a
    document, whose tag is the number of the line in the run. `tell` is called after each block of
    text. Errors are as in `read_runs`.
    """
    functions = library()
    vocabulary = (None, None) if known is None else (known.pointer, known.numbers.ctypes.data)
    scanner = functions.tfw2v_scanner_new(
        os.fsencode(prefix), encoded_corpus.MAX_SENTENCE, encoded_corpus.SHARD, *vocabulary
    )
    try:
        if tagged:
            functions.tfw2v_scanner_tag_lines(scanner)
        state = ScannerState.from_address(functions.tfw2v_scanner_state(scanner))
        first = 0  # bytes of the run before this text
        for text in run:
            at = text.start  # offset of `rest`
            before = b""  # last bytes before `rest`, for error messages
            rest = b""  # bytes that were read, but not scanned yet
            block = b"\n"
            with open_text(text) as stream:
                while block:
                    # at least as long as the rest, so that a huge word is read in linear time
                    size = max(BLOCK, len(rest))
                    if not text.is_stream:
                        size = min(size, text.stop - at - len(rest))
                    block = stream.read(size)
                    rest += block
                    done = functions.tfw2v_scanner_scan(scanner, rest, len(rest), not block)
                    if state.bad >= 0:
                        wrong = rest[state.bad :] + stream.read(24)
                        _refuse(text.path, at + state.bad, before + rest[: state.bad], wrong)
                    if state.error:
                        raise write_error(state.error, prefix.parent)
                    if done:
                        before = rest[max(0, done - 24) : done]
                    at += done
                    rest = rest[done:]
                    if tell:
                        read = bytes_read(stream) if text.is_stream else at + len(rest)
                        read = min(read, text.stop) - text.start
                        tell(state.raw_words, state.sentences, state.types, first + read)
            first += text.stop - text.start
        functions.tfw2v_scanner_finish(scanner)
        if state.error:
            raise write_error(state.error, prefix.parent)
        shards = state.shards and (ShardCounts * state.shards).from_address(
            functions.tfw2v_scanner_shards(scanner)
        )
        return EncodedPart(
            [
                Shard(
                    f"{prefix}{n:05}.int32",
                    entries=shards[n].entries,
                    tokens=shards[n].tokens,
                    raw_words=shards[n].raw_words,
                    sentences=shards[n].sentences,
                )
                for n in range(state.shards)
            ],
            state.raw_words,
            state.sentences,
            *words_of(functions.tfw2v_scanner_words(scanner)),
        )
    finally:
        functions.tfw2v_scanner_free(scanner)


def _refuse(path: str, offset: int, before: bytes, wrong: bytes) -> None:
    """Raise a `CorpusDecodeError` for invalid bytes at an offset of a text, after `before`."""
    try:
        wrong.partition(b"\n")[0].decode()
    except UnicodeDecodeError as error:
        raise CorpusDecodeError(error, path, offset, before.rpartition(b"\n")[2]) from None


def renumber(ids: Ids, numbers: Ids) -> Ids:
    """Replace each id by ``numbers[id]``, and drop unknown words; `ids` is overwritten.

    Tags are not changed.
    """
    if (functions := library()) is None:
        words = np.append(numbers, numbers.dtype.type(END))[np.maximum(ids, END)]
        return without_unknown(np.where(ids < END, ids, words))
    left = functions.tfw2v_renumber(ids.ctypes.data, len(ids), numbers.ctypes.data, len(numbers))
    if left < 0:
        raise IndexError("a shard was changed: it holds an id that is out of range")
    return ids[:left]
