"""Words and vectors in folders of static embeddings that model2vec or sentence-transformers saved.

When one of these libraries saves a model of this package, it writes only the vectors and the
tokenizer.
"""

from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.files.foreign_paths import read_config
from gensim_tfw2v.files.mapped import take_rows
from gensim_tfw2v.files.safetensors import read_tensors
from gensim_tfw2v.keyed import keyed
from gensim_tfw2v.messages import strict_json
from gensim_tfw2v.training.folder_contents import TOKENIZER, read_words
from gensim_tfw2v.training.token_rows import UNKNOWN

#: Names of the tensor of vectors: model2vec's and sentence-transformers'.
TENSOR_NAMES = ("embeddings", "embedding.weight")

#: Dtypes that the tensor of vectors may have.
TENSOR_DTYPES = ("F32", "F16", "F64", "I8")

#: Folders in which the files may be, relative to the model's folder.
SUBFOLDERS = (".", "0_StaticEmbedding")


def read_embeddings(folder: Path, is_mapped: bool = False) -> KeyedVectors:
    """Return the words and vectors of a folder, without counts; no code in it is run.

    If `is_mapped`, vectors of float32 are mapped from the file, read-only, and vectors of a
    different type are converted to a temporary file.

    Raises
    ------
    ValueError
        If the files are missing or damaged, or tokens are not whole words.
    """
    subfolder = next(
        (folder / name for name in SUBFOLDERS if (folder / name / TOKENIZER).is_file()), None
    )
    if subfolder is None:
        raise ValueError(f"{TOKENIZER} is missing")
    rows = _read_rows(subfolder / "model.safetensors", is_mapped)
    model: Any = strict_json((subfolder / TOKENIZER).read_bytes()).get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict) or model.get("type") != "WordLevel":
        raise ValueError(f"the tokens in {TOKENIZER} are not whole words (WordLevel)")
    token_strings = sorted(vocabulary, key=vocabulary.__getitem__)
    ids = [vocabulary[token] for token in token_strings]
    if ids != list(range(len(rows))) or token_strings[0] != UNKNOWN:
        raise ValueError(
            f"{TOKENIZER} has {len(token_strings)} tokens, and the vectors {len(rows)} rows"
        )
    own_part = read_config(folder).get("gensim_tfw2v", {})
    words = read_words(token_strings, own_part.get("integer_words", ()))
    rows = rows[1:]
    return keyed(words, rows if rows.dtype == np.float32 else take_rows(rows, dtype=np.float32))


def _read_rows(path: Path, is_mapped: bool) -> np.ndarray:
    """Return the vectors [V + 1, D]. Row 0 is the vector of unknown words."""
    if not path.is_file():
        raise ValueError(f"{path.name} is missing")
    errors = []
    for name in TENSOR_NAMES:
        for dtype in TENSOR_DTYPES:
            try:
                rows = read_tensors(path, {name: dtype}, is_mapped=is_mapped)[name]
            except (LookupError, TypeError, ValueError) as error:
                errors.append(error)
                continue
            if rows.ndim == 2 and len(rows) > 1 and rows.shape[1]:
                return rows
    raise ValueError(f"{path.name} has no vectors in a known form ({errors[0]})")
