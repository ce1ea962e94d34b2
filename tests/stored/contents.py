"""Contents of a loaded model or of loaded vectors, as values that JSON can encode."""

import hashlib
from operator import attrgetter
from types import SimpleNamespace

import numpy as np

#: Arrays of a model, by the paths of their attributes.
ARRAYS = (
    *("wv.vectors", "wv.vectors_vocab", "wv.vectors_ngrams", "dv.vectors"),
    *("syn1neg", "syn1"),
)

#: Options and counters that a saved model keeps.
OPTIONS = (
    *("vector_size", "window", "min_count", "epochs", "alpha", "min_alpha", "seed"),
    *("sg", "hs", "negative", "ns_exponent", "sample", "cbow_mean", "corrected_cbow"),
    *("dm_concat", "dbow_words", "dm_tag_count", "word_ngrams"),
    *("corpus_count", "corpus_total_words", "train_count"),
)


def describe_contents(saved):
    """Return the words, options, checksums of arrays and nearest neighbours of what was loaded."""
    model = saved if hasattr(saved, "wv") else SimpleNamespace(wv=saved)
    contents = {
        "class": type(saved).__name__,
        "words": list(model.wv.index_to_key),
        "options": {name: getattr(model, name) for name in OPTIONS if hasattr(model, name)},
        "arrays": {},
        "neighbours": find_neighbours(model.wv),
    }
    for path in ARRAYS:
        array = read_attribute(model, path)
        if isinstance(array, np.ndarray):
            contents["arrays"][path] = checksum(array)
    if "count" in model.wv.expandos:
        contents["counts"] = [int(count) for count in model.wv.expandos["count"]]
    if hasattr(model, "dv"):
        contents["tags"] = list(model.dv.index_to_key)
        contents["neighbours"] |= find_neighbours(model.dv)
    return contents


def read_attribute(model, path):
    try:
        return attrgetter(path)(model)
    except AttributeError:
        return None


def checksum(array):
    """Return the type, the shape and a checksum of the bits of an array."""
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype} {'x'.join(map(str, array.shape))} {digest[:32]}"


def find_neighbours(vectors, **options):
    """Return the three nearest neighbours, with their cosines, of the first and the last key."""
    keys = vectors.index_to_key
    return {
        str(key): [
            [neighbour, float(cosine)]
            for neighbour, cosine in vectors.most_similar(key, topn=3, **options)
        ]
        for key in (keys[0], keys[-1])
    }
