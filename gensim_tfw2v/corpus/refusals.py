"""Reasons why a file cannot be read as a text corpus, with advice in the caller's terms."""

import os
from pathlib import Path

from gensim_tfw2v.corpus.decompression import read_head
from gensim_tfw2v.corpus.file_kinds import BINARY, TEXT_ADVICE, FileKind, find_kind, find_table
from gensim_tfw2v.corpus.file_marks import ascii_encoding
from gensim_tfw2v.messages import conversion_advice


def find_refusal(path: str | os.PathLike[str], command: str = "") -> str:
    """Return why a regular file cannot be read as a text corpus, with advice; "" if it can.

    Parameters
    ----------
    path : path
        The file, which may be compressed.
    command : str
        Command that reads the corpus, without ``--column``, for advice in the terms of the command
        line; by default advice is in Python's terms.

    Returns
    -------
    str
        A predicate, whose subject is the file.
    """
    path = os.fspath(path)
    head = read_head(path)
    if kind := find_kind(head):
        return _describe(kind, path, command)
    if table_format := find_table(head):
        return _describe_table(table_format, path, command)
    if table_format := find_table(b"", path):
        advice = "if each of its lines is a sentence, let its name end in .txt"
        return f"{_describe_table(table_format, path, command)}; {advice}"
    if encoding := ascii_encoding(head):
        return f"is not UTF-8 text. {conversion_advice(encoding)}"
    return _describe(BINARY, path, command) if BINARY.is_content(head) else ""


def find_stream_refusal(head: bytes, path: str = "") -> str:
    """Return why a pipe or remote file cannot be read as a text corpus; "" if it can.

    Parameters
    ----------
    head : bytes
        First bytes of the pipe or file, decompressed.
    path : str
        Path of a remote file, by whose suffix a table is recognized, too.

    Returns
    -------
    str
        A predicate, as `find_refusal` returns it. The advice is the same in Python and on the
        command line.
    """
    if kind := find_kind(head):
        return f"{kind.description}, not text: {kind.stream_advice}"
    if table := find_table(head, path):
        advice = "write it to a local file, and name the column to train on"
        return f"is a table ({table}), not text: {advice}"
    if encoding := ascii_encoding(head):
        return f"is not UTF-8 text. {conversion_advice(encoding)}"
    return f"{BINARY.description}, not text: {TEXT_ADVICE}" if BINARY.is_content(head) else ""


def _describe(kind: FileKind, path: str, command: str) -> str:
    advice = (command and kind.command_advice) or kind.advice
    return f"{kind.description}, not text: {advice.replace('{path}', repr(path))}"


def _describe_table(name: str, path: str, command: str) -> str:
    from gensim_tfw2v.corpus.tables.table_columns import column_names  # imports pyarrow

    try:
        columns = f"; its columns are: {column_names(Path(path))}"
    except ImportError:
        if command:
            raise
        columns = ""
    except ValueError:  # the table is damaged, or needs options to be read
        columns = ""
    if command:
        return f"is a table; name the column to train on, as in: {command} --column NAME{columns}"
    return (
        f"is a table ({name}), not text: pass TableSentences({path!r}, column), or TableDocuments "
        f"for TFDoc2Vec{columns}"
    )
