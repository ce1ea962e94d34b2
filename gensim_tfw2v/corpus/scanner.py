"""Interface to the compiled scanner, which writes text as ids to files without holding the GIL.

The source is ``kernel/native/src/text/text.cc``, which is compiled into the library of the kernels.
"""

import contextlib
import ctypes
import functools
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v import compiled_library
from gensim_tfw2v.compiled_library import ScannerState, ShardCounts
from gensim_tfw2v.corpus import shard_files
from gensim_tfw2v.corpus.marks import NO_MARKS, Marks
from gensim_tfw2v.corpus.shard_files import END, Ids, Progress, without_unknown, write_error
from gensim_tfw2v.corpus.shards import EncodedPart, Shard
from gensim_tfw2v.corpus.text_streams import CorpusDecodeError, bytes_read, open_stream
from gensim_tfw2v.keys.compact import keys_of
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.string_keys import StringKeys

BLOCK_BYTES = 1 << 18  # bytes per read

#: First part of the names of the files that contain a vocabulary for remote machines.
KNOWN_PREFIX = "known-"


@functools.cache
def library() -> Any:
    """Return the library of compiled functions; None if it is missing or this system can't load it.

    Raises `StaleLibrary` if the library was built from other sources.
    """
    return compiled_library.load_optional()


def call(function: Any, *arguments: Any) -> Any:
    """Call a function of the library that allocates memory, and return its result.

    Raises a MemoryError if it finds too little memory.
    """
    result = function(*arguments)
    if result is None or result == compiled_library.FAILED:
        raise MemoryError(f"no memory could be allocated in {function.__name__}")
    return result


@dataclass(frozen=True, order=True)
class FileRange:
    """Whole lines of a text: bytes [start, stop) of a file.

    A stream (a compressed or remote file, or a pipe) is one range, from 0 to its size on disk, or
    to 0 if this size is unknown.
    """

    path: str
    start: int
    stop: int
    is_stream: bool = False

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the range for reading from its start, as decompressed bytes."""
        if self.is_stream:
            return open_stream(self.path)
        file = open(self.path, "rb")
        file.seek(self.start)
        return file

    def ends_in_line(self) -> bool:
        """Return whether a program has added to the last line since the size was determined."""
        with open(self.path, "rb") as file:
            file.seek(max(self.start, self.stop - 1))
            end = file.read(2)
        return len(end) == 2 and not end.startswith(b"\n")


def bytes_of(ranges: Iterable[FileRange]) -> int:
    """Return the total size of ranges in bytes."""
    return sum(lines.stop - lines.start for lines in ranges)


class WordCounter:
    """Compiled hash table of distinct words and their counts.

    The index of a word is its ordinal, from 0, in the order in which words were added.
    """

    def __init__(self) -> None:
        self.pointer = call(library().tfw2v_words_new)
        weakref.finalize(self, library().tfw2v_words_free, self.pointer)

    def __len__(self) -> int:
        return int(library().tfw2v_words_number(self.pointer))

    def add(self, text: bytes, counts: NDArray[np.int64] | None = None) -> Ids:
        """Add words, each followed by a newline; return the index of each among all words.

        `counts` contains the number of occurrences of each word, by default 0.
        """
        indices = np.empty(text.count(b"\n"), np.int32)
        address = None if counts is None else counts.ctypes.data
        words_add = library().tfw2v_words_add
        call(words_add, self.pointer, text, len(text), address, indices.ctypes.data)
        return indices

    def encode(
        self, text: bytes, n_words: int, add: bool = True, marks: Marks = NO_MARKS
    ) -> Ids | None:
        """Return the index of each of `n_words` words, each followed by a zero byte, and the marks.

        Returns None if a word contains a zero byte. With `add`, the words are counted, and new ones
        are added. Otherwise new words have the index `UNKNOWN`. The zero bytes are stored with the
        words, so words that the method `add` has added are not found.
        """
        entries = np.empty(n_words + len(marks.places), np.int32)
        are_encoded = call(
            library().tfw2v_words_encode,
            self.pointer,
            text,
            len(text),
            n_words,
            add,
            marks.places.ctypes.data,
            marks.entries.ctypes.data,
            len(marks.places),
            entries.ctypes.data,
        )
        return entries if are_encoded else None

    def encoded_words(self) -> list[str]:
        """Return the words that `encode` has added.

        The strings are new, and close together in memory, so that looking them up is fast.
        """
        return words_of(self.pointer)[0].decode("utf-8", "surrogatepass").split("\0\n")[:-1]


def words_of(counter: int) -> tuple[bytes, NDArray[np.int64]]:
    """Return the words of a counter, each followed by a newline, and their counts.

    `counter` is the address of the compiled object, such as `WordCounter.pointer`.
    """
    functions = library()
    size = functions.tfw2v_words_size(counter)
    text = ctypes.string_at(functions.tfw2v_words_text(counter), size)
    n_words = functions.tfw2v_words_number(counter)
    counts = ctypes.string_at(functions.tfw2v_words_counts(counter), 8 * n_words)
    return text, np.frombuffer(counts, np.int64)


def release_memory() -> None:
    """Return freed memory to the system; otherwise glibc would keep it for its threads."""
    with contextlib.suppress(AttributeError):  # C libraries other than glibc lack it
        ctypes.CDLL(None).malloc_trim(0)


class KnownWords(WordCounter):
    """Words of a vocabulary with their ids, which concurrent scanners can share.

    Keys that are not strings, or cannot occur in a text, are left out.
    """

    def __init__(self, key_to_index: Mapping[Any, int]) -> None:
        super().__init__()
        if (keys := keys_of(key_to_index)) is not None:
            self.ids = self._add_keys(keys)
            return
        ids = {
            word: index
            for word, index in key_to_index.items()
            if isinstance(word, str) and word and "\n" not in word
        }
        self.add("".join(f"{word}\n" for word in ids).encode("utf-8", "surrogatepass"))
        self.ids = np.fromiter(ids.values(), np.int32, len(ids))

    def _add_keys(self, keys: Keys) -> Ids:
        """Add compact keys; return the ids of those that were not left out."""
        if not isinstance(keys, StringKeys):
            return np.zeros(0, np.int32)
        can_occur = ~keys.contain(b"\n")
        can_occur[np.diff(keys.offsets) == 0] = False
        ids = np.flatnonzero(can_occur).astype(np.int32)
        for text in (keys if len(ids) == len(keys) else keys.select(ids)).joined_blocks(b"\n"):
            self.add(text)
        return ids

    def save(self, folder: Path) -> None:
        """Write the vocabulary to files in a folder, for remote machines."""
        (folder / f"{KNOWN_PREFIX}words").write_bytes(words_of(self.pointer)[0])
        self.ids.tofile(folder / f"{KNOWN_PREFIX}numbers")


def scan(
    run: Sequence[FileRange],
    prefix: Path,
    vocabulary: KnownWords | None = None,
    tagged: bool = False,
    progress: Progress | None = None,
) -> EncodedPart:
    """Write the ids of a run of text to shards, whose paths start with `prefix`.

    A run is a sequence of file ranges. Without a vocabulary, words are counted and numbered. In
    `tagged` text, each line is a document, whose tag is the number of the line in the run.
    `progress` is called after each block of text. Errors are those of `run_readers.read_runs`.
    """
    functions = library()
    scanner = call(
        functions.tfw2v_scanner_new,
        os.fsencode(prefix),
        shard_files.MAX_SENTENCE,
        shard_files.SHARD_ENTRIES,
        None if vocabulary is None else vocabulary.pointer,
        None if vocabulary is None else vocabulary.ids.ctypes.data,
    )
    try:
        if tagged:
            functions.tfw2v_scanner_tag_lines(scanner)
        state = ScannerState.from_address(functions.tfw2v_scanner_state(scanner))
        n_bytes = 0  # total size of the ranges before `text`
        for text in run:
            for n_read in _scan_text(scanner, state, text, prefix.parent):
                if progress:
                    progress(state.raw_words, state.sentences, state.types, n_bytes + n_read)
            n_bytes += text.stop - text.start
        call(functions.tfw2v_scanner_finish, scanner)
        if state.error:
            raise write_error(state.error, prefix.parent)
        shards = state.shards and (ShardCounts * state.shards).from_address(
            functions.tfw2v_scanner_shards(scanner)
        )
        return EncodedPart(
            [
                Shard(
                    f"{prefix}{n:05}.int32",
                    n_entries=shards[n].entries,
                    n_tokens=shards[n].tokens,
                    n_raw_words=shards[n].raw_words,
                    n_sentences=shards[n].sentences,
                )
                for n in range(state.shards)
            ],
            state.raw_words,
            state.sentences,
            *words_of(functions.tfw2v_scanner_words(scanner)),
        )
    finally:
        functions.tfw2v_scanner_free(scanner)


def _scan_text(scanner: int, state: Any, text: FileRange, folder: Path) -> Iterator[int]:
    """Scan a text block by block; yield the number of its bytes on disk that were read so far."""
    scan_block = library().tfw2v_scanner_scan
    offset = text.start  # offset of `pending`
    pending = b""  # bytes that were read, but not scanned yet
    context = b""  # last bytes before `pending`, for error messages
    is_last = False  # whether `pending` ends with the text
    with text.open() as stream:
        while not is_last:
            # a block is at least as long as the pending bytes, so that a huge word, which is
            # scanned again after each read, takes linear time
            size = max(BLOCK_BYTES, len(pending))
            n_left = sys.maxsize if text.is_stream else text.stop - offset - len(pending)
            block = stream.read(min(size, n_left))
            pending += block
            is_last = not block or len(block) == n_left
            if is_last and not text.is_stream and pending and not pending.endswith(b"\n"):
                pending += stream.readline()  # what a program has added to the last line
            n_scanned = call(scan_block, scanner, pending, len(pending), is_last)
            if state.bad >= 0:
                invalid = pending[state.bad :] + stream.read(24)
                context += pending[: state.bad]
                _raise_decode_error(text.path, offset + state.bad, context, invalid)
            if state.error:
                raise write_error(state.error, folder)
            if n_scanned:
                context = pending[max(0, n_scanned - 24) : n_scanned]
            offset += n_scanned
            pending = pending[n_scanned:]
            n_read = bytes_read(stream) if text.is_stream else offset + len(pending)
            yield min(n_read, text.stop) - text.start


def _raise_decode_error(path: str, offset: int, context: bytes, invalid: bytes) -> None:
    """Raise a `CorpusDecodeError` for invalid bytes at an offset of a text.

    `context` contains the bytes before the offset, which the message quotes.
    """
    try:
        invalid.partition(b"\n")[0].decode()
    except UnicodeDecodeError as error:
        raise CorpusDecodeError(error, path, offset, context.rpartition(b"\n")[2]) from None


def renumber(ids: Ids, new_ids: Ids) -> Ids:
    """Replace each id by ``new_ids[id]``, and drop unknown words and sentences without words.

    Tags are not changed. `ids` is overwritten, and the result may be a part of it.
    """
    if (functions := library()) is None:
        words = np.append(new_ids, new_ids.dtype.type(END))[np.maximum(ids, END)]
        return without_unknown(np.where(ids < END, ids, words))
    n_remaining = functions.tfw2v_renumber(
        ids.ctypes.data, len(ids), new_ids.ctypes.data, len(new_ids)
    )
    if n_remaining < 0:
        raise IndexError("a shard was changed: it holds an id that is out of range")
    return ids[:n_remaining]
