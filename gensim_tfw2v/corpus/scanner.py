"""The compiled scanner: text to ids in files, by threads that hold no lock of the interpreter.

Its functions are those of ``kernel/native/src/text.cc``, in the library of the kernels.
"""

import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gensim_tfw2v.corpus import shards
from gensim_tfw2v.corpus.files import CorpusDecodeError, FileRange, bytes_read, open_corpus
from gensim_tfw2v.corpus.shards import (
    END,
    EncodedPart,
    Ids,
    Progress,
    Shard,
    explained,
    without_unknown,
)

LIBRARY = Path(__file__).parents[1] / "kernel/native/kernels.so"

BLOCK = 1 << 18  # bytes a read


@functools.cache
def library() -> Any:
    """The compiled functions; None where they are missing, or of another version."""
    pointer = ctypes.c_void_p
    number = ctypes.c_int64
    text = ctypes.c_char_p
    try:
        return loaded(
            LIBRARY,
            ("words_new", pointer, []),
            ("words_free", None, [pointer]),
            ("words_add", None, [pointer, text, number, pointer, pointer]),
            *((f"words_{what}", number, [pointer]) for what in ("number", "size")),
            *((f"words_{what}", pointer, [pointer]) for what in ("text", "counts")),
            ("scanner_new", pointer, [text, number, number, pointer, pointer]),
            *((f"scanner_{what}", None, [pointer]) for what in ("tag_lines", "free", "finish")),
            ("scanner_scan", number, [pointer, text, number, ctypes.c_int32]),
            *((f"scanner_{what}", pointer, [pointer]) for what in ("state", "words", "shards")),
            ("renumber", number, [pointer, number, pointer, number]),
        )
    except (OSError, AttributeError):
        return None


def loaded(path: Path, *functions: tuple[str, Any, list[Any]]) -> Any:
    """Load a compiled library, and declare functions with their result and arguments."""
    library = ctypes.CDLL(str(path))
    for name, result, arguments in functions:
        function = getattr(library, f"tfw2v_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


def copied(address: int | None, shape: tuple[int, ...], dtype: DTypeLike = np.int64) -> np.ndarray:
    """A copy of an array that is in the memory of the library."""
    copy = np.empty(shape, dtype)
    if address and copy.size:
        ctypes.memmove(copy.ctypes.data, address, copy.nbytes)
    return copy


class Words:
    """Distinct words in the order in which they were added, and their counts."""

    def __init__(self) -> None:
        self.pointer = library().tfw2v_words_new()
        weakref.finalize(self, library().tfw2v_words_free, self.pointer)

    def add(self, text: bytes, counts: NDArray[np.int64] | None = None) -> Ids:
        """Count words, each followed by a line's end; give their places among all."""
        places = np.empty(text.count(b"\n"), np.int32)
        address = None if counts is None else counts.ctypes.data
        library().tfw2v_words_add(self.pointer, text, len(text), address, places.ctypes.data)
        return places

    def found(self) -> tuple[bytes, NDArray[np.int64]]:
        """All words, each followed by a line's end, and their counts."""
        return _found(self.pointer)


def _found(words: int) -> tuple[bytes, NDArray[np.int64]]:
    functions = library()
    text = ctypes.string_at(functions.tfw2v_words_text(words), functions.tfw2v_words_size(words))
    number = functions.tfw2v_words_number(words)
    return text, copied(functions.tfw2v_words_counts(words), (number,))


class Known(Words):
    """A vocabulary with its ids, for any number of scanners at a time.

    What is no string, or cannot be in a text, is left out.
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
        self._lock = threading.Lock()
        self._saved = False

    def saved(self, folder: Path) -> Path:
        """Write it once, to files in a folder, for other machines; give how their names begin."""
        prefix = folder / "known-"
        with self._lock:
            if not self._saved:
                prefix.with_name("known-words").write_bytes(self.found()[0])
                self.numbers.tofile(prefix.with_name("known-numbers"))
            self._saved = True
        return prefix


def scan(
    pieces: Sequence[FileRange],
    prefix: Path,
    known: Known | None = None,
    tell: Progress | None = None,
) -> EncodedPart:
    """Write the ids of pieces of text to shards, whose names begin with a prefix.

    Without a vocabulary that is known, words are counted and numbered. `tell` is called after each
    block of text. Errors are those of `scan_texts`.
    """
    functions = library()
    vocabulary = (None, None) if known is None else (known.pointer, known.numbers.ctypes.data)
    scanner = functions.tfw2v_scanner_new(
        os.fsencode(prefix), shards.MAX_SENTENCE, shards.SHARD, *vocabulary
    )
    try:
        if pieces[0].tagged:
            functions.tfw2v_scanner_tag_lines(scanner)
        state = _State.from_address(functions.tfw2v_scanner_state(scanner))
        before = 0  # bytes of pieces that have been read
        for piece in pieces:
            with open_corpus(piece.path) as stream:
                for _ in _blocks(functions, scanner, state, piece, stream):
                    _check(state, prefix)
                    if tell:
                        read = min(bytes_read(stream) - piece.start, piece.bytes)
                        tell(state.raw_words, state.sentences, state.types, before + read)
            before += piece.bytes
        functions.tfw2v_scanner_finish(scanner)
        _check(state, prefix)
        written = copied(functions.tfw2v_scanner_shards(scanner), (state.shards, 4))
        return EncodedPart(
            [Shard(f"{prefix}{n:05}.int32", *shard) for n, shard in enumerate(written.tolist())],
            state.raw_words,
            state.sentences,
            *_found(functions.tfw2v_scanner_words(scanner)),
        )
    finally:
        functions.tfw2v_scanner_free(scanner)


class _State(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("raw_words", "sentences", "types", "shards", "bad", "error")
    ]


def _blocks(
    functions: Any, scanner: int, state: _State, piece: FileRange, stream: BinaryIO
) -> Iterator[None]:
    """Scan a piece, block by block."""
    if piece.start:
        stream.seek(piece.start)
    before = rest = b""  # what stands before the text not yet scanned, and that
    block = b"\n"
    at = piece.start  # where the block begins
    while block:
        # as much again as is left over, so that a word without end costs linear time
        size = max(BLOCK, len(rest))
        block = stream.read(size if piece.stop is None else min(size, piece.stop - at - len(rest)))
        text = rest + block
        done = functions.tfw2v_scanner_scan(scanner, text, len(text), not block)
        if state.bad >= 0:
            line = (before + text[: state.bad]).rpartition(b"\n")[2]
            wrong = (text[state.bad :] + stream.read(24)).partition(b"\n")[0]
            try:
                wrong.decode()
            except UnicodeDecodeError as error:
                raise CorpusDecodeError(error, piece.path, at + state.bad, line) from None
        if done:
            before = text[max(0, done - 24) : done]
            rest = text[done:]
            at = at + done
        else:
            rest = text
        yield


def _check(state: _State, prefix: Path) -> None:
    with explained(prefix.parent):
        if state.error:
            raise OSError(state.error, os.strerror(state.error))


def renumbered(ids: Ids, numbers: Ids) -> Ids:
    """Give ``numbers[id]`` in place of each id, without unknown words; `ids` are no more.

    Tags stay what they are.
    """
    if (functions := library()) is None:
        words = np.append(numbers, numbers.dtype.type(END))[np.maximum(ids, END)]
        return without_unknown(np.where(ids < END, ids, words))
    left = functions.tfw2v_renumber(ids.ctypes.data, len(ids), numbers.ctypes.data, len(numbers))
    if left < 0:
        raise IndexError("a shard holds ids that were not written there")
    return ids[:left]
