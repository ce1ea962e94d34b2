"""gensim's KeyedVectors: made of arrays or of word2vec's files, and rid of rows without a key."""

import codecs
import copy
import logging
import re
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gensim import utils
from gensim.models import KeyedVectors

from gensim_tfw2v.messages import number, open_decompressed, quoted, undecodable

logger = logging.getLogger(__name__)

#: Rows that are written at a time.
ROWS = 1000

#: Bytes that are read at a time, and the most that a line of text or a word may have.
CHUNK, LONGEST_LINE = 1 << 20, 1 << 24

_HEADER = re.compile(rb"\s*([0-9]{1,15})\s+([0-9]{1,15})\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_OF_NUMBERS = b"0123456789+-.eE"


class Unreadable(ValueError):
    """File that is not in a format; the message gives the place and the reason."""


def keyed(words: Sequence[Any], rows: np.ndarray) -> KeyedVectors:
    """Vectors [V, D] of words, without copying them."""
    vectors = KeyedVectors(rows.shape[1])
    _set_rows(vectors, list(words), rows)
    return vectors


def with_keys(
    vectors: KeyedVectors, warn: Callable[[str], object] = logger.warning
) -> KeyedVectors:
    """Vectors without the rows that have no key, or one that an earlier row has.

    gensim's loader leaves such rows at the end if a file names a word twice. Vectors without any
    are returned as they are; others are copied, after a warning that gives the number of rows.
    """
    words = vectors.index_to_key
    if len(vectors.key_to_index) == len(words):
        return vectors
    first: dict[Any, int] = {}
    for row, word in enumerate(words):
        if word is not None:
            first.setdefault(word, row)
    kept = np.fromiter(first.values(), np.int64, len(first))
    if len(kept) == len(words):  # numbers as keys have no index
        return vectors
    warn(
        f"left out {len(words) - len(kept)} of {len(words)} rows, which have no word of their own: "
        "where a file names a word twice, its first vector counts"
    )
    whole = {n: of for n, of in vectors.expandos.items() if len(of) == len(words)}
    expandos = {name: values[kept] for name, values in whole.items()}
    if np.array_equal(expandos.get("count", ()), len(words) - kept):
        expandos["count"] = np.arange(len(kept), 0, -1)  # gensim's numbers for words without counts
    vectors = copy.copy(vectors)
    _set_rows(vectors, list(first), vectors.vectors[kept])
    vectors.expandos, vectors.norms = expandos, None
    return vectors


def held_counts(vectors: KeyedVectors) -> np.ndarray | None:
    """The counts that vectors hold, [V]; None if there are none."""
    held = np.asarray(vectors.expandos.get("count", ()))
    # gensim numbers the words of a file without counts downwards
    is_numbering = np.array_equal(held, np.arange(len(vectors), 0, -1))
    return None if len(held) != len(vectors) or is_numbering else held.astype(np.int64)


def save_text(vectors: KeyedVectors, file: Any) -> None:
    """Save what `KeyedVectors.save_word2vec_format` does, in a third of its time.

    Numbers have nine digits, of which any program reads the same float32.
    """
    words, size = vectors.index_to_key, vectors.vector_size
    counts = vectors.expandos.get("count", np.zeros(len(words)))
    order, line = np.argsort(-counts, kind="stable"), "%s" + " %.9g" * size + "\n"
    with utils.open(file, "wb") as out:
        out.write(f"{len(words)} {size}\n".encode())
        for part in np.array_split(order, len(words) // ROWS + 1):
            rows = zip(part.tolist(), vectors.vectors[part].tolist(), strict=True)
            out.write("".join([line % (words[row], *numbers) for row, numbers in rows]).encode())


def _set_rows(vectors: KeyedVectors, words: list[Any], rows: np.ndarray) -> None:
    vectors.index_to_key, vectors.next_index = words, len(words)
    vectors.key_to_index = {word: row for row, word in enumerate(words)}
    vectors.vectors = rows


def read_word2vec(path: Path, encoding: str) -> KeyedVectors:
    """Read word2vec's text format, with or without its header line, or its binary format.

    The file is text if each row is a word and D decimal numbers, separated by single blanks or
    by tabs. It is binary only if all of it is: V words in `encoding`, each with D floats, some of
    which are no text, and nothing after them. Words and numbers are those of gensim's
    ``load_word2vec_format``, which also takes some files that are refused here. Names that come
    again are kept: see `with_keys`.

    Raises
    ------
    Unreadable
        If the file is neither; it names the line or the word, and the reason.
    ValueError
        If a word is not in `encoding`.
    """
    try:
        with open_decompressed(path) as file:
            return _read_text(file, encoding)
    except Unreadable as error:
        with open_decompressed(path) as file:
            sizes = _HEADER.fullmatch(first := file.readline(LONGEST_LINE))
            sample = file.read(4096)
            if not sizes or not (_CONTROL.search(sample) or not _is_utf8(sample)):
                raise
        is_binary = 50 * len(_CONTROL.findall(sample)) > len(sample)
        rows, size = map(int, sizes.groups())
        try:
            with open_decompressed(path) as file:
                file.read(len(first))
                return _read_binary(file, rows, size, len(first), encoding)
        except ValueError as of_binary:
            raise (of_binary if is_binary else error) from None


def _read_text(file: BinaryIO, encoding: str) -> KeyedVectors:
    words: list[str] = []
    numbers, separator = array("f"), b" "
    rows, size, empty, at = -1, 0, 0, 0  # -1 without a header
    for line_number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
        if line_number == 1 and (sizes := _HEADER.fullmatch(line.removeprefix(codecs.BOM_UTF8))):
            rows, size = map(int, sizes.groups())
        elif not line.strip():
            empty = empty or line_number
        else:
            row = line.rstrip()
            if line_number == 1:
                row = row.removeprefix(codecs.BOM_UTF8)
            if not words and _wrong_numbers(row.split(b" ")[1:], size):
                separator = b"\t" if not _wrong_numbers(row.split(b"\t")[1:], size) else b" "
            word, *fields = row.split(separator)
            size = size or len(fields)
            if empty:
                wrong = f"comes after line {empty}, which is empty"
            elif len(words) == rows:
                wrong = f"comes after the {rows:,} words that the header announces"
            else:
                wrong = _wrong_numbers(fields, size, numbers)
            if wrong:
                raise Unreadable(f"line {line_number:,} ({quoted(line[:30])}...) {wrong}")
            words.append(_decoded(word, at + line.index(word), encoding))
        at += len(line)
    if len(words) < rows:
        raise Unreadable(f"ends after {len(words):,} of the {rows:,} words in its header")
    if not words:
        raise Unreadable("holds no vectors")
    if rows < 0 and (size < 2 or _are_numbers(words)):
        raise Unreadable(
            "has rows of numbers without words; put the words in front, as in: "
            "paste metadata.tsv vectors.tsv"
        )
    return _from_file(words, numbers, size)


def _wrong_numbers(fields: list[bytes], size: int, to: "array[float] | None" = None) -> str:
    """Return what is wrong with the fields after a word; "" if D numbers, which `to` then gets."""
    if not fields or len(fields) != (size or len(fields)):
        return f"has {len(fields):,} numbers after its word, and not {size or 'some'}"
    try:
        if not b"".join(fields).translate(None, _OF_NUMBERS):
            values = list(map(float, fields))
            if to is not None:
                to.fromlist(values)
            return ""
    except ValueError:
        pass
    for field in fields:
        try:
            number(field.decode("ascii"))
        except ValueError:
            return f"has {quoted(field)}, which is not a finite number"
    return ""


def _are_numbers(words: list[str]) -> bool:
    """Return whether all names are numbers, and not all of them different whole ones."""
    try:
        values = [number(word) for word in words]
    except ValueError:
        return False
    return len(set(words)) < len(words) or not all(map(str.isdigit, words)) and bool(values)


def _read_binary(file: BinaryIO, rows: int, size: int, at: int, encoding: str) -> KeyedVectors:
    """Read V rows of D floats; `at` is the file's offset, in bytes."""
    words: list[str] = []
    numbers, width, data, start = array("f"), 4 * size, b"", 0
    while len(words) < rows:
        blank = data.find(b" ", start)
        if blank < 0 or len(data) - blank - 1 < width:
            more = file.read(CHUNK)
            if not more or blank < 0 and len(data) - start > LONGEST_LINE:
                raise Unreadable(
                    f"is no binary file of {rows:,} words x {size:,} dimensions, as its header "
                    f"says: it ends in the middle of word {len(words) + 1:,}"
                )
            at, data, start = at + start, data[start:] + more, 0
            continue
        words.append(_decoded(data[start:blank], at + start, encoding).lstrip("\n"))
        start = blank + 1 + width
        numbers.frombytes(data[blank + 1 : start])
    if (data[start:] + file.read(1)).strip():
        raise Unreadable(
            f"is no binary file of {rows:,} words x {size:,} dimensions, as its header says: "
            "there is more behind them"
        )
    sample = numbers[:1024].tobytes()
    if not _CONTROL.search(sample) and _is_utf8(sample):
        raise Unreadable("is text, but not in word2vec's format")
    return _from_file(words, numbers, size)


def _is_utf8(sample: bytes) -> bool:
    """Return whether a piece of a file is UTF-8, which may end within a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(word: bytes, at: int, encoding: str) -> str:
    try:
        return word.decode(encoding)
    except UnicodeDecodeError as error:
        cure = "Give its encoding, as in: --encoding latin-1"
        raise ValueError(undecodable(error, at + error.start, cure)) from error


def _from_file(words: list[str], numbers: "array[float]", size: int) -> KeyedVectors:
    rows = np.frombuffer(numbers, np.float32).reshape(len(words), size)
    vectors = keyed(words, rows)
    vectors.expandos["count"] = np.arange(len(words), 0, -1)  # as gensim makes them up
    return vectors
