"""Reader of word2vec's files of vectors: text, with or without a header line, and binary."""

import codecs
import itertools
import re
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.spooled_floats import SpooledFloats
from gensim_tfw2v.keyed import keyed
from gensim_tfw2v.messages import decode_error_message, open_decompressed, quoted
from gensim_tfw2v.row_blocks import find_nonfinite_rows

#: Bytes per read.
CHUNK_BYTES = 1 << 20

#: Maximum length in bytes of a line of text, and of a word with its vector in a binary file.
MAX_LINE_BYTES = 1 << 24

HEADER = re.compile(rb"\s*([0-9]{1,15})\s+([0-9]{1,15})\s*")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")

#: Advice for words that cannot be decoded.
ENCODING_ADVICE = "Give its encoding, as in: --encoding latin-1"

#: List of V words, and their vectors, [V, D].
WordsAndRows = tuple[list[str], np.ndarray]


class _Unreadable(ValueError):
    """File that is not in the expected format.

    The message names the line or the word, and the reason. It is empty if even the first line is
    not in the format.
    """


def read_word2vec(path: Path, encoding: str, is_mapped: bool = False) -> KeyedVectors:
    """Read word2vec's text format, with or without its header line, or its binary format.

    The file is text if each line is a word and D decimal numbers, separated by single blanks or
    by tabs. It is binary if it consists of a header and V words in `encoding`, each followed by D
    floats, and if the floats contain bytes that are not text. The result equals that of gensim's
    ``load_word2vec_format``, which also accepts some files that are rejected here. Duplicate words
    are kept; `with_keys` removes them.

    Neither format can be mapped into memory: text contains digits, and binary files contain words
    between the vectors. If `is_mapped`, the vectors are written to a temporary file, which is
    mapped.

    Raises
    ------
    _Unreadable
        If the file is neither text nor binary; the message names the line or the word, and the
        reason.
    ValueError
        If a word is not in `encoding`.
    """
    try:
        with open_decompressed(path) as file, SpooledFloats(is_mapped) as elements:
            words, rows = read_text(file, encoding, elements)
        is_text = True
    except _Unreadable as text_error:
        is_text = False
        with open_decompressed(path) as file, SpooledFloats(is_mapped) as elements:
            sizes = HEADER.fullmatch(file.readline(MAX_LINE_BYTES))
            sample = file.read(4096)
            n_controls = len(_CONTROL.findall(sample))
            if not sizes or not n_controls and sample.isascii():
                raise
            try:
                words, rows = _read_binary(file, sizes, sample, encoding, elements)
            except ValueError as binary_error:
                # with more than 2 % of control characters, the file is probably binary
                raise (binary_error if 50 * n_controls > len(sample) else text_error) from None
    if is_text:
        _check_not_too_large(path, rows)
    vectors = keyed(words, rows)
    vectors.expandos["count"] = np.arange(len(words), 0, -1)  # counts that gensim invents, too
    return vectors


def read_text(file: BinaryIO, encoding: str, elements: SpooledFloats) -> WordsAndRows:
    """Read an open text file, and append its numbers to `elements`; see `read_word2vec`."""
    words: list[str] = []
    n_words = -1  # number of words in the header; -1 without a header
    size = 0
    offset = 0
    lines = iter(partial(file.readline, MAX_LINE_BYTES), b"")
    for line_number, line in enumerate(lines, 1):
        row = (line.removeprefix(codecs.BOM_UTF8) if line_number == 1 else line).rstrip()
        if line_number == 1 and (sizes := HEADER.fullmatch(row)):
            n_words, size = map(int, sizes.groups())
        elif row:
            if not words:
                separator = b" " if row.rfind(b" ") > row.rfind(b"\t") else b"\t"
                size = size or row.count(separator)
            word, *columns = row.split(separator)
            if fault := _extend(elements, columns, size):
                location = f"line {line_number:,} ({quoted(line[:30])}...)"
                raise _Unreadable(f"{location} {fault}" if line_number > 1 else "")
            words.append(_decode(word, offset + line.index(word), encoding))
        elif any(map(bytes.strip, lines)):
            fault = f"line {line_number:,} is empty, but lines follow it"
            raise _Unreadable(fault if line_number > 1 else "")
        offset += len(line)
    if n_words < 0 and size < 2:
        raise _Unreadable
    if n_words >= 0 and len(words) != n_words:
        raise _Unreadable(f"has {len(words):,} words, but its header announces {n_words:,}")
    is_all_numbers = n_words < 0 and all(_NUMBER.fullmatch(word.encode()) for word in words)
    if is_all_numbers and not (len(set(words)) == len(words) and all(map(str.isdigit, words))):
        raise _Unreadable(
            "has lines of numbers without words; put a word at the start of each, as in: "
            "paste metadata.tsv vectors.tsv"
        )
    return words, elements.rows(len(words))


def _extend(elements: SpooledFloats, columns: list[bytes], size: int) -> str:
    """Append D numbers to `elements`; return the description of a fault, or "" without one."""
    if len(columns) != size or not size:
        return f"has {len(columns):,} numbers after its word, instead of {size or 'some'}"
    try:
        if not b"".join(columns).translate(None, b"0123456789+-.eE"):
            elements.extend(list(map(float, columns)))
            return ""
    except ValueError:
        pass
    invalid = next(field for field in columns if not _NUMBER.fullmatch(field))
    return f"has {quoted(invalid)}, which is not a finite number"


def _check_not_too_large(path: Path, rows: np.ndarray) -> None:
    """Raise an error if a number in a text is infinite as float32.

    The text is read again to name the number and its line.
    """
    if not len(infinite_rows := find_nonfinite_rows(rows)):
        return
    row = int(infinite_rows[0])
    with open_decompressed(path) as file:
        first_line = file.readline(MAX_LINE_BYTES)
        has_header = HEADER.fullmatch(first_line.removeprefix(codecs.BOM_UTF8).rstrip()) is not None
        n_skipped = row + has_header
        lines = itertools.chain([first_line], iter(partial(file.readline, MAX_LINE_BYTES), b""))
        line = next(itertools.islice(lines, n_skipped, None))
    fields = line.split()[-rows.shape[1] :]
    infinite_number = fields[int(np.flatnonzero(np.isinf(rows[row]))[0])]
    location = f"line {n_skipped + 1:,} ({quoted(line[:30])}...)"
    raise _Unreadable(f"{location} has {quoted(infinite_number)}, which is too large for float32")


def _read_binary(
    file: BinaryIO, sizes: re.Match[bytes], data: bytes, encoding: str, elements: SpooledFloats
) -> WordsAndRows:
    """Read V words with D floats each, from `data` and then from the rest of the open file."""
    words: list[str] = []
    start = 0
    n_words, size = map(int, sizes.groups())
    fault = f"is not a binary file of {n_words:,} words x {size:,} dimensions, as in its header: "
    while len(words) < n_words:
        blank = data.find(b" ", start)
        end = blank + 1 + 4 * size
        if blank < 0 or end > len(data):
            chunk = file.read(CHUNK_BYTES)
            if not chunk or len(data) - start > MAX_LINE_BYTES:
                raise _Unreadable(f"{fault}it ends in the middle of word {len(words) + 1:,}")
            data = data[start:] + chunk
            start = 0
            continue
        offset = file.tell() - len(data) + start
        words.append(_decode(data[start:blank], offset, encoding).lstrip("\n"))
        elements.extend_bytes(data[blank + 1 : end])
        start = end
    if (data[start:] + file.read(1)).strip():
        raise _Unreadable(f"{fault}more data follows")
    rows = elements.rows(len(words))
    sample = rows.ravel()[:1024].tobytes()
    if sample.isascii() and not _CONTROL.search(sample):
        raise _Unreadable("is text, but not in word2vec's format")
    return words, rows


def _decode(word: bytes, offset: int, encoding: str) -> str:
    try:
        return word.decode(encoding)
    except UnicodeDecodeError as error:
        message = decode_error_message(error, offset + error.start, ENCODING_ADVICE)
        raise ValueError(message) from error
