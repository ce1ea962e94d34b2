"""Labels in TensorBoard: words as text, and names of curves."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Characters that end a row or a cell for some readers of tables, or that UTF-8 cannot encode.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

#: Names of curves of a training that no file of word pairs may get.
RESERVED = {"loss"}


def word_label(word: Any) -> str:
    """Return a word, which may be any object, as one line of text that UTF-8 can encode."""
    label = _BREAKING.sub(lambda match: match[0].encode("unicode_escape").decode(), str(word))
    return label or "(empty)"  # the projector's search fails if a cell is empty


def quality_tags(sets: Iterable[str | os.PathLike[str]]) -> dict[str | os.PathLike[str], str]:
    """Return the tag of the curve of each set of word pairs or of analogies.

    A tag contains the name of the set, or of its file without suffix. For files with the
    same name, it also contains the suffix, or as many of their folders as needed.
    """
    files = {name: os.path.abspath(name) for name in sets}
    labels = {name: _possible_labels(name) for name in files}
    tags = {}
    for name, file in files.items():
        other_names = [other_name for other_name in files if files[other_name] != file]
        used_labels = RESERVED.union(*(labels[other_name] for other_name in other_names))
        unique_labels = (label for label in labels[name] if label not in used_labels)
        tags[name] = f"quality/{next(unique_labels, labels[name][-1])}"
    return tags


def _possible_labels(name: str | os.PathLike[str]) -> list[str]:
    """Return the possible labels of a set, from short to long."""
    path = Path(name)
    is_named_set = path.name == os.fspath(name) and not path.suffix
    if is_named_set:
        return [path.name]
    parts = Path(os.path.abspath(path)).parts[1:]
    return [path.stem, *("/".join(parts[-n:]) for n in range(1, 1 + len(parts)))]
