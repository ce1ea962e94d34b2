"""Keras models of word vectors (``.keras``): written by Keras, and read without running any code.

Such a model has two layers: a lookup, which maps V words to row numbers from 1, and an Embedding of
V + 1 rows. Row 0 is a zero vector, for unknown words.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.messages import require, strict_json

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

#: Entry of a lookup of strings that stands for unknown words.
UNKNOWN = "[UNK]"

# Members of a .keras file, which is a ZIP archive.
CONFIG = "config.json"
WEIGHTS = "model.weights.h5"

#: Keras classes of lookups, with the Python type of their words.
LOOKUP_TYPES = {"StringLookup": str, "IntegerLookup": int}

#: Settings of the lookup that `save_keras` writes. With others, words would have different rows.
LOOKUP_SETTINGS = {"num_oov_indices": 1, "mask_token": None, "output_mode": "int", "invert": False}


def save_keras(vectors: KeyedVectors, path: str) -> None:
    """Save a Keras model: a StringLookup or IntegerLookup of V words, then their Embedding."""
    import numpy as np

    require("a .keras file", "tensorflow")
    from gensim_tfw2v._tensorflow import tf

    table = np.insert(vectors.vectors, 0, 0, axis=0).astype(np.float32)
    layers = tf.keras.layers
    words = list(vectors.index_to_key)
    if isinstance(words[0], str):
        dtype = "string"
        lookup = layers.StringLookup(vocabulary=words, oov_token=UNKNOWN)
    else:
        dtype = "int64"
        integers = set(words)
        unknown = next(integer for integer in itertools.count(-1, -1) if integer not in integers)
        lookup = layers.IntegerLookup(vocabulary=np.array(words, np.int64), oov_token=unknown)
    embedding = layers.Embedding(*table.shape, weights=[table])
    tf.keras.Sequential([tf.keras.Input((None,), dtype=dtype), lookup, embedding]).save(path)


def is_keras(path: Path) -> bool:
    """Return whether a ZIP archive has the parts of a Keras model."""
    with zipfile.ZipFile(path) as archive:
        return {CONFIG, WEIGHTS} <= {*archive.namelist()}


def load_keras(path: Path) -> KeyedVectors:
    """Read the words and vectors of a Keras model that `save_keras` has written.

    Raises
    ------
    BadInput
        If the file contains a different model, or is damaged.
    """
    import numpy as np

    require("reading a .keras file", "h5py")
    import h5py

    from gensim_tfw2v.keyed import keyed

    try:
        with zipfile.ZipFile(path) as archive:
            config = strict_json(archive.read(CONFIG))
            weights = archive.read(WEIGHTS)
        words = _read_words(config)
        tables: list[Any] = []
        with h5py.File(io.BytesIO(weights)) as file:
            # visititems() does not follow links, so an archive cannot make us read another file
            file.visititems(lambda _, item: _add_table(tables, item))
        [rows] = tables
        if rows.shape[0] != len(words) + 1 or rows.dtype.kind != "f" or rows[0].any():
            raise ValueError(f"{len(words)} words and an embedding of {rows.shape[0]} rows")
    except (AttributeError, LookupError, TypeError, ValueError, OSError, RuntimeError) as error:
        raise BadInput(
            f"{path}: is not a Keras model of `tfw2v convert`, or damaged ({one_line(error)}); "
            "export words and vectors with the program that wrote it"
        ) from error
    return keyed(words, np.ascontiguousarray(rows[1:], np.float32))


def _read_words(config: Any) -> list[Any]:
    """Return the words of a model's lookup.

    ValueError is raised if the layers, or the lookup's settings, are not those that `save_keras`
    writes.
    """
    layers = [layer["class_name"] for layer in config["config"]["layers"]]
    if layers[0::2] != ["InputLayer", "Embedding"] or layers[1] not in LOOKUP_TYPES:
        raise ValueError(f"its layers are {', '.join(map(str, layers))}")
    settings = config["config"]["layers"][1]["config"]
    if any(settings[name] != value for name, value in LOOKUP_SETTINGS.items()):
        raise ValueError(f"{layers[1]} has other settings than {LOOKUP_SETTINGS}")
    words = settings["vocabulary"]
    if not isinstance(words, list) or {*map(type, words)} != {LOOKUP_TYPES[layers[1]]}:
        raise ValueError(f"{layers[1]} has no list of its words")
    return words


def _add_table(tables: list[Any], item: Any) -> None:
    """Append an HDF5 item to `tables`, as an array, if it is a dataset."""
    import h5py

    if isinstance(item, h5py.Dataset):
        if item.external or item.is_virtual:
            raise ValueError("its weights are in a different file")
        tables.append(item[()])
