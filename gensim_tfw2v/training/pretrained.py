"""Folders of models, as on the Hugging Face Hub: written without pickle, and read strictly.

A folder is valid if `save_pretrained` would write the same for the loaded model. It is also one
that sentence-transformers and model2vec load, as embeddings of words; row 0, for unknown words, is
zero.
"""

import inspect
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.files.safetensors import DTYPES, read_tensors, write_tensors
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.kernel.tables import all_finite
from gensim_tfw2v.messages import quoted, require, strict_json
from gensim_tfw2v.options.contents import COUNTERS, KEPT, PARTS, REFUSED, names
from gensim_tfw2v.options.hyperparameters import hyperparameters
from gensim_tfw2v.training import huffman
from gensim_tfw2v.training.documents import INTEGERS
from gensim_tfw2v.training.model_checks import check_state
from gensim_tfw2v.training.weights import WEIGHTS

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TAGS = "tags.json"
TENSORS = "model.safetensors"
CARD = "README.md"

#: Package that downloads and uploads.
HUB = "huggingface_hub"

#: modules.json of sentence-transformers.
MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
]

#: Token of unknown words.
UNKNOWN = "[UNK]"

#: Parameters that are no attributes of models: the corpus, functions and initial vectors.
ARGUMENTS = {
    *("sentences", "documents", "corpus_file", "trim_rule", "callbacks"),
    *("dv", "dv_mapfile", "dm_mean"),
}

#: Attributes of models that folders contain, and those that they cannot contain.
CONTAINED = set(names("folder", KEPT))
LISTED = {name for part in PARTS for name in part.names}

#: Types of values of keys that all models have.
COUNTS = {
    "wv.expandos.count": "I64",
    "wv.expandos.sample_int": "U32",
    "dv.expandos.word_count": "I64",
    "dv.expandos.doc_count": "I64",
}

#: The Huffman tree: the children of its nodes; see `huffman.encode`.
TREE = "wv.tree"


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"it contains {value}")
    return number


def _all_finite(values: Any) -> list[float]:
    return [_finite(value) for value in values]


#: Converters of further attributes that are saved, if they are not a new model's.
STATE: Mapping[str, Callable[[Any], Any]] = {
    "mean_losses": _all_finite,
    "history": _all_finite,
    "best_epoch": int,
    "best_score": _finite,
    "kernel": str,
    "learn_hidden": bool,
    "negative_shards": int,
}


#: Errors of a folder that is not one of a model.
DAMAGED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def save_pretrained(
    saved: Any, folder: str | os.PathLike[str], results: Mapping[str, float] | None = None
) -> None:
    """Write a model, or `KeyedVectors`, to a folder; see `TFWord2Vec.save_pretrained`."""
    folder = Path(folder).expanduser()
    check_folder("folder", folder)
    model = saved if hasattr(saved, "wv") else SimpleNamespace(wv=saved)
    if model is saved:
        check_state(model, model._current_config())
    _check_contents(model)
    tensors = dict(_tensors(model))
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=methodcaller("tolist"))
    documents = {**_documents(model), "modules.json": MODULES}
    texts = {name: encoder.encode(document).encode() for name, document in documents.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CARD).exists():  # it may have been edited
        texts[CARD] = _card(saved, results or {}).encode()

    def write(to: Any) -> None:
        for name, text in texts.items():
            Path(to).with_name(name).write_bytes(text)
        write_tensors(Path(to).with_name(TENSORS), tensors)

    save_atomically(folder / CONFIG, write)


def load_pretrained(folder: Path, classes: Mapping[str, Any]) -> Any:
    """Load a model or vectors from a folder; nothing in it is run.

    `classes` are those to load, by the names of gensim's classes.

    Raises
    ------
    ValueError
        If the folder is not one that `save_pretrained` has written.
    """
    try:
        return _load(folder, classes)
    except DAMAGED as error:
        what = f"cannot be loaded as a model of gensim-tfw2v ({type(error).__name__}: {error})"
        raise ValueError(f"{folder}: {what}") from error


def find_folder(name: str | os.PathLike[str], **options: Any) -> Path:
    """Return a folder; download it from the Hub if the name is not that of a folder."""
    if (folder := Path(name).expanduser()).is_dir():
        return folder
    require(f"{name} is not a folder; downloading it", HUB)
    import huggingface_hub as hub

    files = [CONFIG, TOKENIZER, TAGS, TENSORS]
    return Path(hub.snapshot_download(str(name), allow_patterns=files, **options))


def push_to_hub(
    model: Any, name: str, results: Mapping[str, float] | None, private: Any, token: Any
) -> str:
    """Upload a model to the Hub; see `TFWord2Vec.push_to_hub`."""
    require(f"uploading {name}", HUB)
    import huggingface_hub

    hub = huggingface_hub.HfApi(token=token)
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, folder, results)
        hub.create_repo(name, private=private, exist_ok=True)
        if hub.file_exists(name, CARD):  # it may have been edited
            Path(folder, CARD).unlink()
        return str(hub.upload_folder(repo_id=name, folder_path=folder))


def _load(folder: Path, classes: Mapping[str, Any]) -> Any:
    found = {name: _read(folder, name) for name in (CONFIG, TOKENIZER)}
    own = found[CONFIG]["gensim_tfw2v"]
    size = found[CONFIG]["hidden_dim"]
    make = classes.get(own["class"])
    if make is None:
        raise ValueError(f"it holds {quoted(own['class'])}, expected {' or '.join(classes)}")
    if make is KeyedVectors:
        model: Any = SimpleNamespace(wv=KeyedVectors(size))
    else:
        # checked first, so that no other parameter is set
        if wrong := own["options"].keys() ^ _options_of(make).keys():
            raise ValueError(f"{CONFIG} has unknown or missing options: {quoted(wrong)}")
        model = make(**own["options"])
        for name in COUNTERS:
            setattr(model, name, +own["state"][name])  # + raises unless it is a number
        for name in STATE.keys() & own["state"].keys():
            setattr(model, name, STATE[name](own["state"][name]))
    words = [*found[TOKENIZER]["model"]["vocab"]][1:]
    model.wv.index_to_key = words
    model.wv.key_to_index = {word: row for row, word in enumerate(words)}
    if hasattr(model, "dv"):
        found[TAGS] = _read(folder, TAGS)
        tags = model.dv.index_to_key = found[TAGS]["tags"]
        model.dv.key_to_index = {tag: row for row, tag in enumerate(tags) if tag != row}
    dtypes = _dtypes(model) | own.get("values", {})
    tensors = read_tensors(_file(folder, TENSORS), dtypes)
    for name in dtypes.keys() - {TREE}:
        attributes, key = _place(model, name)
        if name in tensors:
            attributes[key] = tensors[name]
        elif name.endswith("_lockf"):
            attributes[key] = np.ones(1, np.float32)
    model.wv.vectors = model.wv.vectors[1:]  # not that of unknown words
    if TREE in tensors:
        huffman.decode(tensors[TREE], len(words)).store(model.wv)
    for vectors in (model.wv, model.dv) if hasattr(model, "dv") else (model.wv,):
        arrays = [vectors.index_to_key, vectors.vectors, *vectors.expandos.values()]
        if len({*map(len, arrays)}) > 1 or vectors.vectors.shape[1:] != (size,):
            raise ValueError("the shapes of its arrays differ")
        if not all_finite(vectors.vectors):
            raise ValueError("has vectors that are NaN or infinite")
    if make is not KeyedVectors:
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
    for name, document in _documents(model).items():
        if found[name] != document:
            raise ValueError(f"{name} is not what save_pretrained writes for this model")
    return model.wv if make is KeyedVectors else model


def _file(folder: Path, name: str) -> Path:
    if not (path := folder / name).is_file():  # opening a pipe would not return
        raise ValueError(f"{name} is missing")
    return path


def _read(folder: Path, name: str) -> dict[str, Any]:
    content = _file(folder, name).read_bytes()
    try:
        return strict_json(content)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from error


def _documents(model: Any) -> dict[str, Any]:
    """Return the contents of the JSON files that describe a model.

    Raises
    ------
    TypeError, ValueError
        If the words or tags, or an option, cannot be in them.
    """
    words = model.wv.index_to_key
    vocabulary = {UNKNOWN: 0} | {word: row for row, word in enumerate(words, 1)}
    if not words or len(vocabulary) <= len(words) or not all(isinstance(w, str) for w in words):
        raise ValueError(f"words must be different strings, at least one, and not {UNKNOWN}")
    own: dict[str, Any] = {"format": 1, "class": "KeyedVectors"}
    if isinstance(model, Word2Vec):
        own |= {"class": model._of_gensim.__name__, "options": _options(model)}
        own["state"] = _state(model)
    if values := _values(model):
        own["values"] = values
    documents: dict[str, Any] = {
        CONFIG: {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": model.wv.vector_size,
            "max_length": None,
            "normalize": False,
            "gensim_tfw2v": own,
        },
        TOKENIZER: {
            "added_tokens": [],
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
        },
    }
    if hasattr(model, "dv"):
        documents[TAGS] = {"tags": list(model.dv.index_to_key)}
        for tag in model.dv.index_to_key:
            if not isinstance(tag, (str, *INTEGERS)):
                raise TypeError(f"the tag {quoted(tag)} is neither a string nor a whole number")
    return documents


def _options_of(class_: type) -> dict[str, Any]:
    """Return the parameters of a class that are saved, with their defaults."""
    parameters = inspect.signature(class_).parameters.items()
    left_out = ARGUMENTS | LISTED - CONTAINED
    return {name: one.default for name, one in parameters if name not in left_out}


def _options(model: Any) -> dict[str, Any]:
    """Return a model's options, which are attributes of it or of its vectors."""
    options: dict[str, Any] = {}
    for name, default in _options_of(type(model)).items():
        held = getattr(model, name, getattr(model.wv, name, default))
        value = options[name] = np.asarray(held).tolist()
        if isinstance(value, str) and name != "comment" or isinstance(value, dict):
            raise TypeError(f"{name} is {quoted(value)}, which is not a number")
    return options


def _state(model: Any) -> dict[str, Any]:
    """Return a model's counters, and results and experiments that are not a new model's."""
    state = {name: getattr(model, name, None) or 0 for name in COUNTERS}
    for name, convert in STATE.items():
        default = getattr(type(model), name)
        try:
            value = convert(held) if (held := getattr(model, name)) is not None else None
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"a folder cannot contain {name} ({error}): delete it or set it to {default!r}"
            ) from error
        if value != (list(default) if isinstance(default, tuple) else default):
            state[name] = value
    return state


def _holders(model: Any) -> dict[str, Any]:
    """Return a model and its vectors, by the prefixes of their attributes."""
    holders = {"": model, "wv.": model.wv}
    return holders | {"dv.": model.dv} if hasattr(model, "dv") else holders


def _values(model: Any) -> dict[str, str]:
    """Return the types of the user's own values of keys (gensim's ``set_vecattr``)."""
    names_of_types = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    return {
        f"{place}expandos.{name}": names_of_types.get(
            np.asarray(values).dtype.newbyteorder("<"), ""
        )
        for place, holder in _holders(model).items()
        if place
        for name, values in holder.expandos.items()
        if f"{place}expandos.{name}" not in LISTED
    }


def _check_contents(model: Any) -> None:
    """Raise a TypeError or ValueError for what a folder cannot contain.

    It would be lost: an attribute of the user, a function, an array or value of another type.
    """
    dtypes = _dtypes(model)
    for place, holder in _holders(model).items():
        for attribute, value in vars(holder).items():
            name = place + attribute
            is_lost = name not in LISTED and attribute not in ("wv", "dv", "expandos")
            is_lost |= name in names("folder", REFUSED) and bool(value) and value is not hash
            is_lost |= attribute in WEIGHTS and value is not None and _tensor(name) not in dtypes
            if is_lost:
                raise TypeError(
                    f"a folder cannot contain the attribute {name} of this "
                    f"{type(holder).__name__}: delete it or set it to a new model's value, or use "
                    "save(), which keeps all attributes"
                )
        if place:
            _check_keys(place, holder)
    for name, dtype in _values(model).items():
        if not dtype:
            raise TypeError(
                f"a folder cannot contain {name}: it must hold numbers. Delete it from "
                f"{name.rpartition('.')[0]}, or use save()"
            )


def _check_keys(place: str, vectors: KeyedVectors) -> None:
    keys = vectors.index_to_key
    # tags that are their own rows are not listed
    indices = {key: row for row, key in enumerate(keys) if place == "wv." or key != row}
    if vectors.key_to_index != indices:
        raise ValueError(
            f"a folder cannot contain {place}key_to_index, in which keys have other rows than in "
            f"{place}index_to_key: make them agree, or use save()"
        )
    for name, values in vectors.expandos.items():
        if len(values) != len(keys):
            raise ValueError(
                f"{place}expandos[{name!r}] has {len(values)} entries for {len(keys)} keys: call "
                f"{place}allocate_vecattrs()"
            )


def _dtypes(model: Any) -> dict[str, str]:
    """Return the types of a model's tensors, except the user's own values of keys."""
    prefixes = tuple(_holders(model))
    dtypes = {name: dtype for name, dtype in COUNTS.items() if name.startswith(prefixes[1:])}
    dtypes = {_tensor(name): dtype for name, dtype in dtypes.items()} | {"embeddings": "F32"}
    dtypes |= {f"{place}vectors_lockf": "F32" for place in prefixes[1:]} | {TREE: "U32"}
    if hasattr(model, "dv"):
        dtypes["dv.vectors"] = "F32"
    if getattr(model, "has_subwords", False):
        for name in "wv.vectors_vocab", "wv.vectors_ngrams":
            dtypes |= {name: "F32", f"{name}_lockf": "F32"}
    if isinstance(model, Word2Vec):
        dtypes |= {"syn1neg": "F32", "syn1": "F32", "cum_table": "U32"}
    return dtypes


def _tensor(name: str) -> str:
    """Return the name of the tensor of an attribute."""
    if name in COUNTS:
        return name.replace("expandos.", "")
    return "embeddings" if name == "wv.vectors" else name


def _place(model: Any, name: str) -> tuple[dict[str, Any], str]:
    """Return the dictionary of a tensor, and its key there."""
    holder, _, attribute = name.replace("embeddings", "wv.vectors").partition(".")
    if not attribute:
        return vars(model), name
    vectors = getattr(model, holder)
    is_value = attribute.startswith("expandos.") or f"{holder}.expandos.{attribute}" in COUNTS
    return (vectors.expandos if is_value else vars(vectors)), attribute.removeprefix("expandos.")


def _tensors(model: Any) -> Iterator[tuple[str, tuple[str, list[np.ndarray]]]]:
    """Yield the name, the type and the arrays of each tensor that a model has."""
    for name, dtype in (_dtypes(model) | _values(model)).items():
        attributes, key = _place(model, name)
        array = attributes.get(key)
        if name == TREE and "point" in model.wv.expandos:
            array = huffman.encode(huffman.Paths.of(model.wv))
        if array is None or name.endswith("_lockf") and np.array_equal(array, [1]):
            continue
        array = np.atleast_1d(array)
        if dtype[0] in "IU" and not np.array_equal(array, array.astype(DTYPES[dtype])):
            raise ValueError(f"a folder cannot contain {name}: it must hold whole numbers")
        unknown = [np.zeros_like(array, shape=(1, *array.shape[1:]))] * (name == "embeddings")
        yield name, (dtype, [*unknown, array])


def _card(saved: Any, results: Mapping[str, float]) -> str:
    """Return a model card: size, options, and results of an evaluation."""
    vectors = getattr(saved, "wv", saved)
    kind = type(saved).__name__
    lines = ["---", "library_name: gensim-tfw2v", "tags: [sentence-transformers, model2vec]", "---"]
    lines += [f"# {kind}: {len(vectors):,} words, {vectors.vector_size} dimensions", ""]
    tables: dict[str, Mapping[str, Any]] = {"evaluation": results}
    if vectors is not saved:
        lines += [f"`gensim_tfw2v.{kind}.from_pretrained` loads the model to train it further.", ""]
        tables["option"] = hyperparameters(saved, saved.corpus_total_words or 0)
        if saved.best_score is not None:
            tables["evaluation"] = {"early stopping": saved.best_score, **results}
    for name, table in tables.items():
        rows = [f"| {key} | {value} |" for key, value in table.items()]
        lines += [f"| {name} | value |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)
