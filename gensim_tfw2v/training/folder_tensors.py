"""Tensors of a pretrained folder: arrays of a model, under the names of its attributes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gensim_tfw2v.files.safetensors import DTYPES
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.options.contents import PARTS
from gensim_tfw2v.training import huffman
from gensim_tfw2v.weight_tables import INPUT_LAYER, OUTPUT_LAYER, VECTORS

#: Attributes that folders contain or refuse; users may add others.
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

#: Tensor of `VECTORS`, as model2vec and sentence-transformers call it.
EMBEDDINGS = "embeddings"


def list_holders(model: Any) -> dict[str, Any]:
    """Return a model and its vectors, by the prefixes of their attributes."""
    holders = {"": model, "wv.": model.wv}
    return holders | {"dv.": model.dv} if hasattr(model, "dv") else holders


def list_value_dtypes(model: Any) -> dict[str, str]:
    """Return the types of the user's own values of keys (gensim's ``set_vecattr``)."""
    names_of_types = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    return {
        f"{prefix}expandos.{name}": names_of_types.get(
            np.asarray(values).dtype.newbyteorder("<"), ""
        )
        for prefix, holder in list_holders(model).items()
        if prefix
        for name, values in holder.expandos.items()
        if f"{prefix}expandos.{name}" not in LISTED
    }


def list_dtypes(model: Any) -> dict[str, str]:
    """Return the types of a model's tensors, except the user's own values of keys."""
    prefixes = tuple(list_holders(model))
    dtypes = {name: dtype for name, dtype in COUNTS.items() if name.startswith(prefixes[1:])}
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
    if name in COUNTS:
        return name.replace("expandos.", "")
    return EMBEDDINGS if name == VECTORS.name else name


def locate(model: Any, name: str) -> tuple[dict[str, Any], str]:
    """Return the dictionary of a tensor, and its key there."""
    holder, _, attribute = name.replace(EMBEDDINGS, VECTORS.name).partition(".")
    if not attribute:
        return vars(model), name
    vectors = getattr(model, holder)
    is_value = attribute.startswith("expandos.") or f"{holder}.expandos.{attribute}" in COUNTS
    return (vectors.expandos if is_value else vars(vectors)), attribute.removeprefix("expandos.")


def list_tensors(model: Any) -> Iterator[tuple[str, tuple[str, list[np.ndarray]]]]:
    """Yield the name, the type and the arrays of each tensor that a model has."""
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
