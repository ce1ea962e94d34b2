"""Functions that write models or vectors to a path or an open file, one for each of `formats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from gensim_tfw2v.files.atomic import HiddenPath

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

#: Name of an array in .npz files: the rows whose words are integers, if only some words are.
INTEGER_ROWS = "integers"


def path_or_descriptor(file: str | BinaryIO) -> Any:
    """Return a path unchanged, and the descriptor of an open file: gensim can open either."""
    return file if isinstance(file, str) else file.fileno()


def write_gensim(saved: Any, file: str | BinaryIO) -> None:
    """Write a model or vectors in gensim's own format.

    gensim's `save` would record the file's temporary name in `lifecycle_events`, so its two steps
    are called here, with its default arguments and the final name in the event.
    """
    if not isinstance(file, str):
        saved.save(file)
        return
    final_name = file.final if isinstance(file, HiddenPath) else file
    saved.add_lifecycle_event(
        "saving",
        fname_or_handle=final_name,
        separately="None",
        sep_limit=10 * 1024**2,
        ignore=frozenset(),
    )
    saved._smart_save(file)


def write_binary(vectors: KeyedVectors, file: str | BinaryIO) -> None:
    """Write word2vec's binary format."""
    vectors.save_word2vec_format(path_or_descriptor(file), binary=True)


def write_text(vectors: KeyedVectors, file: str | BinaryIO) -> None:
    """Write word2vec's text format."""
    from gensim_tfw2v.word2vec_writer import save_word2vec_format

    save_word2vec_format(vectors, path_or_descriptor(file))


def write_numpy(vectors: KeyedVectors, file: str | BinaryIO) -> None:
    """Write the arrays "words" and "vectors" to an .npz file.

    If all words are integers of at most 64 bits, "words" is an array of integers. Otherwise it is
    an array of strings, and a third array lists the rows of the words that are integers.
    """
    import numpy as np

    from gensim_tfw2v.files.mapped import new_like
    from gensim_tfw2v.row_blocks import row_blocks
    from gensim_tfw2v.typed_words import is_integer

    keys = vectors.index_to_key
    n_integers = sum(map(is_integer, keys))
    words = np.array(keys) if n_integers == len(keys) else None
    arrays: dict[str, Any] = {"vectors": vectors.vectors}
    if words is None or words.dtype.kind != "i":
        max_length = max((len(str(key)) for key in keys), default=0)
        words = new_like(vectors.vectors, (len(keys),), f"U{max(1, max_length)}")
        for block in row_blocks(words):
            words[block] = [str(key) for key in keys[block]]
        if n_integers:
            rows = (row for row, key in enumerate(keys) if is_integer(key))
            arrays[INTEGER_ROWS] = np.fromiter(rows, np.int64, n_integers)
    with open(path_or_descriptor(file), "wb", closefd=isinstance(file, str)) as stream:
        np.savez(stream, words=words, **arrays)


def write_fasttext(model: Any, file: str | BinaryIO) -> None:
    """Write fastText's binary format."""
    from gensim.models.fasttext import save_facebook_model

    save_facebook_model(model, path_or_descriptor(file))


def write_folder(saved: Any, path: str) -> None:
    """Write a model, or vectors, to a folder that `from_pretrained` and this tool read."""
    from gensim_tfw2v import TFDoc2Vec, TFFastText
    from gensim_tfw2v.training.pretrained import save_pretrained

    save_pretrained(TFDoc2Vec.take_over(TFFastText.take_over(saved)), path)
