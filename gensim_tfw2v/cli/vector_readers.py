"""Functions that read models or vectors from a path, one for each format in `formats`.

Each function's arguments are the path, the encoding of words, and whether to map arrays instead of
reading them: from the file, or from a temporary one if the format does not allow that.
"""

from __future__ import annotations

import pickle
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.cli.keras_files import is_keras, load_keras
from gensim_tfw2v.cli.unsupported_files import describe
from gensim_tfw2v.cli.vector_writers import INTEGER_ROWS
from gensim_tfw2v.files.file_set import FileSetError
from gensim_tfw2v.files.foreign_paths import is_resaved
from gensim_tfw2v.messages import open_decompressed

if TYPE_CHECKING:
    from gensim.models import FastText, KeyedVectors, Word2Vec

#: First bytes of fastText's .bin. Files of its first version begin with the options instead.
FASTTEXT = b"\xba\x16O/"

#: Number of bytes before the vocabulary in fastText's .bin.
FASTTEXT_HEADER = 64


def read_gensim(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    """Read a file that gensim has saved, which is a pickle."""
    from gensim.models import KeyedVectors
    from gensim.utils import SaveLoad

    from gensim_tfw2v.files.set_marks import load_marked
    from gensim_tfw2v.training.model_checks import check_loaded

    is_mappable = path.suffix not in (".gz", ".bz2")
    mmap = "r" if mapped and is_mappable else None
    try:
        saved = load_marked(str(path), partial(SaveLoad.load, str(path), mmap=mmap))
        vectors = getattr(saved, "wv", saved)
        if not isinstance(vectors, KeyedVectors):
            raise BadInput(f"{path}: holds a {type(saved).__name__}, not word vectors")
        check_loaded(saved)
    except FileSetError as error:
        raise BadInput(str(error)) from error
    except FileNotFoundError as error:
        raise BadInput(
            f"{error.filename}: missing; large arrays of {path} are in separate files next to it, "
            "copy all of them"
        ) from error
    except (AttributeError, pickle.UnpicklingError, EOFError, ImportError, TypeError) as error:
        with open_decompressed(path) as file:
            is_old = re.search(rb"index2word|DocvecsArray|models.wrappers", file.read(1 << 28))
        description = describe(path)
        if is_old:
            description = (
                "was saved by gensim 3 or older; load it with gensim 3.8.3 and save it again"
            )
        elif not description and isinstance(error, ImportError):
            raise
        description = description or "not a gensim model or vectors, or damaged"
        raise BadInput(f"{path}: {description} ({one_line(error)})") from error
    shape = (len(vectors), vectors.vector_size)
    if vectors.vectors.shape != shape:
        raise ValueError(f"its vectors have shape {vectors.vectors.shape}, expected {shape}")
    return saved


def read_word2vec(path: Path, encoding: str, mapped: bool) -> KeyedVectors:
    """Read word2vec's text or binary format."""
    from gensim_tfw2v import word2vec_reader

    try:
        return word2vec_reader.read_word2vec(path, encoding, mapped)
    except ValueError as error:
        unknown = "not vectors in a known format; give a file saved by gensim, word2vec or fastText"
        raise BadInput(f"{path}: {str(error) or describe(path) or unknown}") from error


def read_numpy(path: Path, encoding: str, mapped: bool) -> KeyedVectors:
    """Read a ZIP archive: the .npz of ``tfw2v convert --to numpy``, or a .keras file."""
    import numpy as np

    from gensim_tfw2v.files.archived_arrays import read_archived
    from gensim_tfw2v.files.mapped import take_rows
    from gensim_tfw2v.keyed import keyed

    if is_keras(path):
        return load_keras(path)
    with np.load(path) as arrays:
        if not {"words", "vectors"} <= set(arrays):
            raise BadInput(f"{path}: is a ZIP archive, but not an .npz with words and vectors")
        words, rows = (
            read_archived(path, name) if mapped else arrays[name] for name in ("words", "vectors")
        )
        integer_rows = arrays[INTEGER_ROWS].tolist() if INTEGER_ROWS in arrays else []
    is_typed = words.dtype.kind in "Uiu" and rows.dtype.kind in "fiu"
    if not is_typed or rows.ndim != 2 or words.shape != rows.shape[:1]:
        raise BadInput(
            f"{path}: has words {words.shape} of {words.dtype} and vectors {rows.shape} of "
            f"{rows.dtype}, expected [V] of str and [V, D] of float"
        )
    keys = words.tolist()
    for row in integer_rows:
        keys[row] = int(keys[row])
    if rows.dtype != np.float32 or not rows.flags.c_contiguous:
        rows = take_rows(rows, dtype=np.float32)
    return keyed(keys, rows)


def read_fasttext(path: Path, encoding: str, mapped: bool) -> FastText:
    """Read fastText's .bin, after a check that its list of words is not truncated.

    gensim's reader would not terminate for a truncated list.
    """
    from gensim.models import _fasttext_bin
    from gensim.models.fasttext import load_facebook_model

    with open_decompressed(path) as file:

        def read_exactly(size: int) -> bytes:
            content = file.read(size)
            if len(content) < size:
                raise EOFError("the file is truncated")
            return content

        is_new = read_exactly(len(FASTTEXT)) == FASTTEXT
        # A file of version 1 lacks the mark and the version number, 4 bytes each, and the 4 bytes
        # just read are options. So 12 bytes of the header are not left to read.
        read_exactly(FASTTEXT_HEADER - (len(FASTTEXT) if is_new else 12))
        checked_file = SimpleNamespace(read=read_exactly, name=path)
        try:
            _fasttext_bin._load_vocab(checked_file, new_format=is_new, encoding="latin-1")
        except NotImplementedError as error:
            raise BadInput(
                f"{path}: is a supervised fastText model, which gensim cannot read: use the .vec "
                "file that fastText writes next to it"
            ) from error
    return load_facebook_model(str(path), encoding)


def read_folder(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    """Read a folder that ``tfw2v convert --to pretrained``, or a different library, has written."""
    from gensim.models import KeyedVectors

    from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
    from gensim_tfw2v.training.pretrained import load_pretrained
    from gensim_tfw2v.training.static_embeddings import read_embeddings

    if is_resaved(path):
        try:
            return read_embeddings(path, mapped)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadInput(
                f"{path}: was saved by a different library, and its words and vectors cannot be "
                f"read: {one_line(error)}"
            ) from error
    classes = {"Word2Vec": TFWord2Vec, "FastText": TFFastText, "Doc2Vec": TFDoc2Vec}
    try:
        return load_pretrained(path, classes | {"KeyedVectors": KeyedVectors}, mapped)
    except ValueError as error:
        raise BadInput(str(error)) from error
