"""Formats of vector files: how each is recognized, its limits, and how it is read and written.

To add a format, add a row to `FORMATS` with functions that read or write it. In Keras models and
folders for sentence-transformers, row 0 is the zero vector, for unknown words.
"""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.cli.keras_files import is_keras, load_keras, save_keras
from gensim_tfw2v.files.file_set import FileSetError, find_set
from gensim_tfw2v.files.foreign_paths import SENTENCE_TRANSFORMERS, is_resaved
from gensim_tfw2v.messages import (
    COMPRESSED,
    MAGIC,
    conversion_advice,
    open_decompressed,
    quoted,
    wide_encoding,
)

if TYPE_CHECKING:
    from gensim.models import FastText, KeyedVectors, Word2Vec

INTEGERS = "integers"  # array in .npz files: rows of the words that are integers, if not all are
SURROGATE = "\ud800-\udfff"  # range of characters that UTF-8 cannot encode
OPTIONS_OF_FASTTEXT = 64  # bytes before the vocabulary in fastText's .bin
FASTTEXT = b"\xba\x16O/"  # first bytes of fastText's .bin


@dataclass(frozen=True)
class Format:
    """A format of vector files.

    Attributes
    ----------
    name : str
        Value of ``--to``.
    suffixes : str
        Suffixes of files that are written in this format by default, separated by blanks.
    write : callable
        Saves the vectors (the full model if `needs` is set), its first argument, to a path or an
        open file, its second argument.
    read : callable, optional
        Loads a model or vectors. Its arguments are a path, the encoding of words, and True to map
        arrays from the file.
    mark : bytes
        Regular expression for a file's first bytes. A file without any format's mark is text.
    lacks : str
        Regular expression for what words in this format cannot contain.
    uses : str
        Properties, separated by blanks: "compressed" if `write` compresses files with a suffix in
        `COMPRESSED`, "half" if it can write float16, "folder" if it makes a folder, "text" if words
        are stored as text, so that an integer may not have the digits of a string, "one-type" if
        words must be all strings or all integers of 64 bits, "any-key" for keys of all types,
        "ngrams" if FastText's vectors keep their n-grams.
    needs : str
        Name of gensim's class if the format holds full models; empty if it holds only vectors.
    """

    name: str
    suffixes: str
    write: Callable[[Any, Any], object]
    read: Any = None
    mark: bytes = b""
    lacks: str = "(?!)"
    uses: str = ""
    needs: str = ""


def find_format(path: Path, named: str | None, default: str) -> Format:
    """Return the format that ``--to`` names, or else of the file's suffix.

    `default` is the name of the format for a file without suffix.

    Raises
    ------
    BadInput
        If the suffix is unknown, or of a different format than ``--to``, or of compressed files,
        which the format doesn't support.
    """
    inner, suffix = _split(path)
    form = KNOWN.get(named or suffix or default)
    if form is None:
        unknown = f"{path}: no format has the suffix {suffix}"
        asked = f"--to is {quoted(named)}" if named else unknown
        known = ", ".join(f"{of.name} {of.suffixes}".rstrip() for of in FORMATS)
        raise BadInput(f"{asked}: name a format (convert --to) or use a suffix: {known}")
    of_suffix = KNOWN.get(suffix, form)
    if form.suffixes and of_suffix is not form:
        raise BadInput(
            f"{path}: {suffix} is the suffix of the format {of_suffix.name}, but {form.name} was "
            f"asked for; use one of its suffixes: {form.suffixes}"
        )
    if inner != path.name and "compressed" not in form.uses:
        raise BadInput(f"{path}: {form.name} cannot be compressed; leave out {path.suffix}")
    return form


def check_model_name(path: Path) -> None:
    """Raise if a full model, which is saved in gensim's format, would get another one's suffix."""
    _, suffix = _split(path)
    form = KNOWN.get(suffix, KNOWN["gensim"])
    if form is not KNOWN["gensim"]:
        raise BadInput(
            f"{path}: {suffix} is the suffix of the format {form.name}, which holds only vectors, "
            "but a full model is saved in gensim's format: name it without suffix, or .model"
        )


def _split(path: Path) -> tuple[str, str]:
    """Return a file's name without suffixes of compression, and the suffix of its format."""
    inner = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return inner, Path(inner).suffix.lower()


def find_marked(start: bytes) -> Format:
    """Return the format of a file from its first bytes; text if no format's mark matches."""
    marked = (form for form in FORMATS if form.mark and re.match(form.mark, start, re.DOTALL))
    return next(marked, KNOWN["text"])


def is_pretrained(path: Path) -> bool:
    """Return whether a path looks like a folder that ``convert --to pretrained`` makes.

    It may have been saved again by model2vec or sentence-transformers.
    """
    return any((path / name).is_file() for name in ("config.json", SENTENCE_TRANSFORMERS))


def find_saved(path: Path) -> None:
    """Finish an interrupted save of a file or folder: see `file_set`."""
    find_set(path / "config.json" if path.is_dir() else path)


def check_holds(form: Format, vectors: KeyedVectors, path: Path, kept: str = "") -> None:
    """Raise for words that a format cannot hold; `kept` is added to the message."""
    reason = _reason_for_refusal(form, vectors.index_to_key)
    if not reason:
        return
    able = [
        one.name
        for one in FORMATS
        if not one.needs and not _reason_for_refusal(one, vectors.index_to_key)
    ]
    raise BadInput(
        f"{path}: the format {form.name} cannot hold {reason}{kept}; use a format that can: "
        f"{', '.join(able)}"
    )


def _reason_for_refusal(form: Format, words: list[Any]) -> str:
    """Return which of the words a format cannot hold, and why; "" if it can hold all."""
    from gensim_tfw2v.typed_words import typed_form

    others = [word for word in words if not isinstance(word, str)]
    for word in others:
        if typed_form(word) is None and "any-key" not in form.uses:
            return f"{quoted(word)} of type {type(word).__name__}, only strings and integers"
        if "one-type" in form.uses and not -(2**63) <= word < 2**63:
            return f"{quoted(word)}, which has more than 64 bits"
    lacked = re.compile(form.lacks).search
    for word in words:
        if isinstance(word, str) and lacked(word):
            return f"{quoted(word)}, because of blanks or other characters in it"
    if "text" in form.uses and others:
        integers = {typed_form(word): word for word in others}
        if both := next((word for word in words if isinstance(word, str) and word in integers), ""):
            return f"both {integers[both]} and {quoted(both)}, which have the same text"
    if "one-type" in form.uses and 0 < len(others) < len(words):
        return "strings and integers in one vocabulary"
    return ""


def keeps_ngrams(form: Format, vectors: KeyedVectors) -> bool:
    """Return whether a format keeps the n-grams of vectors, if they have any."""
    return "ngrams" in form.uses or not has_ngrams(vectors)


def has_ngrams(vectors: KeyedVectors) -> bool:
    """Return whether vectors have n-grams, from which FastText makes those of unknown words."""
    bucket = getattr(vectors, "bucket", 0)
    return bool(bucket and vectors.max_n >= max(1, vectors.min_n))


def _load_pickled(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.utils import SaveLoad

    from gensim_tfw2v.files.set_marks import load_marked
    from gensim_tfw2v.training.model_checks import check_loaded

    is_mappable = mapped and path.suffix not in (".gz", ".bz2")
    try:
        mmap = "r" if is_mappable else None
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
        said = describe(path)
        if is_old:
            said = "was saved by gensim 3 or older; load it with gensim 3.8.3 and save it again"
        elif not said and isinstance(error, ImportError):
            raise
        said = said or "not a gensim model or vectors, or damaged"
        raise BadInput(f"{path}: {said} ({one_line(error)})") from error
    if vectors.vectors.shape != (shape := (len(vectors), vectors.vector_size)):
        raise ValueError(f"its vectors have shape {vectors.vectors.shape}, expected {shape}")
    return saved


def _load_word2vec(path: Path, encoding: str, mapped: bool) -> KeyedVectors:
    """Load word2vec's text or binary format."""
    from gensim_tfw2v.keyed import read_word2vec

    try:
        return read_word2vec(path, encoding)
    except ValueError as error:
        unknown = "not vectors in a known format; give a file saved by gensim, word2vec or fastText"
        raise BadInput(f"{path}: {str(error) or describe(path) or unknown}") from error


def _load_numpy(path: Path, encoding: str, mapped: bool) -> KeyedVectors:
    """Load the .npz of ``tfw2v convert --to numpy``, or a .keras file, which is a ZIP, too."""
    import numpy as np

    from gensim_tfw2v.keyed import keyed

    if is_keras(path):
        return load_keras(path)
    with np.load(path) as arrays:
        if not {"words", "vectors"} <= set(arrays):
            raise BadInput(f"{path}: is a ZIP archive, but not an .npz with words and vectors")
        words = arrays["words"]
        rows = arrays["vectors"]
        integer_rows = arrays[INTEGERS].tolist() if INTEGERS in arrays else []
    is_typed = words.dtype.kind in "Uiu" and rows.dtype.kind in "fiu"
    if not is_typed or rows.ndim != 2 or words.shape != rows.shape[:1]:
        raise BadInput(
            f"{path}: has words {words.shape} of {words.dtype} and vectors {rows.shape} of "
            f"{rows.dtype}, expected [V] of str and [V, D] of float"
        )
    keys = words.tolist()
    for row in integer_rows:
        keys[row] = int(keys[row])
    return keyed(keys, np.ascontiguousarray(rows, np.float32))


def _load_fasttext(path: Path, encoding: str, mapped: bool) -> FastText:
    """Load fastText's .bin, after a check that its list of words is not truncated.

    gensim's loader would not terminate for a truncated list.
    """
    from gensim.models import _fasttext_bin
    from gensim.models.fasttext import load_facebook_model

    with open_decompressed(path) as file:

        def read(size: int) -> bytes:
            if len(content := file.read(size)) < size:
                raise EOFError("the file is truncated")
            return content

        is_new = read(len(FASTTEXT)) == FASTTEXT
        # files of version 1 begin with the options: no mark and no version number
        read(OPTIONS_OF_FASTTEXT - (len(FASTTEXT) if is_new else 12))
        whole = SimpleNamespace(read=read, name=path)
        try:
            _fasttext_bin._load_vocab(whole, new_format=is_new, encoding="latin-1")
        except NotImplementedError as error:
            raise BadInput(
                f"{path}: is a supervised fastText model, which gensim cannot read: use the .vec "
                "file that fastText writes next to it"
            ) from error
    return load_facebook_model(str(path), encoding)


def place(to: Any) -> Any:
    """Return the path, or the file descriptor of an open file: gensim opens both."""
    return to if isinstance(to, str) else to.fileno()


def _save_binary(vectors: KeyedVectors, to: Any) -> None:
    vectors.save_word2vec_format(place(to), binary=True)


def _save_text(vectors: KeyedVectors, to: Any) -> None:
    from gensim_tfw2v.keyed import save_word2vec_format

    save_word2vec_format(vectors, place(to))


def _save_numpy(vectors: KeyedVectors, to: Any) -> None:
    """Save arrays: integers as such if all words are, or else as text, with the list of their rows.

    Integers of more than 64 bits are text, too.
    """
    import numpy as np

    from gensim_tfw2v.typed_words import is_integer

    keys = vectors.index_to_key
    integer_rows = [row for row, key in enumerate(keys) if is_integer(key)]
    words = np.array(keys) if len(integer_rows) == len(keys) else None
    extra: dict[str, Any] = {}
    if words is None or words.dtype.kind != "i":
        words = np.array([*map(str, keys)])
        if integer_rows:
            extra[INTEGERS] = np.array(integer_rows, np.int64)
    with open(place(to), "wb", closefd=isinstance(to, str)) as file:
        np.savez(file, words=words, vectors=vectors.vectors, **extra)


def _save_fasttext(model: Any, to: Any) -> None:
    from gensim.models.fasttext import save_facebook_model

    save_facebook_model(model, place(to))


def _save_folder(saved: Any, path: str) -> None:
    from gensim_tfw2v import TFDoc2Vec, TFFastText
    from gensim_tfw2v.training.pretrained import save_pretrained

    save_pretrained(TFDoc2Vec.take_over(TFFastText.take_over(saved)), path)


def _load_folder(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    from gensim.models import KeyedVectors

    from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
    from gensim_tfw2v.training.pretrained import load_pretrained
    from gensim_tfw2v.training.static_embeddings import read_embeddings

    if is_resaved(path):
        try:
            return read_embeddings(path)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadInput(
                f"{path}: was saved by a different library, and its words and vectors cannot be "
                f"read: {one_line(error)}"
            ) from error
    classes = {"Word2Vec": TFWord2Vec, "FastText": TFFastText, "Doc2Vec": TFDoc2Vec}
    try:
        return load_pretrained(path, classes | {"KeyedVectors": KeyedVectors})
    except ValueError as error:
        raise BadInput(str(error)) from error


# Words that formats cannot hold: with blanks; with NUL; the word for unknown words and the empty
# word. No format can hold words with surrogates, which cannot be encoded in UTF-8.
_BLANKS = rf"[\t-\r {SURROGATE}]"
_NULS = rf"[\0{SURROGATE}]"
_UNKNOWN = rf"\A\[UNK\]\Z|\A\Z|[{SURROGATE}]"

# First bytes of fastText's .bin: the mark, or in files of its first version, six small numbers, the
# loss and the model.
_FASTTEXT = FASTTEXT + rb"|(?:..\0\0){6}(?:[\1-\3]\0\0\0){2}"

FORMATS = (
    Format(
        "gensim",
        ".kv .model .wv .gensim",
        lambda vectors, to: vectors.save(to),
        _load_pickled,
        rb"\x80",
        uses="compressed any-key ngrams",
    ),
    Format(
        "text",
        ".txt .vec .w2v .emb",
        _save_text,
        _load_word2vec,
        lacks=_BLANKS,
        uses="compressed text",
    ),
    Format("binary", ".bin", _save_binary, lacks=_BLANKS, uses="compressed text"),
    Format("numpy", ".npz", _save_numpy, _load_numpy, rb"PK\x03\x04", r"\0\Z", "half"),
    Format("keras", ".keras", save_keras, lacks=rf"[\n\r]|{_UNKNOWN}", uses="one-type"),
    Format("fasttext", "", _save_fasttext, _load_fasttext, _FASTTEXT, _NULS, needs="FastText"),
    Format("sentence-transformers", "", _save_folder, lacks=rf"\s|{_UNKNOWN}", uses="folder text"),
    Format("pretrained", "", _save_folder, _load_folder, uses="folder", needs="Word2Vec"),
)

#: Formats by name and by suffix.
KNOWN = {key: form for form in FORMATS for key in (form.name, *form.suffixes.split())}

_EXPORT = "export words and vectors with the program that wrote it"

#: First bytes (regular expressions) of unsupported files, with a description and advice.
OTHERS = {
    rb"version https://git-lfs": "a pointer of Git LFS, not the file: run git lfs pull",
    rb"\x93NUMPY": "a NumPy array without words: use numpy.savez(FILE, words=…, vectors=…)",
    rb".{257}ustar": "a tar archive: unpack it, and use the file of vectors in it",
    rb"\x89HDF|SQLite format 3": "HDF5 (as from Keras) or SQLite (as from Magnitude): " + _EXPORT,
    rb"PAR1|ARROW1|GGUF|.{7}\0\{": "Parquet, Arrow, GGUF or safetensors: " + _EXPORT,
    rb"\x08[\x01-\x1f]\x12|\x80\x02\x8a\nl\xfc\x9cF": "ONNX or PyTorch: " + _EXPORT,
    rb"\s*<[!?h]": "HTML or XML, perhaps a download that failed: download it again",
    rb"\{\s*\"|\[\s*[\[{\"]": "JSON: write a word and its numbers on each line, with single blanks",
}


def describe(path: Path) -> str:
    """Return a description of an unsupported file, with advice; "" if it is not recognized."""
    with open_decompressed(path) as file:
        start = file.read(4096)
    for magic, what in OTHERS.items():
        if re.match(magic, start, re.DOTALL):
            return f"is {what}"
    for magic, (ending, name) in MAGIC.items():
        if start.startswith(magic):
            return f"is {name}-compressed: let its name end with {ending}, or decompress it"
    numbers = struct.iter_unpack("<d", start[: len(start) // 8 * 8])
    if len(start) > 7 and all(1e-12 < abs(number) < 1e4 for (number,) in numbers):
        return "contains 8-byte numbers without words, as GloVe's vectors.bin: use its vectors.txt"
    wide = wide_encoding(start)
    return wide and f"is not UTF-8 text. {conversion_advice(wide)}"
