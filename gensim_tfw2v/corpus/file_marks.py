"""Structures by which the first bytes of a file, decompressed, are recognized as not being text.

Each function returns True only for a structure that no text has, because a text may begin with any
words, brackets or numbers.
"""

import codecs
import json
import re
import struct
from collections.abc import Callable

from gensim_tfw2v.messages import wide_encoding

#: Minimum share of control characters in binary data that are valid UTF-8, such as arrays of small
#: integers. Texts in which null bytes separate words have fewer.
CONTROL_SHARE = 0.5

#: Minimum share of control characters in binary data that are not UTF-8. Texts in other encodings
#: have none.
BINARY_SHARE = 0.03

#: Control characters that do not occur in texts.
CONTROL_CHARACTERS = bytes([*range(9), *range(14, 27), 127])

#: Number of first bytes that are searched for control characters.
MAX_BINARY = 1 << 13

#: Lines without a header are recognized as vectors only if they have at least this many dimensions.
MIN_DIMENSIONS = 20

#: First bytes that end within a JSON value without a key are recognized as JSON only if they have
#: at least this many characters. A short text may begin with brackets, too.
MIN_JSON = 4096

_KEY = re.compile(r'\s*\[?\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
_RECORDS = re.compile(r'\s*\[\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_HEADER = re.compile(rb"([0-9]{1,9}) ([0-9]{1,6})\r?\n")


def begins_with(pattern: bytes) -> Callable[[bytes], object]:
    """Return a function that matches a regular expression at the start of a file."""
    return re.compile(pattern, re.DOTALL).match


def zip_with(names: bytes) -> Callable[[bytes], object]:
    """Return a function that matches a ZIP archive whose first file's name starts with a pattern.

    `names` is the pattern, a regular expression.
    """
    return begins_with(rb"PK\x03\x04.{26}(?:" + names + rb")")


def _is_control(character: str) -> bool:
    return character < " " and not character.isspace()


def _n_controls(head: bytes) -> int:
    return len(head) - len(head.translate(None, CONTROL_CHARACTERS))


def _decode(head: bytes) -> str | None:
    """Decode the first bytes of a file, except a last character that is cut.

    Returns None if the bytes are not UTF-8.
    """
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return None


def is_binary(head: bytes) -> bool:
    """Return whether bytes have more control characters than any text has, in any encoding."""
    head = head[:MAX_BINARY]
    n_controls = _n_controls(head)
    if _decode(head) is not None:
        return n_controls > CONTROL_SHARE * len(head)
    return n_controls > BINARY_SHARE * len(head) and not _wide_encoding(head)


def ascii_encoding(head: bytes) -> str:
    """Return iconv's name of UTF-16 or UTF-32 if bytes are ASCII characters in it, else "".

    Such a text without a byte order mark is valid UTF-8, with null bytes. Any other text in these
    encodings is invalid UTF-8, which is reported when the text is decoded.
    """
    start = head[:10]
    is_wide = len(start) > 3 and start.isascii() and not (any(start[::2]) and any(start[1::2]))
    return _wide_encoding(head) if is_wide else ""


def _wide_encoding(head: bytes) -> str:
    """Return iconv's name of UTF-16 or UTF-32 if bytes are text in it, else "".

    Arrays of numbers, too, may have null bytes where such a text has them. But their decoded text
    contains control characters, or cannot be decoded.
    """
    sample = head[:1000]
    if not (encoding := wide_encoding(sample)):
        return ""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return ""
    return "" if any(map(_is_control, text)) else encoding


def json_shape(head: bytes) -> str:
    """Return "lines" or "records" for a table in JSON, "other" for other JSON, "" for no JSON.

    A table is a JSON object per line, or an array of objects. `head` must consist of arrays and
    objects only; its end may be within one of them.
    """
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return ""
    text = _decode(head)
    if text is None or not _is_json(text):
        return ""
    if _RECORDS.match(text):
        return "records"
    line, end, _ = text.lstrip().partition("\n")
    return "lines" if _KEY.match(line) and _is_json(line, may_be_cut=not end) else "other"


def _is_json(text: str, may_be_cut: bool = True) -> bool:
    """Return whether a text consists of arrays and objects; the last one may be cut."""
    decoder = json.JSONDecoder()
    offset = _SPACE.match(text).end()  # type: ignore[union-attr]
    while offset < len(text):
        if text[offset] not in "{[":
            return False
        try:
            _, offset = decoder.raw_decode(text, offset)
        except json.JSONDecodeError as error:
            is_cut = may_be_cut and may_be_cut_json(error, text)
            return is_cut and bool(len(text) >= MIN_JSON or _KEY.match(text, offset))
        except RecursionError:
            return False
        offset = _SPACE.match(text, offset).end()  # type: ignore[union-attr]
    return True


def may_be_cut_json(error: json.JSONDecodeError, text: str) -> bool:
    """Return whether an error of a JSON text may only be due to a missing end of the text.

    A text that is cut may end within any word, escape or number of its last value.
    """
    return error.pos >= len(text) - 8 or error.msg.startswith("Unterminated string")


def _is_vector(line: bytes, n_dimensions: int) -> bool:
    """Return whether a line is a word and `n_dimensions` numbers, most with decimal places."""
    fields = line.split()
    elements = fields[1:]
    n_decimal = sum(b"." in element or b"e-" in element for element in elements)
    return (
        len(elements) == n_dimensions
        and n_decimal > n_dimensions / 2
        and all(map(_NUMBER.fullmatch, elements))
    )


def is_vectors(head: bytes) -> bool:
    """Return whether each line is a word and its vector, with word2vec's header or without."""
    header = _HEADER.match(head)
    first_fields = head[:1000].split(maxsplit=2)[:2]
    is_number = [bool(_NUMBER.fullmatch(field)) for field in first_fields]
    if not header and is_number != [False, True]:  # does not start with a word and a number
        return False
    lines = head[header.end() if header else 0 :].split(b"\n", 20)[:20]
    lines = lines[:-1] if len(lines) > 1 else lines  # the last line may be cut
    n_dimensions = int(header[2]) if header else len(lines[0].split()) - 1
    if n_dimensions < (3 if header else MIN_DIMENSIONS):
        return False
    return all(_is_vector(line, n_dimensions) for line in lines)


def is_binary_vectors(head: bytes) -> bool:
    """Return whether a file starts with word2vec's header, a word, and its vector of float32."""
    if not (header := _HEADER.match(head)):
        return False
    word, _, vector = head[header.end() :].partition(b" ")
    size = min(int(header[2]), len(vector) // 4)
    values = struct.unpack_from(f"<{size}f", vector)
    is_text = _decode(head) is not None and not _n_controls(head)
    return (
        bool(word and size)
        and not is_text
        and all(value == 0 or 1e-12 < abs(value) < 1e4 for value in values)
    )
