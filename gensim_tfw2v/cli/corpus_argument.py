"""The argument CORPUS of commands: a text, a folder of texts, standard input, or a table."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

from gensim_tfw2v.cli.common import BadInput

STDIN = Path("/dev/stdin")

#: Maximum number of characters of a list of subfolders in a message.
MAX_LIST_LENGTH = 200


def corpus_arguments(
    path: Path,
    column: str | None = None,
    documents: bool = False,
    recursive: bool = False,
    command: str = "tfw2v train",
    **dialect: Any,
) -> dict[str, Any]:
    """Return the argument of a model's constructor, corpus_file or sentences, for a path.

    Files contain one sentence per line, words separated by blanks, in UTF-8. A folder's files are
    read in the order of their names; hidden files are left out. Subfolders are read if `recursive`,
    and otherwise left out with a message. ``-`` is standard input. If `column` is set, the path is
    a table or a folder of tables, and `dialect` contains further options of `TableSentences`.

    Raises
    ------
    BadInput
        If the path leads to no text. The advice in the message contains a corrected command, which
        begins with `command`.
    """
    from gensim.models.word2vec import LineSentence

    from gensim_tfw2v.messages import COMPRESSED

    if path == Path("-"):
        path = STDIN
    if column is not None:
        from gensim_tfw2v import TableDocuments, TableSentences

        class_ = TableDocuments if documents else TableSentences
        return {"sentences": class_(path, column, recursive=recursive, **dialect)}
    command = f"{command} {shlex.quote(str(path))}"
    if path.is_dir():
        return {"sentences": _list_sentences(path, recursive, command)}
    if recursive:
        raise BadInput(f"{path}: --recursive has no effect on a file; leave it out")
    if is_stream(path):
        return {"corpus_file": str(path)}
    if not path.is_file():
        raise BadInput(f"{path}: no such file or folder")
    if not path.stat().st_size:
        raise BadInput(f"{path}: is empty; write one sentence per line, words separated by blanks")
    if path == STDIN:
        _check_standard_input()
    else:
        _check_is_text(path, command)
    if path.suffix.lower() in COMPRESSED:
        return {"sentences": LineSentence(str(path))}
    return {"corpus_file": str(path)}


def is_stream(path: Path) -> bool:
    """Return whether a path can be read only once: standard input, a pipe or a terminal."""
    return path == Path("-") or path.is_fifo() or path.is_char_device()


def _list_sentences(path: Path, recursive: bool, command: str) -> Any:
    """Return the sentences of a folder's files; print the names of subfolders that are left out."""
    from gensim.models.word2vec import PathLineSentences

    from gensim_tfw2v.corpus.folders import list_files

    files, left_out = list_files(path, recursive)
    subfolders = textwrap.shorten(", ".join(left_out), MAX_LIST_LENGTH, placeholder=" ...")
    if not files:
        only = f", only subfolders ({subfolders}): give --recursive, or one of them"
        raise BadInput(f"{path}: contains no files{only if left_out else ''}")
    for file in files:
        _check_is_text(file, command)
    if left_out:
        print(
            f"tfw2v: {path}: subfolders are left out without --recursive: {subfolders}",
            file=sys.stderr,
        )
    sentences = PathLineSentences(str(path))
    sentences.input_files = [str(file) for file in files]
    return sentences


def _check_is_text(file: Path, command: str) -> None:
    """Raise if a file of a corpus is not a text."""
    from gensim_tfw2v.corpus.refusals import find_refusal

    if refusal := find_refusal(file, command):
        raise BadInput(f"{file}: {refusal}")


def _check_standard_input() -> None:
    """Raise if standard input, which is redirected from a file, is not a text."""
    from gensim_tfw2v.corpus.decompression import read_head
    from gensim_tfw2v.corpus.refusals import find_stream_refusal

    if refusal := find_stream_refusal(read_head(STDIN)):
        raise BadInput(f"standard input {refusal}")
