"""Folders of models, as on the Hugging Face Hub: written without pickle, and read strictly.

A folder is valid if `save_pretrained` would write the same for the loaded model. It is also one
that sentence-transformers and model2vec load, as embeddings of words; row 0, for unknown words, is
zero.
"""

import inspect
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.files.safetensors import read_tensors, write_tensors
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.kernel.tables import all_finite
from gensim_tfw2v.messages import quoted, require, strict_json
from gensim_tfw2v.options.hyperparameters import hyperparameters
from gensim_tfw2v.options.table import named
from gensim_tfw2v.training.documents import INTEGERS
from gensim_tfw2v.training.model_checks import check_state

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

#: Parameters that are not saved: the corpus, functions, arrays, and how to train.
LEFT_OUT = {
    *("sentences", "documents", "corpus_file", "trim_rule", "callbacks", "hashfxn"),
    *("dv", "dv_mapfile", "dm_mean", *named("running")),
}

#: Further attributes that are saved, all of them numbers.
STATE = (
    *("corpus_count", "corpus_total_words", "effective_min_count", "train_count"),
    *("total_train_time", "min_alpha_yet_reached", "running_training_loss"),
)


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
        if model.hs and not np.all(model.wv.expandos["count"]):
            raise ValueError("words that were added without counts cannot be saved with hs=1")
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=methodcaller("tolist"))
    documents = {**_documents(model), "modules.json": MODULES}
    texts = {name: encoder.encode(document).encode() for name, document in documents.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / CARD).exists():  # it may have been edited
        texts[CARD] = _card(saved, results or {}).encode()

    def write(to: Any) -> None:
        for name, text in texts.items():
            Path(to).with_name(name).write_bytes(text)
        write_tensors(Path(to).with_name(TENSORS), dict(_tensors(model)))

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
        for name in STATE:
            setattr(model, name, +own["state"][name])  # + raises unless it is a number
    words = [*found[TOKENIZER]["model"]["vocab"]][1:]
    model.wv.index_to_key = words
    model.wv.key_to_index = {word: row for row, word in enumerate(words)}
    if hasattr(model, "dv"):
        found[TAGS] = _read(folder, TAGS)
        tags = model.dv.index_to_key = found[TAGS]["tags"]
        model.dv.key_to_index = {tag: row for row, tag in enumerate(tags) if tag != row}
    tensors = read_tensors(_file(folder, TENSORS), dtypes := _dtypes(model))
    for name in dtypes:
        holder, attribute = _place(model, name)
        if name in tensors and tensors[name].dtype.kind in "iu":
            holder.expandos[attribute] = tensors[name]
        elif name in tensors or name.endswith("_lockf"):
            setattr(holder, attribute, tensors.get(name, np.ones(1, np.float32)))
    model.wv.vectors = model.wv.vectors[1:]  # not that of unknown words
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
        if model.hs:
            model.create_binary_tree()
        if model.negative:
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
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        character = quoted(error.object[error.start])
        raise ValueError(f"a word contains {character}, which UTF-8 cannot encode") from error
    own: dict[str, Any] = {"format": 1, "class": "KeyedVectors"}
    if isinstance(model, Word2Vec):
        state = {name: getattr(model, name, None) or 0 for name in STATE}
        own |= {"class": model._of_gensim.__name__, "options": _options(model), "state": state}
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
    return {name: one.default for name, one in parameters if name not in LEFT_OUT}


def _options(model: Any) -> dict[str, Any]:
    """Return a model's options, which are attributes of it or of its vectors."""
    options: dict[str, Any] = {}
    for name, default in _options_of(type(model)).items():
        held = getattr(model, name, getattr(model.wv, name, default))
        value = options[name] = np.asarray(held).tolist()
        if isinstance(value, str) and name != "comment" or isinstance(value, dict):
            raise TypeError(f"{name} is {quoted(value)}, which is not a number")
    return options


def _dtypes(model: Any) -> dict[str, str]:
    """Return the types of a model's tensors; integers belong to keys, the others are attributes."""
    dtypes = {"wv.count": "I64"}
    if hasattr(model, "dv"):
        dtypes |= {"dv.word_count": "I64", "dv.doc_count": "I64", "dv.vectors": "F32"}
        dtypes |= {"dv.vectors_lockf": "F32"}
    dtypes |= {"embeddings": "F32", "wv.sample_int": "U32", "wv.vectors_lockf": "F32"}
    if getattr(model, "has_subwords", False):
        for name in "wv.vectors_vocab", "wv.vectors_ngrams":
            dtypes |= {name: "F32", f"{name}_lockf": "F32"}
    if isinstance(model, Word2Vec):
        outputs = ["syn1neg"] * bool(model.negative) + ["syn1"] * bool(model.hs)
        dtypes |= dict.fromkeys(outputs, "F32")
    return dtypes


def _place(model: Any, name: str) -> tuple[Any, str]:
    """Return the object and the attribute of a tensor."""
    holder, _, attribute = name.replace("embeddings", "wv.vectors").rpartition(".")
    return getattr(model, holder) if holder else model, attribute


def _tensors(model: Any) -> Iterator[tuple[str, tuple[str, list[np.ndarray]]]]:
    """Yield the name, the type and the arrays of each tensor that a model has."""
    for name, dtype in _dtypes(model).items():
        holder, attribute = _place(model, name)
        held = vars(holder) if dtype == "F32" else holder.expandos
        array = held.get(attribute)
        if array is None or attribute.endswith("_lockf") and np.all(array == 1):
            continue
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
