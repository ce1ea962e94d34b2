"""Labels in TensorBoard: words as text, and names of curves."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Characters that some readers of tables take for the end of a row or a cell, or that UTF-8 cannot
#: encode.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

#: Labels that a file of word pairs may not get, because other curves of training have them.
RESERVED = {"loss"}


def word_label(word: Any) -> str:
    """Convert a word, an object of any type, to a line of text that UTF-8 can encode."""
    label = _BREAKING.sub(lambda match: match[0].encode("unicode_escape").decode(), str(word))
    return label or "(empty)"  # an empty cell would break the projector's search


def quality_tags(sets: Iterable[str | os.PathLike[str]]) -> dict[str | os.PathLike[str], str]:
    """Return the tag of the curve of each set of word pairs or of analogies.

    `sets` are names of sets, or paths of files. A tag contains the name of the set, or the name of
    the file without its suffix. If two files would get the same tag, their tags also contain the
    suffix, or as many of the files' folders as are needed to make them differ.
    """
    files = {name: os.path.abspath(name) for name in sets}
    labels = {name: _possible_labels(name) for name in files}
    tags = {}
    for name, file in files.items():
        foreign_names = [key for key in files if files[key] != file]
        used_labels = RESERVED.union(*(labels[key] for key in foreign_names))
        unique_labels = (label for label in labels[name] if label not in used_labels)
        tags[name] = f"quality/{next(unique_labels, labels[name][-1])}"
    return tags


def _possible_labels(name: str | os.PathLike[str]) -> list[str]:
    """Return the possible labels of a set, from the shortest to the longest."""
    path = Path(name)
    is_named_set = path.name == os.fspath(name) and not path.suffix
    if is_named_set:
        return [word_label(path.name)]
    parts = Path(os.path.abspath(path)).parts[1:]
    labels = [path.stem, *("/".join(parts[-n:]) for n in range(1, 1 + len(parts)))]
    return [word_label(label) for label in labels]  # names of files may not be UTF-8
