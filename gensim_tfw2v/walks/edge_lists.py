"""Reader of lists of edges as text: an edge per line, two names and perhaps a weight."""

import codecs
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.decompression import HEAD_BYTES, read_head
from gensim_tfw2v.corpus.file_kinds import BINARY, find_kind
from gensim_tfw2v.corpus.file_marks import ascii_encoding
from gensim_tfw2v.corpus.text_streams import CorpusDecodeError, open_stream
from gensim_tfw2v.messages import COMPRESSED, conversion_advice, number, quoted
from gensim_tfw2v.walks.csr_graph import (
    CsrGraph,
    Nodes,
    find_invalid_weight,
    weight_message,
)
from gensim_tfw2v.walks.edge_columns import (
    EdgeColumns,
    find_columns,
    find_unnamed_columns,
    is_header,
)
from gensim_tfw2v.walks.line_fields import LineFields, join_fields, split_lines
from gensim_tfw2v.walks.node_names import TextNames

#: Bytes that are read at a time, and so the maximum length of a line.
BLOCK_BYTES = 1 << 23


def read_edge_list(path: str, weight: str | None, directed: bool) -> CsrGraph:
    """Read a list of edges as text; see `graph_readers.read_graph`.

    Raises
    ------
    ValueError
        If the file is not a list of edges.
    """
    reader = _EdgeListReader(path, weight)
    with _open(path) as stream:
        for block in _blocks(path, stream):
            reader.read_block(block)
    return reader.graph(directed)


class _EdgeListReader:
    """Reader of a list of edges, block by block."""

    def __init__(self, path: str, weight: str | None) -> None:
        self._path = path
        self._weight = weight
        self._names = TextNames()
        self._has_tabs = False
        self._columns: EdgeColumns | None = None  # not known before the first edge
        self._n_columns = 0
        self._n_bytes = 0  # number of the bytes in the blocks so far
        self._n_lines = 0  # number of the lines in the blocks so far
        self._sources: list[Nodes] = []
        self._targets: list[Nodes] = []
        self._weights: list[NDArray[np.float32]] = []

    def read_block(self, block: bytes) -> None:
        """Read the edges of a block of lines, which ends with a newline."""
        self._check_text(block)
        if self._columns is None:
            self._has_tabs = _has_tabs(block)
        fields = split_lines(block, self._has_tabs)
        n_names = 0
        if self._columns is None and len(fields.lines):
            n_names = self._find_columns(fields)
        if self._columns is not None:
            self._read_edges(fields, n_names, self._columns)
        self._n_bytes += len(block)
        self._n_lines += block.count(b"\n")

    def graph(self, directed: bool) -> CsrGraph:
        """Return the graph of all edges."""
        if not self._sources:
            raise ValueError(f"{self._path} has no edges: each line must have two names")
        sources = np.concatenate(self._sources)
        targets = np.concatenate(self._targets)
        weights = np.concatenate(self._weights) if self._weights else None
        self._sources, self._targets, self._weights = [], [], []
        names = self._names.all_names()
        return CsrGraph.from_edges(names, sources, targets, weights, directed=directed)

    def _find_columns(self, fields: LineFields) -> int:
        """Find the columns from the first lines; return the number of lines that are no edges."""
        first_row, second_row = (
            [field.decode() for field in fields.line(index)] for index in range(2)
        )
        has_names = is_header(first_row, second_row, self._weight)
        try:
            if has_names:
                self._columns = find_columns(first_row, self._weight)
            else:
                self._columns = find_unnamed_columns(first_row)
        except ValueError as error:
            raise ValueError(f"{self._path} {error}{self._column_hint()}") from None
        self._n_columns = len(first_row)
        return int(has_names)

    def _column_hint(self) -> str:
        if self._weight is None:
            return ""
        return ". Without a header, the third column is the weight, and needs no name"

    def _read_edges(self, fields: LineFields, n_names: int, columns: EdgeColumns) -> None:
        """Read the edges of a block whose first `n_names` lines are names of columns."""
        self._check_lengths(fields)
        shape = (len(fields.lines), self._n_columns)
        starts = fields.starts.reshape(shape)[n_names:]
        stops = fields.stops.reshape(shape)[n_names:]
        lines = fields.lines[n_names:]
        if not len(lines):
            return
        ends = sorted([columns.source, columns.target])
        is_empty = (starts[:, ends] == stops[:, ends]).any(1)
        if is_empty.any():
            location = self._location(lines[np.argmax(is_empty)])
            raise ValueError(f"{location} lacks the name of a node: leave out the line, or add it")
        text = join_fields(fields.data, starts[:, ends].ravel(), stops[:, ends].ravel(), b"\0")
        nodes = self._names.encode(text, 2 * len(lines)).reshape(-1, 2)
        # the names were encoded in the order in which they are in a line
        is_swapped = columns.source > columns.target
        self._sources.append(nodes[:, int(is_swapped)])
        self._targets.append(nodes[:, int(not is_swapped)])
        if (column := columns.weight) is not None:
            weights = self._read_weights(fields.data, starts[:, column], stops[:, column], lines)
            self._weights.append(weights)

    def _read_weights(
        self, data: NDArray[np.uint8], starts: Any, stops: Any, lines: Any
    ) -> NDArray[np.float32]:
        """Return the weights in fields of a block."""
        text = join_fields(data, starts, stops, b" ").decode()
        try:
            weights = np.fromstring(text, np.float64, sep=" ")
        except ValueError:
            weights = np.zeros(0)
        if len(weights) != len(lines):
            self._raise_weight_error(data, starts, stops, lines)
        if (row := find_invalid_weight(weights)) is not None:
            raise ValueError(weight_message(self._location(lines[row]), weights[row]))
        return weights.astype(np.float32)

    def _raise_weight_error(
        self, data: NDArray[np.uint8], starts: Any, stops: Any, lines: Any
    ) -> None:
        """Raise a ValueError that names the first weight that is not a number."""
        for start, stop, line in zip(starts, stops, lines, strict=True):
            text = data[start:stop].tobytes().decode().strip()
            try:
                number(text)
            except ValueError:
                raise ValueError(
                    f"{self._location(line)} has the weight {quoted(text)}, which is not a finite "
                    "number: leave out the edge, or change its weight"
                ) from None

    def _check_lengths(self, fields: LineFields) -> None:
        """Raise a ValueError if a line has more or fewer fields than the first one."""
        is_ragged = fields.n_fields != self._n_columns
        if not is_ragged.any():
            return
        row = int(np.argmax(is_ragged))
        line = [field.decode() for field in fields.line(row)]
        separator = "tabs" if self._has_tabs else "blanks"
        raise ValueError(
            f"{self._location(fields.lines[row])} has {len(line)} column{'s' * (len(line) != 1)}, "
            f"{quoted(line)}, but the first line has {self._n_columns}, separated by {separator}: "
            "all lines must have the same columns. Names that contain blanks must be separated by "
            "tabs"
        )

    def _check_text(self, block: bytes) -> None:
        """Raise an error if a block is not UTF-8, or contains null characters."""
        if b"\0" in block:
            line = self._n_lines + block[: block.index(b"\0")].count(b"\n")
            raise ValueError(
                f"{self._path}, line {line + 1:,}, contains a null character: remove it"
            )
        if block.isascii():
            return
        try:
            block.decode()
        except UnicodeDecodeError as error:
            offset = self._n_bytes + error.start
            raise CorpusDecodeError(error, self._path, offset) from None

    def _location(self, line: int) -> str:
        return f"{self._path}, line {self._n_lines + int(line) + 1:,},"


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a text, which may be compressed, remote or a pipe, as decompressed bytes."""
    if "://" not in path and Path(path).is_file():
        if refusal := _find_refusal(read_head(path)):
            raise ValueError(f"{path} {refusal}")
        if not path.lower().endswith(COMPRESSED):
            return open(path, "rb")
    elif "://" not in path:
        os.stat(path)  # raises an error if the path is missing
    return open_stream(path)


def _find_refusal(head: bytes) -> str:
    """Return why a file with these first bytes is no list of edges, with advice; "" if it is."""
    if encoding := ascii_encoding(head):
        return f"is not UTF-8 text. {conversion_advice(encoding)}"
    kind = find_kind(head) or (BINARY if BINARY.is_content(head) else None)
    if kind is None:
        return ""
    advice = "a list of edges is UTF-8 text with an edge per line, or a table"
    return f"{kind.description}, not a list of edges: {advice}"


def _blocks(path: str, stream: Any) -> Iterator[bytes]:
    """Yield blocks of whole lines, each of which ends with a newline."""
    incomplete_line = b""
    is_first = True
    while piece := stream.read(BLOCK_BYTES):
        if is_first:
            piece = piece.removeprefix(codecs.BOM_UTF8)
            is_first = False
        lines, newline, rest = piece.rpartition(b"\n")
        if newline:
            yield incomplete_line + lines + newline
            incomplete_line = rest
        else:
            incomplete_line += rest
        if len(incomplete_line) > BLOCK_BYTES:
            raise ValueError(
                f"{path} has a line of more than {BLOCK_BYTES >> 20} MiB: a list of edges is text "
                "with an edge per line"
            )
    if incomplete_line:
        yield incomplete_line + b"\n"


def _has_tabs(block: bytes) -> bool:
    """Return whether the first line that is not blank or a comment contains a tab."""
    for line in block.split(b"\n", HEAD_BYTES):
        if line.strip() and line[:1] not in (b"#", b"%"):
            return b"\t" in line.strip()
    return False
