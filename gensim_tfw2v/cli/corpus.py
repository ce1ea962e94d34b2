"""A corpus named on the command line, as arguments for a gensim model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gensim_tfw2v.cli.failures import BadInput

STDIN = "/dev/stdin"

COMPRESSION_MARKS = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}


def corpus_arguments(path: Path) -> dict[str, Any]:
    """Turn a path into ``corpus_file=`` or ``sentences=``.

    One sentence a line, words separated by blanks, UTF-8. Of a folder, files are taken in the order
    of their names, hidden ones and subfolders left out. ``-`` is standard input; a pipe is read
    once.

    Returns
    -------
    dict
        The argument of a model's constructor.

    Raises
    ------
    BadInput
        There is nothing to read at `path`, or it is compressed but its name does not say so.
    """
    if path == Path("-"):
        path = Path(STDIN)
    if path.is_dir():
        return {"sentences": _folder(path)}
    if is_stream(path):
        return {"corpus_file": str(path)}
    if not path.is_file():
        raise BadInput(f"{path}: no such file or folder")
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise BadInput(f"{path}: is empty; give one sentence a line, words separated by blanks")

    from gensim.models.word2vec import LineSentence
    from smart_open.compression import get_supported_extensions

    if path.suffix.lower() in get_supported_extensions():
        return {"sentences": LineSentence(str(path))}
    for mark, suffix in COMPRESSION_MARKS.items():
        if start.startswith(mark):
            if str(path) == STDIN:
                raise BadInput(
                    f"standard input is compressed ({suffix}); decompress it, as in: "
                    "zcat FILE | tfw2v train - ..."
                )
            raise BadInput(f"{path}: is compressed; give it a name that ends in {suffix}")
    return {"corpus_file": str(path)}


def is_stream(path: Path) -> bool:
    """Whether this is standard input, or a pipe or terminal, which can be read once."""
    return path == Path("-") or path.is_fifo() or path.is_char_device()


def _folder(path: Path) -> Any:
    from gensim.models.word2vec import PathLineSentences

    sentences = PathLineSentences(str(path))
    sentences.input_files = [
        file
        for file in sentences.input_files
        if Path(file).is_file() and not Path(file).name.startswith(".")
    ]
    if not sentences.input_files:
        raise BadInput(f"{path}: holds no files with text")
    return sentences
