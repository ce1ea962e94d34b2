"""The tokenizer of a pretrained folder: that of a compact vocabulary is written and read in blocks.

``tokenizer.json`` contains the row of each token. In a folder of millions of words, it is by far
the longest JSON file, and as Python's objects it would take 300 bytes a word.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.keys.compact import is_large, key_blocks
from gensim_tfw2v.keys.keys import Keys
from gensim_tfw2v.keys.string_keys import StringKeys

#: Token of unknown words, in row 0.
UNKNOWN = "[UNK]"

#: Number of bytes that are read at a time.
CHUNK_BYTES = 1 << 22

#: A token and its row, as they follow other tokens.
_ITEM = re.compile(rb', "([^"\\]*(?:\\.[^"\\]*)*)": [0-9]+(?=[,}])', re.DOTALL)

#: Minimum size of an item in bytes: for an empty token.
_MIN_ITEM_BYTES = len(', "": 1')

#: Maximum size of an item in bytes; files with longer ones are read as any JSON.
_MAX_ITEM_BYTES = 1 << 26


class TokenRows(Mapping[str, int]):
    """The row of each token of a compact vocabulary: 0 for `UNKNOWN`, i + 1 for word i.

    Attributes
    ----------
    words : Keys
        The words. The tokens of integers are their digits.
    """

    def __init__(self, words: Keys) -> None:
        self.words = words

    def __len__(self) -> int:
        return 1 + len(self.words)

    def __iter__(self) -> Iterator[str]:
        yield UNKNOWN
        yield from map(str, self.words)

    def __getitem__(self, token: str) -> int:
        for row, own_token in enumerate(self):
            if own_token == token:
                return row
        raise KeyError(token)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TokenRows) and type(other.words) is type(self.words):
            return self.words.equals(other.words)
        if not isinstance(other, Mapping) or len(self) != len(other):
            return NotImplemented
        rows = zip(self, count(), strict=False)
        other_rows = (
            zip(other, count(), strict=False) if isinstance(other, TokenRows) else other.items()
        )
        return all(pair == other_pair for pair, other_pair in zip(rows, other_rows, strict=True))

    def encode(self) -> Iterator[bytes]:
        """Yield the rows as a JSON object, in blocks."""
        yield f'{{"{UNKNOWN}": 0'.encode()
        rows = count(1)
        encode = json.JSONEncoder(ensure_ascii=False).encode
        for block in key_blocks(self.words):
            tokens = map(encode, map(str, block))
            items = [f", {token}: {row}" for token, row in zip(tokens, rows, strict=False)]
            yield "".join(items).encode()
        yield b"}"


def describe_tokenizer(rows: Mapping[str, int]) -> dict[str, Any]:
    """Return the content of ``tokenizer.json`` with the rows of the tokens."""
    return {
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": rows, "unk_token": UNKNOWN},
    }


#: Content of ``tokenizer.json`` before and after the rows.
_HEAD, _TAIL = json.dumps(describe_tokenizer({})).encode().split(b"{}")


def encode_tokenizer(rows: TokenRows) -> Iterator[bytes]:
    """Yield the content of ``tokenizer.json`` in blocks, the same bytes as of a dict of rows."""
    yield _HEAD
    yield from rows.encode()
    yield _TAIL


def read_tokenizer(path: Path) -> tuple[TokenRows, int] | None:
    """Read a large file of `encode_tokenizer`; return its rows, and its CRC-32.

    The words are strings. Returns None if there are too few tokens for a compact vocabulary, or if
    `encode_tokenizer` would not write the same bytes: then the file is to be read as any JSON.
    """
    if not is_large(path.stat().st_size // _MIN_ITEM_BYTES):
        return None
    try:
        words, checksum = _read_words(path)
        rows = TokenRows(words)
        expected_checksum = 0
        for block in encode_tokenizer(rows):
            expected_checksum = zlib.crc32(block, expected_checksum)
    except ValueError:
        return None
    return (rows, checksum) if checksum == expected_checksum and is_large(len(words)) else None


def _read_words(path: Path) -> tuple[StringKeys, int]:
    """Read the tokens behind `UNKNOWN`, and the CRC-32 of a file.

    Raises a ValueError if the file does not begin and end like those of `encode_tokenizer`, or if a
    token occurs twice.
    """
    start = _HEAD + f'{{"{UNKNOWN}": 0'.encode()
    texts: list[bytes] = []
    sizes = [np.zeros(1, np.int64)]
    with path.open("rb") as file:
        if file.read(len(start)) != start:
            raise ValueError("starts differently")
        checksum = zlib.crc32(start)
        pending = b""  # bytes that were read behind the last token
        while chunk := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
            pending += chunk
            items = list(_ITEM.finditer(pending))
            if not items and len(pending) > _MAX_ITEM_BYTES:
                raise ValueError("has a long item")
            tokens = [_unescape(item[1]) for item in items]
            texts.append(b"".join(tokens))
            sizes.append(np.fromiter(map(len, tokens), np.int64, len(tokens)))
            pending = pending[items[-1].end() :] if items else pending
    if pending != b"}" + _TAIL:
        raise ValueError("ends differently")
    return StringKeys.build(b"".join(texts), np.cumsum(np.concatenate(sizes))), checksum


def _unescape(token: bytes) -> bytes:
    """Return a string of JSON, without its quotes, in UTF-8."""
    if b"\\" not in token:
        return token
    string: str = json.loads(b'"' + token + b'"')
    return string.encode("utf-8", "surrogatepass")
