"""Blocks of whole lines of a list of edges, which is checked to be UTF-8 text."""

import codecs
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from gensim_tfw2v.corpus.decompression import read_head
from gensim_tfw2v.corpus.file_kinds import BINARY, find_kind
from gensim_tfw2v.corpus.file_marks import ascii_encoding
from gensim_tfw2v.corpus.text_streams import CorpusDecodeError, open_stream
from gensim_tfw2v.messages import COMPRESSED, conversion_advice, wide_encoding

#: Bytes that are read at a time, and so the maximum length of a line.
BLOCK_BYTES = 1 << 23


def read_blocks(path: str) -> Iterator[bytes]:
    """Yield a text, which may be compressed, remote or a pipe, in blocks of whole lines.

    Each block ends with a newline, which is added if the text doesn't end with one. A byte order
    mark is left out.

    Raises
    ------
    CorpusDecodeError
        If the text is not UTF-8.
    ValueError
        If the file is not text, or if a line is too long or contains a null character.
    """
    n_bytes = 0  # number of bytes before the block
    n_lines = 0  # number of lines before the block
    with _open(path) as stream:
        for block in _split_stream(path, stream):
            if not n_bytes and block.startswith(codecs.BOM_UTF8):
                block = block.removeprefix(codecs.BOM_UTF8)
                n_bytes = len(codecs.BOM_UTF8)
            _check_text(path, block, n_bytes, n_lines)
            yield block
            n_bytes += len(block)
            n_lines += block.count(b"\n")


def _split_stream(path: str, stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines, with a newline at the end of each block."""
    incomplete_line = b""
    while piece := stream.read(BLOCK_BYTES):
        lines, newline, rest = piece.rpartition(b"\n")
        if newline:
            yield incomplete_line + lines + newline
            incomplete_line = b""
        incomplete_line += rest
        if len(incomplete_line) > BLOCK_BYTES:
            raise ValueError(
                f"{path} has a line of more than {BLOCK_BYTES >> 20} MiB: a list of edges is text "
                "with an edge per line"
            )
    if incomplete_line:
        yield incomplete_line + b"\n"


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a text, which may be compressed, remote or a pipe, as decompressed bytes."""
    if "://" not in path and Path(path).is_file():
        if refusal := _find_refusal(path):
            raise ValueError(f"{path} {refusal}")
        if not path.lower().endswith(COMPRESSED):
            return open(path, "rb")
    elif "://" not in path:
        os.stat(path)  # raises an error if the path is missing
    return open_stream(path)


def _find_refusal(path: str) -> str:
    """Return why a file is no list of edges, from its first bytes, with advice; "" if it is."""
    head = read_head(path)
    if encoding := ascii_encoding(head):
        return f"is not UTF-8 text. {conversion_advice(encoding)}"
    if head.startswith(b"%%MatrixMarket"):
        return f"is a matrix in Matrix Market format: pass scipy.io.mmread({path!r})"
    kind = find_kind(head) or (BINARY if BINARY.is_content(head) else None)
    if kind is None:
        return ""
    advice = "a list of edges is UTF-8 text with an edge per line, or a table"
    return f"{kind.description}, not a list of edges: {advice}"


def _check_text(path: str, block: bytes, n_bytes: int, n_lines: int) -> None:
    """Raise an error if a block is not UTF-8, or contains null characters.

    `n_bytes` and `n_lines` are the numbers of bytes and of lines before the block.
    """
    if b"\0" in block:
        head = block[:64]
        encoding = wide_encoding(head, n_bytes)
        if encoding and 4 * head.count(0) > len(head):
            raise ValueError(f"{path} is not UTF-8 text. {conversion_advice(encoding)}")
        line = n_lines + block[: block.index(b"\0")].count(b"\n") + 1
        raise ValueError(f"{path}, line {line:,}, contains a null character: remove it")
    if block.isascii():
        return
    try:
        block.decode()
    except UnicodeDecodeError as error:
        raise CorpusDecodeError(error, path, n_bytes + error.start) from None
