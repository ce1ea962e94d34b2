"""Vectors for other libraries: a Keras model, a folder for sentence-transformers.

Row 0 is that of unknown words, and 0; those of the words follow.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

UNKNOWN = "[UNK]"


def save_keras(path: str, words: Sequence[str], rows: np.ndarray) -> None:
    """Save a Keras model that looks up words, and has the embeddings [V, D] of them."""
    from gensim_tfw2v._tensorflow import tf

    layers, table = tf.keras.layers, _with_unknown(rows)
    embedding = layers.Embedding(*table.shape, weights=[table])
    lookup = layers.StringLookup(vocabulary=list(words), oov_token=UNKNOWN)
    tf.keras.Sequential([tf.keras.Input((None,), dtype="string"), lookup, embedding]).save(path)


def save_sentence_transformers(path: str, words: Sequence[str], rows: np.ndarray) -> None:
    """Save a folder of sentence-transformers with a StaticEmbedding [V, D], made from V words.

    The files are those of tokenizers and of safetensors, whose header is JSON after its length.
    """
    name, folder = "0_StaticEmbedding", Path(path)
    table = _with_unknown(rows).astype("<f4")
    vocabulary = {UNKNOWN: 0} | {word: row for row, word in enumerate(words, 1)}
    kind = "sentence_transformers.models.StaticEmbedding"
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    tokenizer = {"version": "1.0", "added_tokens": [], "model": model}
    tokenizer["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    tensor = {"dtype": "F32", "shape": table.shape, "data_offsets": [0, table.nbytes]}
    header = json.dumps({"embedding.weight": tensor}).encode()
    (folder / name).mkdir(parents=True)
    modules = [{"idx": 0, "name": "0", "path": name, "type": kind}]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    (folder / name / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    with open(folder / name / "model.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        table.tofile(file)


def _with_unknown(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows], dtype=np.float32)
