"""The argument CORPUS of commands: a text, a folder of texts, standard input, or a table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from gensim_tfw2v.cli.common import BadInput

STDIN = Path("/dev/stdin")


def corpus_arguments(
    path: Path, column: str | None = None, documents: bool = False
) -> dict[str, Any]:
    """Return the argument of a model's constructor, corpus_file or sentences, for a path.

    Files contain one sentence per line, words separated by blanks, in UTF-8. A folder's files are
    read in the order of their names, without hidden files and subfolders. ``-`` is standard input.
    With a `column`, the path is a table or a folder of tables.
    """
    from gensim.models.word2vec import LineSentence

    from gensim_tfw2v.messages import COMPRESSED, MAGIC

    if path == Path("-"):
        path = STDIN
    if column is not None:
        from gensim_tfw2v import TableDocuments, TableSentences

        return {"sentences": (TableDocuments if documents else TableSentences)(path, column)}
    if path.is_dir():
        return {"sentences": _folder(path)}
    if is_stream(path):
        return {"corpus_file": str(path)}
    if not path.is_file():
        raise BadInput(f"{path}: no such file or folder")
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise BadInput(f"{path}: is empty; write one sentence per line, words separated by blanks")
    _check_is_text(path, path)
    if path.suffix.lower() in COMPRESSED:
        return {"sentences": LineSentence(str(path))}
    for magic, (ending, _) in MAGIC.items():
        if start.startswith(magic) and ending in COMPRESSED:
            if path == STDIN:
                raise BadInput(
                    f"standard input is compressed ({ending}); decompress it, as in: "
                    "zcat FILE | tfw2v train - ..."
                )
            raise BadInput(f"{path}: is compressed; give it a name that ends in {ending}")
    return {"corpus_file": str(path)}


def is_stream(path: Path) -> bool:
    """Return whether a path can be read only once: standard input, a pipe or a terminal."""
    return path == Path("-") or path.is_fifo() or path.is_char_device()


def _folder(path: Path) -> Any:
    from gensim.models.word2vec import PathLineSentences

    sentences = PathLineSentences(str(path))
    paths = map(Path, sentences.input_files)
    files = [file for file in paths if file.is_file() and file.name[0] != "."]
    if not files:
        raise BadInput(f"{path}: contains no files")
    for file in files:
        _check_is_text(file, path)
    sentences.input_files = [*map(str, files)]
    return sentences


def _check_is_text(file: Path, corpus: Path) -> None:
    """Raise if a file of a corpus is a table."""
    from gensim_tfw2v.corpus.table_formats import find_format

    if find_format(file):
        from gensim_tfw2v.corpus.table_columns import column_names

        raise BadInput(
            f"{file}: is a table; name the column to train on, as in: tfw2v train "
            f"{shlex.quote(str(corpus))} --column NAME; its columns are: "
            f"{column_names(file)}"
        )
