"""Readers of JSON Lines and of JSON files that are arrays of records.

pyarrow parses JSON Lines. Python's json module finds the type of a column, and reads arrays. It
also reads lines that pyarrow refuses, and then either accepts them or names them in an error.
"""

import io
import json
import math
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

from gensim_tfw2v.corpus.file_marks import may_be_cut_json
from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.corpus.tables.table_blocks import parse_blocks, read_blocks
from gensim_tfw2v.corpus.tables.table_options import TableOptions
from gensim_tfw2v.corpus.tables.table_streams import (
    long_row_message,
    open_utf8,
    undecodable_message,
)
from gensim_tfw2v.messages import quoted

#: Number of first records whose keys are listed as the names of columns.
SAMPLE_RECORDS = 100

READ_CHARACTERS = 1 << 20  # characters per read of an array of records

#: Advice for a file that is neither JSON Lines nor an array of records.
LINES_ADVICE = "write an object per line, as pandas: to_json(path, orient='records', lines=True)"

_BLANKS = re.compile(r"[ \t\r\n]*")


class _JsonTable:
    """Table whose rows are JSON objects (records). A missing key counts as a null."""

    def __init__(self, path: str, options: TableOptions) -> None:
        self.path = path
        self.options = options

    @cached_property
    def names(self) -> list[str]:
        """Keys of the first records."""
        records = (record for _, record in islice(self._records(), SAMPLE_RECORDS))
        return list(dict.fromkeys(key for record in records for key in record))

    def column_type(self, column: str) -> Any:
        """Return pyarrow's type of a column, from its first value that is not null or empty.

        Returns the type of nulls, or of lists of nulls, if there is no such value, and None if no
        record has the column.
        """
        import pyarrow as pa

        kind = None
        for location, record in self._records(column):
            if column not in record:
                continue
            value = record[column]
            _check_text(value, location)
            try:
                value_type = pa.infer_type([value])
            except (pa.ArrowException, OverflowError) as error:
                raise ValueError(f"{location}: {quoted(value)}: {error}") from None
            if not pa.types.is_null(value_type) and value_type != pa.list_(pa.null()):
                return value_type
            if isinstance(value, list):
                kind = pa.list_(pa.null())
            elif kind is None:
                kind = pa.null()
        return kind

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        yield from self._parsed_batches(column, kind, 0)

    def _parsed_batches(self, column: str, kind: Any, n_skipped: int) -> Iterator[Any]:
        """Yield the rows after the first `n_skipped`, as Python's json module parses them."""
        import pyarrow as pa

        values: list[Any] = []
        size = 0
        for location, record in islice(self._records(), n_skipped, None):
            value = record.get(column)
            _check_text(value, location)
            if pa.types.is_floating(kind):
                values.append(_to_float(value, column, location))
            else:
                _check_type(value, kind, column, location)
                values.append(value)
                size += len(value or "")
            if len(values) >= table_streams.BATCH_ROWS or size >= table_streams.BLOCK_BYTES:
                yield pa.array(values, kind)
                values = []
                size = 0
        if values:
            yield pa.array(values, kind)

    def _records(self, column: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the location of each record, for messages, and the record.

        Records without `column` may be skipped.
        """
        raise NotImplementedError

    @contextmanager
    def _open(self) -> Iterator[io.TextIOWrapper]:
        with open_utf8(self.path, self.options.encoding) as source:
            yield io.TextIOWrapper(source, "utf-8", "surrogateescape", newline="\n")


class JsonLinesTable(_JsonTable):
    """Table of a JSON object per line."""

    def batches(self, column: str, kind: Any) -> Iterator[Any]:
        """Yield a column in batches, as pyarrow's arrays."""
        n_rows = 0
        try:
            for batch in self._fast_batches(column, kind):
                yield batch
                n_rows += len(batch)
            return
        except ValueError:  # also pyarrow's: Python reads the rest, or raises an error
            pass
        yield from self._parsed_batches(column, kind, n_rows)

    def _fast_batches(self, column: str, kind: Any) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import json

        parse_options = json.ParseOptions(
            pa.schema({column: kind}), unexpected_field_behavior="ignore"
        )

        def parse(block: bytes, is_first: bool) -> Any:
            read_options = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
            table = json.read_json(pa.BufferReader(block), read_options, parse_options)
            batch = table.column(column)
            batch.validate(full=True)  # pyarrow's parser doesn't check UTF-8
            return batch

        with open_utf8(self.path, self.options.encoding) as source:
            blocks = read_blocks(source, _complete_lines)
            with closing(parse_blocks(blocks, parse)) as columns:
                for values in columns:
                    yield from values.iterchunks()

    def _records(self, column: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        # a line without the key is skipped unparsed, if JSON can't write the key with escapes
        key = column if re.fullmatch(r"\w+", column, re.ASCII) else ""
        max_length = table_streams.BLOCK_BYTES
        with self._open() as text:
            for line_number, line in enumerate(iter(lambda: text.readline(max_length + 1), ""), 1):
                location = f"line {line_number:,}"
                if len(line) > max_length:
                    raise ValueError(f"{location}: {long_row_message()}")
                if key not in line or not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ValueError(
                        f"{location} is not a JSON object ({error}), in {quoted(line)}; "
                        f"{LINES_ADVICE}"
                    ) from None
                yield location, _check_record(record, location)


class JsonArrayTable(_JsonTable):
    """JSON file that is an array of objects."""

    def _records(self, column: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        decode = json.JSONDecoder().raw_decode
        n_records = 0
        with self._open() as text:
            buffer = ""
            offset = 0

            def skip_blanks() -> str:
                """Return the next character that is not blank; "" at the end."""
                nonlocal buffer, offset
                while (offset := _BLANKS.match(buffer, offset).end()) == len(buffer):  # type: ignore[union-attr]
                    buffer = text.read(READ_CHARACTERS)
                    offset = 0
                    if not buffer:
                        return ""
                return buffer[offset]

            if skip_blanks() != "[":
                raise ValueError(f"is neither an array of records nor JSON Lines; {LINES_ADVICE}")
            offset += 1
            while skip_blanks() != "]" or n_records:
                n_records += 1
                location = f"record {n_records:,}"
                while True:
                    try:
                        record, offset = decode(buffer, offset)
                        break
                    except (json.JSONDecodeError, RecursionError) as error:
                        piece = ""
                        if not isinstance(error, RecursionError) and may_be_cut_json(error, buffer):
                            piece = text.read(max(READ_CHARACTERS, len(buffer)))
                        if not piece:
                            raise ValueError(f"{location} is not JSON: {error}") from None
                        if len(buffer) - offset > table_streams.BLOCK_BYTES:
                            raise ValueError(f"{location}: {long_row_message()}") from None
                        buffer = buffer[offset:] + piece
                        offset = 0
                yield location, _check_record(record, location)
                if (mark := skip_blanks()) == "]":
                    break
                if mark != ",":
                    raise ValueError(f"{location} must be followed by , or ], not by {mark!r}")
                offset += 1
            offset += 1
            if text_behind := skip_blanks():
                raise ValueError(f"the array of records is followed by {text_behind!r}")


def _complete_lines(block: bytes, is_last: bool) -> int:
    """Return the number of bytes of complete lines at the start of a block."""
    return len(block) if is_last else block.rfind(b"\n") + 1


def _check_record(value: Any, location: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{location} must be a JSON object, got {quoted(value)}; {LINES_ADVICE}")
    return value


def _check_text(value: Any, location: str) -> None:
    """Raise a ValueError if a string, or a string in a list, was not UTF-8 in the file.

    Invalid bytes were decoded as surrogates. JSON's escapes may also produce single surrogates.
    """
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raw = text.encode("utf-8", "surrogatepass")
                try:
                    raw = text.encode("utf-8", "surrogateescape")
                except UnicodeEncodeError:
                    raise ValueError(f"{location}: {raw!r} contains half a character") from None
                raise ValueError(f"{location}: {undecodable_message(raw)}") from None


def _check_type(value: Any, kind: Any, column: str, location: str) -> None:
    """Raise a ValueError for a value that is not of a column's type."""
    import pyarrow as pa

    is_list = pa.types.is_list(kind)
    item_type = int if is_list and pa.types.is_integer(kind.value_type) else str
    is_valid = value is None or isinstance(value, list if is_list else str)
    if is_valid and is_list:
        is_valid = {*map(type, value or ())} <= {item_type, type(None)}
        if is_valid and item_type is int and not all(_fits(item) for item in value or ()):
            raise ValueError(
                f"{location}: {quoted(value)} contains an integer of more than 64 bits"
            )
    if not is_valid:
        raise ValueError(
            f"{location}: column {quoted(column)} is {quoted(value)}, but its first value is of "
            f"type {kind}"
        )


def _to_float(value: Any, column: str, location: str) -> float | None:
    """Return a number as a float; raise a ValueError for any other value except a null."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(
            f"{location}: column {quoted(column)} is {quoted(value)}, but must be a number"
        )
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def _fits(item: int | None) -> bool:
    """Return whether an integer fits into int64. A null, which is None, fits."""
    return -(2**63) <= (item or 0) < 2**63
