"""Vectors for other libraries: a Keras model, a folder for sentence-transformers.

Row 0 is that of unknown words, and 0; those of the words follow.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

UNKNOWN = "[UNK]"


def save_keras(path: str, words: Sequence[str], table: np.ndarray) -> None:
    """Save a Keras model that looks up V words, and has their embeddings [1 + V, D]."""
    from gensim_tfw2v._tensorflow import tf

    layers = tf.keras.layers
    lookup = layers.StringLookup(vocabulary=list(words), oov_token=UNKNOWN)
    embedding = layers.Embedding(*table.shape, weights=[table])
    tf.keras.Sequential([tf.keras.Input((None,), dtype="string"), lookup, embedding]).save(path)


def save_sentence_transformers(path: str, words: Sequence[str], table: np.ndarray) -> None:
    """Save a folder of sentence-transformers with the embeddings [1 + V, D] of V words.

    The files are those of tokenizers and of safetensors, whose header is JSON after its length.
    """
    folder = Path(path) / "0_StaticEmbedding"
    folder.mkdir(parents=True)
    kind = "sentence_transformers.models.StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": folder.name, "type": kind}]
    vocabulary = {UNKNOWN: 0} | {word: row for row, word in enumerate(words, 1)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    tokenizer = {"added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
    (folder.parent / "modules.json").write_text(json.dumps(modules), "utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    tensor = {"dtype": "F32", "shape": table.shape, "data_offsets": [0, table.nbytes]}
    header = json.dumps({"embedding.weight": tensor}).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        table.astype("<f4").tofile(file)
