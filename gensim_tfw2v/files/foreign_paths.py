"""Descriptions of files and folders that a loader cannot load, with advice what can load them."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gensim_tfw2v.messages import open_decompressed

#: First byte of a pickle, the format in which gensim and this package save models and vectors.
PICKLE = b"\x80"

#: Key in config.json whose value describes a model of this package.
OWN_PART = "gensim_tfw2v"

#: Name of a file that sentence-transformers writes to each of its folders.
SENTENCE_TRANSFORMERS = "config_sentence_transformers.json"

# Descriptions of files, with advice. `describe_file` replaces the placeholders in braces.

_ONLY_VECTORS = (
    "contains only vectors: convert them with `tfw2v convert {path} vectors.kv`, and make a model "
    "of them with TFWord2Vec.from_vectors(KeyedVectors.load('vectors.kv'))"
)
_IN_FOLDER = (
    "is a file of a folder that save_pretrained has written: load the folder, with "
    "{loader}.from_pretrained({folder!r})"
)

_ALONE = (
    "is in a format of pretrained models (safetensors or JSON), but the other files are missing: "
    "pass their folder to {loader}.from_pretrained"
)

#: Descriptions of files that are not pickles, by a regular expression for their first bytes.
_DESCRIPTIONS = {
    rb"PK\x03\x04": _ONLY_VECTORS,  # .npz or .keras
    rb"\xba\x16O/": "is a model of fastText: load it with TFFastText.load_facebook_model({path!r})",
    rb".{7}\0\{|\s*\{": _IN_FOLDER,  # safetensors or JSON
    rb"\s*[0-9]+[ \t]+[0-9]+\s": _ONLY_VECTORS,  # header of word2vec's formats
    # a word and at least two numbers: GloVe's format
    rb"\S+([ \t]+[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?){2}": _ONLY_VECTORS,
    rb"version https://git-lfs": "is a pointer of Git LFS, not the file: run git lfs pull",
}


def describe_file(path: Path, loader: str = "TFWord2Vec") -> str:
    """Describe a file that is not a model, with advice what can load it; "" for unknown files.

    `loader` is the name of the class by which the user has tried to load the file.
    """
    try:
        with open_decompressed(path) as file:
            start = file.read(4096)
    except Exception:  # the loader's own error describes the problem better
        return ""
    names = {"path": str(path), "folder": str(path.parent), "loader": loader}
    if start.startswith(PICKLE):
        return (
            "is a file that save() has written: load a model with {loader}.load({path!r}), and "
            "vectors with KeyedVectors.load({path!r})"
        ).format(**names)
    for pattern, description in _DESCRIPTIONS.items():
        if re.match(pattern, start, re.DOTALL):
            if description is _IN_FOLDER and not (path.parent / "config.json").is_file():
                description = _ALONE
            return description.format(**names)
    if Path(f"{path}.json").is_file():
        return f"is an index of neighbours: load it with NeighbourIndex.load({str(path)!r})"
    return ""


def describe_folder(path: Path) -> str:
    """Describe a folder, with advice what can load it."""
    config = read_config(path)
    if is_resaved(path):
        return (
            "was saved by a different library, such as model2vec, which leaves out the counts, "
            "options and output layer of a model; read its words and vectors with: "
            f"tfw2v convert {path} vectors.kv"
        )
    model_config = config.get(OWN_PART)
    if isinstance(model_config, dict):
        name = model_config.get("class")
        if name == "KeyedVectors":
            return "is a folder that " + _ONLY_VECTORS.format(path=path)
        loader = f"TF{name}.from_pretrained({str(path)!r})"
        return f"is a folder that save_pretrained has written: load it with {loader}"
    if config:
        return (
            f"is a folder of a different library: its config.json lacks the part {OWN_PART!r}, "
            "which save_pretrained writes"
        )
    if _contains(path, "checkpoint-*/checkpoint.json"):
        return (
            "is a folder of checkpoints: to resume their training, repeat it with this "
            "checkpoint_dir"
        )
    if _contains(path, "events.out.tfevents.*"):
        return f"is a folder of logs: show it with: tfw2v tensorboard {path}"
    models = ", ".join(repr(str(file)) for file in _find_pickles(path))
    examples = f", such as {models}" if models else ""
    return f"is a folder; pass the file of a model{examples}"


def is_resaved(folder: Path) -> bool:
    """Return whether a folder of a model or of embeddings was saved by a different library.

    Such libraries save ``tokenizer.json`` by the package `tokenizers`, which adds a version to it.
    """
    tokenizer = _read_json(folder / "tokenizer.json")
    return "version" in tokenizer or (folder / SENTENCE_TRANSFORMERS).is_file()


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's config.json; {} if the file is missing or invalid."""
    return _read_json(folder / "config.json")


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file contains; {} if the file is missing or invalid."""
    try:
        if not path.is_file():  # reading a pipe could block forever
            return {}
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _contains(folder: Path, pattern: str) -> bool:
    """Return whether a folder, or a subfolder to a depth of two, contains a file of a pattern."""
    return any(any(folder.glob(prefix + pattern)) for prefix in ("", "*/", "*/*/"))


def _find_pickles(folder: Path, n_files: int = 2) -> Iterator[Path]:
    """Yield the first `n_files` files of a folder that begin like a pickle."""
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with contextlib.suppress(PermissionError), path.open("rb") as file:
            if file.read(1) == PICKLE:
                yield path
                n_files -= 1
        if not n_files:
            return
