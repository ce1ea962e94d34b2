"""Folders of models, as on the Hugging Face Hub: written without pickle, and read strictly.

A folder is valid if `save_pretrained` would write the same files for the loaded model.
sentence-transformers and model2vec can load it, too, as embeddings of words. Row 0 of the
embeddings is 0 and stands for unknown words.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from functools import partial
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.files.file_set import FileSetError, load_set
from gensim_tfw2v.files.foreign_paths import (
    OWN_PART,
    describe_folder,
    is_resaved,
    read_config,
)
from gensim_tfw2v.files.safetensors import read_tensors, write_tensors
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.keys.compact import compact, set_keys, set_words
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.messages import quoted, strict_json
from gensim_tfw2v.options.contents import COUNTERS
from gensim_tfw2v.options.table import ARGUMENTS, DEFAULTS
from gensim_tfw2v.row_blocks import find_nonfinite_rows
from gensim_tfw2v.training import huffman
from gensim_tfw2v.training.folder_contents import (
    CONFIG,
    STATE,
    TAGS,
    TOKENIZER,
    check_contents,
    describe,
    list_options,
    read_words,
)
from gensim_tfw2v.training.folder_tensors import TREE, list_dtypes, list_tensors, locate
from gensim_tfw2v.training.model_card import CARD, write_card
from gensim_tfw2v.training.model_checks import check_state
from gensim_tfw2v.training.token_rows import (
    TokenRows,
    describe_tokenizer,
    encode_tokenizer,
    read_tokenizer,
)

TENSORS = "model.safetensors"

#: Content of modules.json, by which sentence-transformers loads the folder.
MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
]

#: Errors that loading raises for a damaged folder, or one that contains no model.
DAMAGE_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def save_pretrained(
    saved: Any, folder: str | os.PathLike[str], results: Mapping[str, float] | None = None
) -> None:
    """Write a model, or `KeyedVectors`, to a folder; see `TFWord2Vec.save_pretrained`."""
    folder = Path(folder).expanduser()
    check_folder("folder", folder)
    model = saved if hasattr(saved, "wv") else SimpleNamespace(wv=saved)
    if model is saved:
        check_state(model, model._current_config())
    check_contents(model)
    tensors = dict(list_tensors(model))
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=methodcaller("tolist"))
    documents = {**describe(model), "modules.json": MODULES}
    contents: dict[str, Iterable[bytes]] = {}
    for name, document in documents.items():
        rows = document["model"]["vocab"] if name == TOKENIZER else None
        if isinstance(rows, TokenRows):
            contents[name] = encode_tokenizer(rows)
        else:
            contents[name] = [encoder.encode(document).encode()]
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CARD).exists():  # keep an existing one: a user may have edited it
        contents[CARD] = [write_card(saved, results or {}).encode()]

    def write(path: Any) -> None:
        checksums = {
            _checksum_key(name): _write(Path(path).with_name(name), blocks)
            for name, blocks in contents.items()
        }
        metadata = {key: checksums[key] for key in map(_checksum_key, documents)}
        write_tensors(Path(path).with_name(TENSORS), tensors, metadata)

    save_atomically(folder / CONFIG, write)


def load_pretrained(folder: Path, classes: Mapping[str, Any], is_mapped: bool = False) -> Any:
    """Load a model or vectors from a folder; no code in it is run.

    `classes` maps the names of gensim's classes that are accepted to the classes of the result. If
    `is_mapped`, arrays are mapped from the folder's file, read-only, instead of read.

    Raises
    ------
    ValueError
        If the folder is not one that `save_pretrained` has written.
    FileSetError
        If its files are of different saves.
    """
    try:
        return load_set(folder / CONFIG, lambda: _load(folder, classes, is_mapped))
    except FileSetError as error:
        raise FileSetError(f"{folder}: {error}") from error
    except DAMAGE_ERRORS as error:
        config = read_config(folder)
        is_foreign = is_resaved(folder) or (config and OWN_PART not in config)
        if is_foreign or not (folder / CONFIG).is_file():
            raise ValueError(f"{folder}: {describe_folder(folder)}") from error
        reason = f"cannot be loaded as a model of gensim-tfw2v ({type(error).__name__}: {error})"
        raise ValueError(f"{folder}: {reason}") from error


def _load(folder: Path, classes: Mapping[str, Any], is_mapped: bool) -> Any:
    """Load a folder; raise one of `DAMAGE_ERRORS` if it is not what `save_pretrained` writes."""
    checksums: dict[str, str] = {}
    documents = {
        CONFIG: _read(folder, CONFIG, checksums),
        TOKENIZER: _read_tokenizer(folder, checksums),
    }
    own_part = documents[CONFIG]["gensim_tfw2v"]
    size = documents[CONFIG]["hidden_dim"]
    model_class = classes.get(own_part["class"])
    if model_class is None:
        raise ValueError(_describe_class(own_part["class"], folder, classes))
    if model_class is KeyedVectors:
        model: Any = SimpleNamespace(wv=KeyedVectors(size))
    else:
        # checked before the call, so that the folder cannot set any other parameter
        if wrong_names := own_part["options"].keys() ^ list_options(model_class).keys():
            raise ValueError(f"{CONFIG} has unknown or missing options: {quoted(wrong_names)}")
        model = _new_model(model_class, own_part["options"])
        for name in COUNTERS:
            setattr(model, name, +own_part["state"][name])  # + accepts only numbers
        for name in STATE.keys() & own_part["state"].keys():
            setattr(model, name, STATE[name](own_part["state"][name]))
    _take_words(model.wv, documents[TOKENIZER]["model"]["vocab"], own_part.get("integer_words", ()))
    if hasattr(model, "dv"):
        documents[TAGS] = _read(folder, TAGS, checksums)
        tags = documents[TAGS]["tags"]
        model.dv.index_to_key = tags
        model.dv.key_to_index = {tag: row for row, tag in enumerate(tags) if tag != row}
        compact(model.dv)
    dtypes = list_dtypes(model) | own_part.get("values", {})
    check = partial(_check_checksums, checksums)
    tensors = read_tensors(_file(folder, TENSORS), dtypes, check, is_mapped)
    for name in (name for name in dtypes if name != TREE):
        attributes, key = locate(model, name)
        if name in tensors:
            attributes[key] = tensors[name]
        elif name.endswith("_lockf"):
            attributes[key] = np.ones(1, np.float32)
    all_vectors = (model.wv, model.dv) if hasattr(model, "dv") else (model.wv,)
    for vectors in all_vectors if is_mapped else ():
        # copies, because updates of the vocabulary change values of keys in place
        vectors.expandos = {name: np.array(values) for name, values in vectors.expandos.items()}
    model.wv.vectors = model.wv.vectors[1:]  # row 0 is the vector of unknown words
    if TREE in tensors:
        huffman.decode(tensors[TREE], len(model.wv.index_to_key)).store(model.wv)
    for vectors in all_vectors:
        arrays = [vectors.index_to_key, vectors.vectors, *vectors.expandos.values()]
        if len({*map(len, arrays)}) > 1 or vectors.vectors.shape[1:] != (size,):
            raise ValueError("the shapes of its arrays differ")
        if len(find_nonfinite_rows(vectors.vectors)):
            raise ValueError("has vectors that are NaN or infinite")
    if model_class is not KeyedVectors:
        counts = model.wv.expandos["count"]
        if counts.min() < 0 or counts.sum(dtype=float) >= 2**63:
            raise ValueError("has counts that are negative or too large")
        # folders of earlier versions lack the tree and the noise distribution
        if model.hs and TREE not in tensors:
            model.create_binary_tree()
        if model.negative and model.cum_table is None:
            model.make_cum_table()
        if model.has_subwords:
            model.wv.recalc_char_ngram_buckets()
        check_state(model, model._current_config())
    for name, document in describe(model).items():
        if documents[name] != document:
            raise ValueError(f"{name} is not what save_pretrained writes for this model")
    return model.wv if model_class is KeyedVectors else model


def _new_model(class_: Any, options: Mapping[str, Any]) -> Any:
    """Make a model with the options of a folder.

    Attributes may have values that constructors drop, replace or refuse: a comment, `sample` None,
    and a seed that was set later.
    """
    arguments = dict(options)
    try:
        ARGUMENTS["seed"]("seed", options["seed"])
    except (TypeError, ValueError):
        arguments["seed"] = DEFAULTS["seed"]
    model = class_(**arguments)
    for name in {"comment", "sample", "seed"} & options.keys():
        setattr(model, name, options[name])
    return model


def _describe_class(name: Any, folder: Path, classes: Mapping[str, Any]) -> str:
    """Return the error message for a folder of a class that is not in `classes`."""
    message = f"it holds {quoted(name)}, expected {' or '.join(classes)}"
    if name == KeyedVectors.__name__:
        return f"{message}; read the vectors with: tfw2v convert {folder} vectors.kv"
    if name in ("Word2Vec", "FastText", "Doc2Vec"):
        return f"{message}; load it with TF{name}.from_pretrained"
    return message


def _take_words(vectors: KeyedVectors, rows: Mapping[str, int], integer_rows: Any) -> None:
    """Set the words of vectors to the tokens of a folder; those in `integer_rows` are integers."""
    if isinstance(rows, TokenRows) and not integer_rows:
        set_keys(vectors, rows.words)
        return
    if isinstance(rows, TokenRows) and integer_rows == [[0, len(rows.words)]]:
        with contextlib.suppress(OverflowError):  # integers of more than 64 bits
            integers = np.fromiter(map(int, rows.words), np.int64, len(rows.words))
            set_keys(vectors, IntegerKeys(integers))
            return
    set_words(vectors, read_words(rows, integer_rows))


def _file(folder: Path, name: str) -> Path:
    if not (path := folder / name).is_file():  # opening a pipe would not return
        raise ValueError(f"{name} is missing")
    return path


def _write(path: Path, blocks: Iterable[bytes]) -> str:
    """Write blocks to a file, and return their checksum."""
    crc = 0
    with path.open("wb") as file:
        for block in blocks:
            crc = zlib.crc32(block, crc)
            file.write(block)
    return _checksum(crc)


def _checksum(crc: int) -> str:
    return f"{crc:08x}"


def _checksum_key(name: str) -> str:
    return f"crc32 of {name}"


def _check_checksums(checksums: Mapping[str, str], metadata: Mapping[str, str]) -> None:
    """Raise a FileSetError if JSON files are not those that were saved with the tensors.

    The metadata of the tensors contain the checksums of the JSON files. Folders of earlier versions
    lack them.
    """
    for name, value in checksums.items():
        if metadata.get(_checksum_key(name), value) != value:
            raise FileSetError(
                f"{name} and {TENSORS} are not of the same save, or one of them was changed; "
                "restore all files of the folder from one backup, or save the model again"
            )


def _read_tokenizer(folder: Path, checksums: dict[str, str]) -> dict[str, Any]:
    """Return the content of the file of tokens, and add its checksum to `checksums`."""
    if (tokenizer := read_tokenizer(_file(folder, TOKENIZER))) is None:
        return _read(folder, TOKENIZER, checksums)
    rows, crc = tokenizer
    checksums[TOKENIZER] = _checksum(crc)
    return describe_tokenizer(rows)


def _read(folder: Path, name: str, checksums: dict[str, str]) -> dict[str, Any]:
    """Return the content of a JSON file, and add its checksum to `checksums`."""
    content = _file(folder, name).read_bytes()
    checksums[name] = _checksum(zlib.crc32(content))
    try:
        return strict_json(content)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from error
