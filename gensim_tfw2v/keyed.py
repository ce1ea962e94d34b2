"""gensim's KeyedVectors: built from arrays or word2vec files, without rows that have no key.

Importing this module makes gensim's ``KeyedVectors.save_word2vec_format`` write text faster.
"""

import codecs
import copy
import functools
import itertools
import logging
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors, keyedvectors

from gensim_tfw2v import compiled_library
from gensim_tfw2v.messages import decode_error_message, open_decompressed, quoted
from gensim_tfw2v.processes.threads import in_threads, usable_cores

logger = logging.getLogger(__name__)


#: Numbers that a thread formats at a time.
NUMBERS = 1 << 17

#: Maximum length in bytes of a formatted number and its separator.
LONGEST_NUMBER = 16

#: Bytes per read.
CHUNK = 1 << 20

#: Maximum length in bytes of a line of text, and of a word with its numbers in a binary file.
LONGEST_LINE = 1 << 24

HEADER = re.compile(rb"\s*([0-9]{1,15})\s+([0-9]{1,15})\s*")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")

#: V words, and their V * D vector elements.
Rows = tuple[list[str], "array[float]"]


class _Unreadable(ValueError):
    """File that is not in the expected format; the message names the place and the reason.

    The message is empty if even the first line is not in the format.
    """


def keyed(words: Sequence[Any], rows: np.ndarray) -> KeyedVectors:
    """Build KeyedVectors of words from their rows [V, D], without copying the rows."""
    vectors = KeyedVectors(rows.shape[1])
    _set_rows(vectors, list(words), rows)
    return vectors


def first_of_fasttext(vectors: Any, n_words: int | None = None) -> Any:
    """Return FastText's vectors with only their first words; by default with all.

    They have all n-grams, so unknown words keep their vectors.
    """
    first = copy.copy(vectors)
    first.index_to_key = vectors.index_to_key[:n_words]
    first.next_index = len(first.index_to_key)
    first.key_to_index = {word: row for row, word in enumerate(first.index_to_key)}
    for name in ("vectors", "vectors_vocab", "buckets_word"):
        setattr(first, name, getattr(vectors, name)[:n_words])
    n_rows = len(vectors)
    for name, values in vars(vectors).items():
        if name.endswith("_lockf") and len(values) == n_rows and name != "vectors_ngrams_lockf":
            setattr(first, name, values[:n_words])
    first.expandos = {name: values[:n_words] for name, values in vectors.expandos.items()}
    first.norms = None
    return first


def with_keys(
    vectors: KeyedVectors, warn: Callable[[str], object] = logger.warning
) -> KeyedVectors:
    """Return vectors without the rows that have no key, or the same key as an earlier row.

    gensim's loader leaves such rows at the end if a file contains a word twice. Vectors without
    such rows are returned unchanged. Otherwise a warning states their number, and the remaining
    rows are copied.
    """
    words = vectors.index_to_key
    if len(vectors.key_to_index) == len(words):
        return vectors
    first: dict[Any, int] = {}
    for row, word in enumerate(words):
        if word is not None:
            first.setdefault(word, row)
    kept = np.fromiter(first.values(), np.int64, len(first))
    if len(kept) == len(words):  # all rows have keys; integer keys are not in `key_to_index`
        return vectors
    warn(
        f"left out {len(words) - len(kept)} of {len(words)} rows, which have no word of their own: "
        "if a file contains a word twice, only its first vector is used"
    )
    whole = {n: of for n, of in vectors.expandos.items() if len(of) == len(words)}
    expandos = {name: values[kept] for name, values in whole.items()}
    if are_invented(expandos, len(words) - kept):
        expandos["count"] = np.arange(len(kept), 0, -1)  # as gensim numbers words without counts
    vectors = copy.copy(vectors)
    _set_rows(vectors, list(first), vectors.vectors[kept])
    vectors.expandos = expandos
    vectors.norms = None
    return vectors


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """Return the word counts that vectors contain, [V]; None if they contain none."""
    counts = np.asarray(vectors.expandos.get("count", ()))
    numbering = np.arange(len(vectors), 0, -1)
    if len(counts) != len(vectors) or are_invented(vectors.expandos, numbering):
        return None
    return counts.astype(np.int64)


def are_invented(expandos: Mapping[str, np.ndarray], numbering: np.ndarray) -> bool:
    """Return whether counts are those that gensim invents for words of a file without counts.

    They are the numbering V, V - 1, ..., 1. A vocabulary that was counted may have these counts,
    but it has thresholds for subsampling, too.
    """
    return "sample_int" not in expandos and np.array_equal(expandos.get("count", ()), numbering)


def _format_rows() -> Any:
    """Return the compiled function, which releases the GIL; None if it is missing."""
    return getattr(compiled_library.load_optional(), "tfw2v_format_rows", None)


_gensims_save = KeyedVectors.save_word2vec_format


@functools.wraps(_gensims_save)
def save_word2vec_format(
    self: KeyedVectors,
    fname: Any,
    fvocab: Any = None,
    binary: bool = False,
    total_vec: int | None = None,
    write_header: bool = True,
    prefix: str = "",
    append: bool = False,
    sort_attr: str = "count",
) -> None:
    """Save as gensim, which writes the same bytes, but text by compiled code in threads.

    If the word in row 0 is the integer 0, gensim writes it twice; this function writes it once.
    """
    if _has_own_rows_twice(self):
        self = _with_text_keys(self)
    words = self.index_to_key
    size = self.vector_size
    format_rows = _format_rows()
    is_float = self.vectors.dtype == np.float32 and self.vectors.shape == (len(words), size)
    if format_rows is None or not is_float or binary or fvocab is not None:
        return _gensims_save(
            self, fname, fvocab, binary, total_vec, write_header, prefix, append, sort_attr
        )
    values = self.expandos.get(sort_attr)
    if values is None:
        absent = "attribute %s not present in %s; will store in internal index_to_key order"
        keyedvectors.logger.warning(absent, sort_attr, self)
        values = np.zeros(len(words))
    if total_vec is None:
        total_vec = len(words)
    keyedvectors.logger.info("storing %sx%s projection weights into %s", total_vec, size, fname)

    def lines(rows: np.ndarray, _: object) -> bytes:
        named = [f"{prefix}{words[row]}".encode() for row in rows.tolist()]
        text = b"".join(named)
        ends = np.cumsum([*map(len, named)], dtype=np.int64)
        numbers = self.vectors.take(rows, axis=0)
        made = np.empty(len(text) + len(rows) * (LONGEST_NUMBER * size + 1), np.uint8)
        given = text, ends.ctypes.data, numbers.ctypes.data, *numbers.shape, made.ctypes.data
        return made[: format_rows(*given)].tobytes()

    # Doc2Vec's integer tags are their own rows, and come first
    tags = next((row for row, key in enumerate(words) if row != key), len(words))
    rows = np.fromiter(self.key_to_index.values(), np.int64)
    order = np.r_[:tags, rows[np.argsort(-np.asarray(values)[rows], kind="stable")]]
    parts = np.array_split(order, len(order) * size // NUMBERS + 1)
    with utils.open(fname, "ab" if append else "wb") as out:
        if write_header:
            out.write(f"{total_vec} {size}\n".encode())
        for part in in_threads(lines, parts, ahead=2 * len(usable_cores())):
            out.write(part)


# The class of models' vectors stays gensim's, which loads their files without this package.
KeyedVectors.save_word2vec_format = save_word2vec_format


def _has_own_rows_twice(vectors: KeyedVectors) -> bool:
    """Return whether gensim's ``save_word2vec_format`` would write a word twice.

    It takes the first keys, if they are their row numbers, for tags, which `key_to_index` lacks.
    """
    keys = vectors.index_to_key
    return bool(keys) and keys[0] == 0 and 0 in vectors.key_to_index


def _with_text_keys(vectors: KeyedVectors) -> KeyedVectors:
    """Return vectors with the same arrays, and with the text of their keys as keys."""
    named = copy.copy(vectors)
    named.index_to_key = [*map(str, vectors.index_to_key)]
    named.key_to_index = {str(key): row for key, row in vectors.key_to_index.items()}
    if len(named.key_to_index) < len(vectors.key_to_index):
        raise ValueError(
            "an integer and a string among the keys have the same digits, so that a file of text "
            "cannot hold both: rename one of them, or use save()"
        )
    return named


def _set_rows(vectors: KeyedVectors, words: list[Any], rows: np.ndarray) -> None:
    vectors.index_to_key = words
    vectors.next_index = len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.vectors = rows


def read_word2vec(path: Path, encoding: str) -> KeyedVectors:
    """Read word2vec's text format, with or without its header line, or its binary format.

    The file is text if each line is a word and D decimal numbers, separated by single blanks or
    by tabs. It is binary if it consists of V words in `encoding`, each followed by D floats, if
    nothing follows them, and if the floats contain bytes that are not text. The result equals that
    of gensim's ``load_word2vec_format``, which also accepts some files that are rejected here.
    Duplicate words are kept: see `with_keys`.

    Raises
    ------
    _Unreadable
        If the file is neither text nor binary; the message names the line or the word, and the
        reason.
    ValueError
        If a word is not in `encoding`.
    """
    try:
        with open_decompressed(path) as file:
            words, numbers = read_text(file, encoding)
        is_text = True
    except _Unreadable as of_text:
        is_text = False
        with open_decompressed(path) as file:
            sizes = HEADER.fullmatch(file.readline(LONGEST_LINE))
            sample = file.read(4096)
            controls = len(_CONTROL.findall(sample))
            if not sizes or not controls and sample.isascii():
                raise
            try:
                words, numbers = _read_binary(file, sizes, sample, encoding)
            except ValueError as of_binary:
                # above 2 % of control characters, the file is probably binary
                raise (of_binary if 50 * controls > len(sample) else of_text) from None
    rows = np.frombuffer(numbers, np.float32).reshape(len(words), -1 if words else 0)
    if is_text:
        _check_not_too_large(path, rows)
    vectors = keyed(words, rows)
    vectors.expandos["count"] = np.arange(len(words), 0, -1)  # as gensim invents them
    return vectors


def read_text(file: BinaryIO, encoding: str) -> Rows:
    """Read an open text file; see `read_word2vec`."""
    words: list[str] = []
    numbers = array("f")
    rows = -1  # number of rows in the header; -1 without a header
    size = 0
    at = 0
    lines = iter(partial(file.readline, LONGEST_LINE), b"")
    for line_number, line in enumerate(lines, 1):
        row = (line.removeprefix(codecs.BOM_UTF8) if line_number == 1 else line).rstrip()
        if line_number == 1 and (sizes := HEADER.fullmatch(row)):
            rows, size = map(int, sizes.groups())
        elif row:
            if not words:
                separator = b" " if row.rfind(b" ") > row.rfind(b"\t") else b"\t"
                size = size or row.count(separator)
            word, *fields = row.split(separator)
            if wrong := _extend(numbers, fields, size):
                where = f"line {line_number:,} ({quoted(line[:30])}...)"
                raise _Unreadable(f"{where} {wrong}" if line_number > 1 else "")
            words.append(_decoded(word, at + line.index(word), encoding))
        elif any(map(bytes.strip, lines)):
            wrong = f"line {line_number:,} is empty, but lines follow it"
            raise _Unreadable(wrong if line_number > 1 else "")
        at += len(line)
    if rows < 0 and size < 2:
        raise _Unreadable
    if len(words) != rows >= 0:
        raise _Unreadable(f"has {len(words):,} words, but its header announces {rows:,}")
    is_all_numbers = rows < 0 and all(_NUMBER.fullmatch(word.encode()) for word in words)
    if is_all_numbers and not (len(set(words)) == len(words) and all(map(str.isdigit, words))):
        raise _Unreadable(
            "has lines of numbers without words; put a word at the start of each, as in: "
            "paste metadata.tsv vectors.tsv"
        )
    return words, numbers


def _extend(numbers: "array[float]", fields: list[bytes], size: int) -> str:
    """Append D numbers; return a description of what is wrong, empty if they are valid."""
    if len(fields) != size or not size:
        return f"has {len(fields):,} numbers after its word, instead of {size or 'some'}"
    try:
        if not b"".join(fields).translate(None, b"0123456789+-.eE"):
            numbers.fromlist(list(map(float, fields)))
            return ""
    except ValueError:
        pass
    wrong = next(field for field in fields if not _NUMBER.fullmatch(field))
    return f"has {quoted(wrong)}, which is not a finite number"


def _check_not_too_large(path: Path, rows: np.ndarray) -> None:
    """Raise for a number in a text that is infinite as float32; read the text again to name it."""
    if not len(bad := np.flatnonzero(np.isinf(rows).any(axis=1))):
        return
    with open_decompressed(path) as file:
        first = file.readline(LONGEST_LINE)
        skipped = int(bad[0]) + bool(HEADER.fullmatch(first.removeprefix(codecs.BOM_UTF8).rstrip()))
        lines = itertools.chain([first], iter(partial(file.readline, LONGEST_LINE), b""))
        line = next(itertools.islice(lines, skipped, None))
    fields = line.split()[-rows.shape[1] :]
    wrong = fields[int(np.flatnonzero(np.isinf(rows[bad[0]]))[0])]
    where = f"line {skipped + 1:,} ({quoted(line[:30])}...)"
    raise _Unreadable(f"{where} has {quoted(wrong)}, which is too large for float32")


def _read_binary(file: BinaryIO, sizes: re.Match[bytes], data: bytes, encoding: str) -> Rows:
    """Read V words with D floats each, from `data` and then from the rest of the open file."""
    words: list[str] = []
    numbers = array("f")
    start = 0
    rows, size = map(int, sizes.groups())
    wrong = f"is not a binary file of {rows:,} words x {size:,} dimensions, as in its header: "
    while len(words) < rows:
        blank = data.find(b" ", start)
        end = blank + 1 + 4 * size
        if blank < 0 or end > len(data):
            more = file.read(CHUNK)
            if not more or len(data) - start > LONGEST_LINE:
                raise _Unreadable(f"{wrong}it ends in the middle of word {len(words) + 1:,}")
            data = data[start:] + more
            start = 0
            continue
        at = file.tell() - len(data) + start
        words.append(_decoded(data[start:blank], at, encoding).lstrip("\n"))
        numbers.frombytes(data[blank + 1 : end])
        start = end
    if (data[start:] + file.read(1)).strip():
        raise _Unreadable(f"{wrong}more data follows")
    sample = numbers[:1024].tobytes()
    if sample.isascii() and not _CONTROL.search(sample):
        raise _Unreadable("is text, but not in word2vec's format")
    return words, numbers


def _decoded(word: bytes, at: int, encoding: str) -> str:
    try:
        return word.decode(encoding)
    except UnicodeDecodeError as error:
        cure = "Give its encoding, as in: --encoding latin-1"
        raise ValueError(decode_error_message(error, at + error.start, cure)) from error
