"""Labels in TensorBoard: printed forms of words, and names of curves."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Characters that end a row or a cell in some reader of a table, or cannot be encoded.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

#: Names of curves of a training that are not of a file.
RESERVED = {"loss"}


def printed(word: Any) -> str:
    """Return the printed form of a word: UTF-8 in one line, whatever object the word is."""
    shown = _BREAKING.sub(lambda found: found[0].encode("unicode_escape").decode(), str(word))
    return shown or "(empty)"  # the projector's search fails if a cell is empty


def quality_tags(sets: Iterable[str | os.PathLike[str]]) -> dict[str | os.PathLike[str], str]:
    """Return the tag of the curve of each set of word pairs or of analogies.

    A tag contains the name of the set, or of its file without suffix. For files with the
    same name, it also contains the suffix, or as many of their folders as needed.
    """
    files = {name: os.path.abspath(name) for name in sets}
    names = {name: _names(name) for name in files}
    tags = {}
    for name, file in files.items():
        of_others = RESERVED.union(*(names[other] for other in files if files[other] != file))
        free = (form for form in names[name] if form not in of_others)
        tags[name] = f"quality/{next(free, names[name][-1])}"
    return tags


def _names(name: str | os.PathLike[str]) -> list[str]:
    """Return the possible names of a set, from short to long."""
    path = Path(name)
    if path.name == os.fspath(name) and not path.suffix:  # a named set
        return [path.name]
    parts = Path(os.path.abspath(path)).parts[1:]
    return [path.stem, *("/".join(parts[-n:]) for n in range(1, 1 + len(parts)))]
