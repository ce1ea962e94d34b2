"""JSON documents of a pretrained folder, and checks that a model has nothing else to save."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.keys.compact import key_blocks, keys_of
from gensim_tfw2v.keys.integer_keys import IntegerKeys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.contents import COUNTERS, KEPT, REFUSED, names
from gensim_tfw2v.training.documents import INTEGERS
from gensim_tfw2v.training.folder_tensors import (
    LISTED_ATTRIBUTES,
    list_dtypes,
    list_holders,
    list_value_dtypes,
    tensor_name,
)
from gensim_tfw2v.training.token_rows import UNKNOWN, TokenRows, describe_tokenizer
from gensim_tfw2v.typed_words import is_integer, typed_form
from gensim_tfw2v.weight_tables import ATTRIBUTES

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TAGS = "tags.json"

#: Parameters of constructors that folders omit, because models keep no attribute of their own for
#: them: the corpus, functions, initial vectors, and `dm_mean`, which sets `cbow_mean`.
ARGUMENTS = {
    *("sentences", "documents", "corpus_file", "trim_rule", "callbacks"),
    *("dv", "dv_mapfile", "dm_mean"),
}

#: Attributes that folders contain unchanged.
KEPT_ATTRIBUTES = set(names("folder", KEPT))


def _finite(value: Any) -> float:
    """Return a number as a float; raise a ValueError if it is NaN or infinite."""
    if not math.isfinite(finite_value := float(value)):
        raise ValueError(f"it contains {value}")
    return finite_value


def _all_finite(values: Any) -> list[float]:
    return [_finite(value) for value in values]


#: Further attributes, with functions that convert their values for JSON. An attribute is saved only
#: if it differs from a new model's, and if the class has no parameter for it.
STATE: Mapping[str, Callable[[Any], Any]] = {
    "mean_losses": _all_finite,
    "history": _all_finite,
    "best_epoch": int,
    "best_score": _finite,
    "kernel": str,
    "learn_hidden": bool,
    "negative_shards": int,
    "comment": str,
}


def describe(model: Any) -> dict[str, Any]:
    """Return the contents of the JSON files that describe a model.

    Raises
    ------
    TypeError, ValueError
        If the words, the tags or an option cannot be stored in these files.
    """
    vocabulary = _number_tokens(model.wv.index_to_key)
    own_part: dict[str, Any] = {"format": 1, "class": "KeyedVectors"}
    if ranges := _integer_rows(model.wv.index_to_key):
        own_part["integer_words"] = ranges
    if isinstance(model, Word2Vec):
        own_part |= {"class": model._gensim_class.__name__, "options": _options(model)}
        own_part["state"] = _state(model)
    if values := list_value_dtypes(model):
        own_part["values"] = values
    documents: dict[str, Any] = {
        CONFIG: {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": model.wv.vector_size,
            "max_length": None,
            "normalize": False,
            "gensim_tfw2v": own_part,
        },
        TOKENIZER: describe_tokenizer(vocabulary),
    }
    if hasattr(model, "dv"):
        documents[TAGS] = {"tags": list(model.dv.index_to_key)}
        for tag in model.dv.index_to_key:
            if not isinstance(tag, (str, *INTEGERS)):
                raise TypeError(f"the tag {quoted(tag)} is neither a string nor a whole number")
    return documents


def _number_tokens(words: Sequence[Any]) -> Mapping[str, int]:
    """Return the rows of all tokens: row 0 is that of unknown words, row i + 1 that of word i."""
    if not words:
        raise ValueError("there are no words: a folder needs at least one")
    keys = keys_of(words)
    if keys is not None and keys.find(UNKNOWN) < 0:
        for block in key_blocks(words):
            _check_encodable(map(str, block))
        return TokenRows(keys)
    vocabulary = {UNKNOWN: 0}
    for row, word in enumerate(words, 1):
        if (token := typed_form(word)) is None:
            raise TypeError(
                f"the word {quoted(word)} is of type {type(word).__name__}: a folder contains only "
                "strings and integers. Use save(), which keeps all words"
            )
        if (first_row := vocabulary.setdefault(token, row)) != row:
            same_token = quoted(words[first_row - 1]) if first_row else "the token of unknown words"
            raise ValueError(
                f"the word {quoted(word)} has the same text as {same_token}, and a folder "
                "contains the text of words: rename one of them, or use save()"
            )
    _check_encodable(vocabulary)
    return vocabulary


def _check_encodable(tokens: Iterable[str]) -> None:
    """Raise a ValueError if UTF-8 cannot encode one of the tokens."""
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError as error:
        character = quoted(error.object[error.start])
        raise ValueError(f"a word contains {character}, which UTF-8 cannot encode") from error


def _integer_rows(words: Sequence[Any]) -> list[list[int]]:
    """Return the half-open ranges of the rows whose words are integers."""
    if (keys := keys_of(words)) is not None:
        return [[0, len(words)]] if isinstance(keys, IntegerKeys) else []
    ranges: list[list[int]] = []
    row = 0
    for are_integers, group in itertools.groupby(words, is_integer):
        start = row
        row += sum(1 for _ in group)
        if are_integers:
            ranges.append([start, row])
    return ranges


def read_words(vocabulary: Iterable[str], integer_rows: Iterable[Any]) -> list[Any]:
    """Return the words of a folder from its tokens and the ranges of rows with integer words."""
    words: list[Any] = list(vocabulary)[1:]
    for start, stop in integer_rows:
        words[start:stop] = map(int, words[start:stop])
    return words


def list_options(class_: type) -> dict[str, Any]:
    """Return the parameters of a class that are saved, with their defaults."""
    parameters = inspect.signature(class_).parameters.items()
    unsaved_names = ARGUMENTS | LISTED_ATTRIBUTES - KEPT_ATTRIBUTES
    return {name: parameter.default for name, parameter in parameters if name not in unsaved_names}


def _options(model: Any) -> dict[str, Any]:
    """Return a model's options, which are attributes of it or of its vectors."""
    options: dict[str, Any] = {}
    for name, default in list_options(type(model)).items():
        attribute = getattr(model, name, getattr(model.wv, name, default))
        value = options[name] = np.asarray(attribute).tolist()
        if isinstance(value, str) and name != "comment" or isinstance(value, dict):
            raise TypeError(f"{name} is {quoted(value)}, which is not a number")
    return options


def _state(model: Any) -> dict[str, Any]:
    """Return a model's counters, and the attributes in `STATE` that differ from a new model's."""
    state = {name: getattr(model, name, None) or 0 for name in COUNTERS}
    options = list_options(type(model))
    for name, convert in STATE.items():
        if name in options:
            continue
        default = getattr(type(model), name, None)
        attribute = getattr(model, name, default)
        try:
            value = None if attribute is None else convert(attribute)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"a folder cannot contain {name} ({error}): delete it or set it to {default!r}"
            ) from error
        if value != (list(default) if isinstance(default, tuple) else default):
            state[name] = value
    return state


def check_contents(model: Any) -> None:
    """Raise a TypeError or ValueError if a model has something that a folder cannot contain.

    Saving would lose it: an attribute that the user has added, a function, or an array or a value
    of a type that folders do not support.
    """
    dtypes = list_dtypes(model)
    for prefix, holder in list_holders(model).items():
        for attribute, value in vars(holder).items():
            name = prefix + attribute
            is_lost = name not in LISTED_ATTRIBUTES and attribute not in ("wv", "dv", "expandos")
            # hash is the default of hashfxn
            is_lost |= name in names("folder", REFUSED) and bool(value) and value is not hash
            is_weights = attribute in ATTRIBUTES and value is not None
            is_lost |= is_weights and tensor_name(name) not in dtypes
            if is_lost:
                raise TypeError(
                    f"a folder cannot contain the attribute {name} of this "
                    f"{type(holder).__name__}: delete it or set it to a new model's value, or use "
                    "save(), which keeps all attributes"
                )
        if prefix:
            _check_keys(prefix, holder)
    for name, dtype in list_value_dtypes(model).items():
        if not dtype:
            raise TypeError(
                f"a folder cannot contain {name}: it must hold numbers. Delete it from "
                f"{name.rpartition('.')[0]}, or use save()"
            )


def _index_keys(keys: Sequence[Any], are_words: bool) -> dict[Any, int]:
    """Return the expected ``key_to_index``, which omits tags that are their own rows."""
    return {key: row for row, key in enumerate(keys) if are_words or key != row}


def _check_keys(prefix: str, vectors: KeyedVectors) -> None:
    keys = vectors.index_to_key
    if (
        keys_of(keys) is None or keys_of(keys) is not keys_of(vectors.key_to_index)
    ) and vectors.key_to_index != _index_keys(keys, prefix == "wv."):
        raise ValueError(
            f"a folder cannot contain {prefix}key_to_index, in which keys have other rows than in "
            f"{prefix}index_to_key: make them agree, or use save()"
        )
    for name, values in vectors.expandos.items():
        if len(values) != len(keys):
            raise ValueError(
                f"{prefix}expandos[{name!r}] has {len(values)} entries for {len(keys)} keys: call "
                f"{prefix}allocate_vecattrs()"
            )
