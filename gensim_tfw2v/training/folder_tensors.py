"""Tensors of a pretrained folder: arrays of a model, under the names of its attributes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gensim_tfw2v.files.safetensors import DTYPES
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.options.contents import PARTS
from gensim_tfw2v.training import huffman
from gensim_tfw2v.weight_tables import INPUT_LAYER, OUTPUT_LAYER, VECTORS

#: Attributes of models that `PARTS` lists. Models may have further ones, which users have added.
LISTED_ATTRIBUTES = {name for part in PARTS for name in part.names}

#: Dtypes of gensim's own attributes of keys: of words, and in Doc2Vec of tags.
KEY_DTYPES = {
    "wv.expandos.count": "I64",
    "wv.expandos.sample_int": "U32",
    "dv.expandos.word_count": "I64",
    "dv.expandos.doc_count": "I64",
}

#: Tensor of the Huffman tree, with the two children of each node: see `huffman.encode`.
TREE = "wv.tree"

#: Name that model2vec and sentence-transformers use for the tensor of `VECTORS`.
EMBEDDINGS = "embeddings"


def list_holders(model: Any) -> dict[str, Any]:
    """Return a dictionary from "" to a model, and from "wv." and "dv." to its vectors."""
    holders = {"": model, "wv.": model.wv}
    return holders | {"dv.": model.dv} if hasattr(model, "dv") else holders


def list_value_dtypes(model: Any) -> dict[str, str]:
    """Return the dtypes of attributes of keys that users have added by ``set_vecattr``.

    The dtype is "" if a folder cannot contain it.
    """
    dtype_names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    return {
        f"{prefix}expandos.{name}": dtype_names.get(np.asarray(values).dtype.newbyteorder("<"), "")
        for prefix, holder in list_holders(model).items()
        if prefix
        for name, values in holder.expandos.items()
        if f"{prefix}expandos.{name}" not in LISTED_ATTRIBUTES
    }


def list_dtypes(model: Any) -> dict[str, str]:
    """Return the dtypes of a model's tensors, except those of `list_value_dtypes`."""
    prefixes = tuple(list_holders(model))
    dtypes = {name: dtype for name, dtype in KEY_DTYPES.items() if name.startswith(prefixes[1:])}
    dtypes = {tensor_name(name): dtype for name, dtype in dtypes.items()}
    dtypes[EMBEDDINGS] = "F32"
    dtypes |= {f"{prefix}vectors_lockf": "F32" for prefix in prefixes[1:]}
    dtypes[TREE] = "U32"
    if isinstance(model, Word2Vec):
        for array in INPUT_LAYER:
            if model._gensim_class.__name__ in array.class_names:
                dtypes |= {tensor_name(array.name): "F32", f"{array.name}_lockf": "F32"}
        dtypes |= {array.name: "F32" for array in OUTPUT_LAYER} | {"cum_table": "U32"}
    return dtypes


def tensor_name(name: str) -> str:
    """Return the name of the tensor of an attribute."""
    if name in KEY_DTYPES:
        return name.replace("expandos.", "")
    return EMBEDDINGS if name == VECTORS.name else name


def locate(model: Any, name: str) -> tuple[dict[str, Any], str]:
    """Return the dictionary that contains a tensor's array, and the array's key in it."""
    holder, _, attribute = name.replace(EMBEDDINGS, VECTORS.name).partition(".")
    if not attribute:
        return vars(model), name
    vectors = getattr(model, holder)
    is_value = attribute.startswith("expandos.") or f"{holder}.expandos.{attribute}" in KEY_DTYPES
    return (vectors.expandos if is_value else vars(vectors)), attribute.removeprefix("expandos.")


def list_tensors(model: Any) -> Iterator[tuple[str, tuple[str, list[np.ndarray]]]]:
    """Yield, for each tensor of a model, its name, its dtype, and arrays to concatenate."""
    for name, dtype in (list_dtypes(model) | list_value_dtypes(model)).items():
        attributes, key = locate(model, name)
        array = attributes.get(key)
        if name == TREE and "point" in model.wv.expandos:
            array = huffman.encode(huffman.Paths.of(model.wv))
        if array is None or name.endswith("_lockf") and np.array_equal(array, [1]):
            continue
        array = np.atleast_1d(array)
        if dtype[0] in "IU" and not np.array_equal(array, array.astype(DTYPES[dtype])):
            raise ValueError(f"a folder cannot contain {name}: it must hold whole numbers")
        arrays = [array]
        if name == EMBEDDINGS:
            row_of_unknown_words = np.zeros_like(array, shape=(1, *array.shape[1:]))
            arrays.insert(0, row_of_unknown_words)
        yield name, (dtype, arrays)
