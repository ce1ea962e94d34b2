"""Formats of vector files: how each is recognized, its limits, and how it is read and written.

To add a format, add a row to `FORMATS` with functions that read or write it. In Keras models and
folders for sentence-transformers, row 0 is the zero vector, for unknown words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli import vector_readers, vector_writers
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.keras_files import save_keras
from gensim_tfw2v.files.file_set import find_set
from gensim_tfw2v.files.foreign_paths import SENTENCE_TRANSFORMERS
from gensim_tfw2v.messages import COMPRESSED, quoted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


@dataclass(frozen=True)
class Format:
    """A format of vector files.

    Attributes
    ----------
    name : str
        Value of ``--to``.
    suffixes : tuple of str
        Suffixes of files that are written in this format by default.
    write : callable
        Saves the vectors (the full model if `model_class` is set), its first argument, to a path or
        an open file, its second argument.
    read : callable, optional
        Loads a model or vectors. Its arguments are a path, the encoding of words, and True to map
        arrays from the file, or from a temporary one, if possible.
    mark : bytes
        Regular expression for a file's first bytes. A file without any format's mark is text.
    forbidden : str
        Regular expression for what words in this format cannot contain.
    is_compressible : bool
        Whether `write` can compress a file, if it has a suffix such as ``.gz`` (see `COMPRESSED`).
    is_folder : bool
        Whether `write` makes a folder.
    can_hold_float16 : bool
        Whether `write` can write vectors in float16.
    can_hold_any_key : bool
        Whether keys may be of any type, not only strings and integers.
    keeps_ngrams : bool
        Whether FastText's vectors keep their n-grams.
    stores_text : bool
        Whether words are stored as text. The integer 7 and the string "7" would then be the same
        word, so vectors that contain both are refused.
    needs_one_type : bool
        Whether words must be all strings, or all integers of 64 bits.
    model_class : str
        Name of gensim's class if the format holds full models; empty if it holds only vectors.
    """

    name: str
    suffixes: tuple[str, ...]
    write: Callable[[Any, Any], object]
    read: Any = None
    mark: bytes = b""
    forbidden: str = "(?!)"
    is_compressible: bool = False
    is_folder: bool = False
    can_hold_float16: bool = False
    can_hold_any_key: bool = False
    keeps_ngrams: bool = False
    stores_text: bool = False
    needs_one_type: bool = False
    model_class: str = ""


def find_format(path: Path, label: str | None, default: str) -> Format:
    """Return the format with the name `label` (from ``--to``), or otherwise of the file's suffix.

    `default` is the name of the format for a file without suffix.

    Raises
    ------
    BadInput
        If the suffix is unknown, if it belongs to a different format than ``--to``, or if it asks
        for compression, which the format lacks.
    """
    inner_name, suffix = _split_name(path)
    form = KNOWN.get(label or suffix or default)
    if form is None:
        unknown_suffix = f"{path}: no format has the suffix {suffix}"
        problem = f"--to is {quoted(label)}" if label else unknown_suffix
        names = ", ".join(" ".join([form.name, *form.suffixes]) for form in FORMATS)
        raise BadInput(f"{problem}: name a format (convert --to) or use a suffix: {names}")
    suffix_form = KNOWN.get(suffix, form)
    if form.suffixes and suffix_form is not form:
        raise BadInput(
            f"{path}: {suffix} is the suffix of the format {suffix_form.name}, but {form.name} was "
            f"asked for; use one of its suffixes: {' '.join(form.suffixes)}"
        )
    if inner_name != path.name and not form.is_compressible:
        raise BadInput(f"{path}: {form.name} cannot be compressed; leave out {path.suffix}")
    return form


def check_model_name(path: Path) -> None:
    """Raise if a full model, which is saved in gensim's format, would get a different suffix."""
    _, suffix = _split_name(path)
    form = KNOWN.get(suffix, KNOWN["gensim"])
    if form is not KNOWN["gensim"]:
        raise BadInput(
            f"{path}: {suffix} is the suffix of the format {form.name}, which holds only vectors, "
            "but a full model is saved in gensim's format: name it without suffix, or .model"
        )


def _split_name(path: Path) -> tuple[str, str]:
    """Return a file's name without suffixes of compression, and the suffix of its format."""
    inner_name = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return inner_name, Path(inner_name).suffix.lower()


def detect_format(start: bytes) -> Format:
    """Return the format of a file from its first bytes; text if no format's mark matches."""
    for form in FORMATS:
        if form.mark and re.match(form.mark, start, re.DOTALL):
            return form
    return KNOWN["text"]


def is_pretrained(path: Path) -> bool:
    """Return whether a path looks like a folder that ``convert --to pretrained`` makes.

    Folders that model2vec or sentence-transformers has saved are recognized, too.
    """
    return any((path / name).is_file() for name in ("config.json", SENTENCE_TRANSFORMERS))


def finish_save(path: Path) -> None:
    """Move a save's files into place if it was interrupted before that; see `file_set`."""
    find_set(path / "config.json" if path.is_dir() else path)


def check_holds(form: Format, vectors: KeyedVectors, path: Path, result: str = "") -> None:
    """Raise if a format cannot hold one of the words; `result` is added to the message."""
    reason = _reason_for_refusal(form, vectors.index_to_key)
    if not reason:
        return
    names = [
        other_form.name
        for other_form in FORMATS
        if not other_form.model_class and not _reason_for_refusal(other_form, vectors.index_to_key)
    ]
    raise BadInput(
        f"{path}: the format {form.name} cannot hold {reason}{result}; use a format that can: "
        f"{', '.join(names)}"
    )


def _reason_for_refusal(form: Format, words: Sequence[Any]) -> str:
    """Return the first word that a format cannot hold, with the reason; "" if it can hold all."""
    from gensim_tfw2v.keys.compact import key_blocks, keys_of
    from gensim_tfw2v.typed_words import typed_form

    if keys_of(words) is not None:  # all are strings, or all are integers
        reasons = (_reason_for_refusal(form, block) for block in key_blocks(words))
        return next(filter(None, reasons), "")
    strings = [word for word in words if isinstance(word, str)]
    non_strings = [word for word in words if not isinstance(word, str)]
    for word in non_strings:
        if typed_form(word) is None and not form.can_hold_any_key:
            return f"{quoted(word)} of type {type(word).__name__}, only strings and integers"
        if form.needs_one_type and not -(2**63) <= word < 2**63:
            return f"{quoted(word)}, which has more than 64 bits"
    is_forbidden = re.compile(form.forbidden).search
    for word in strings:
        if is_forbidden(word):
            return f"{quoted(word)}, because of blanks or other characters in it"
    if form.stores_text and non_strings:
        integer_texts = {typed_form(word): word for word in non_strings}
        for word in strings:
            if word in integer_texts:
                integer = integer_texts[word]
                return f"both {integer} and {quoted(word)}, which have the same text"
    if form.needs_one_type and strings and non_strings:
        return "strings and integers in one vocabulary"
    return ""


def keeps_ngrams(form: Format, vectors: KeyedVectors) -> bool:
    """Return whether a format keeps the n-grams of vectors, if they have any."""
    return form.keeps_ngrams or not has_ngrams(vectors)


def has_ngrams(vectors: KeyedVectors) -> bool:
    """Return whether vectors have n-grams, from which FastText makes vectors of unknown words."""
    bucket = getattr(vectors, "bucket", 0)
    return bool(bucket and vectors.max_n >= max(1, vectors.min_n))


#: Range of characters that UTF-8 cannot encode, so no format can hold a word that contains one.
SURROGATE = "\ud800-\udfff"

# Regular expressions for `Format.forbidden`. They match words with a blank, words with NUL, and the
# words that a format cannot hold because it stands for unknown words by [UNK] or the empty word.
_BLANKS = rf"[\t-\r {SURROGATE}]"
_NULS = rf"[\0{SURROGATE}]"
_UNKNOWN = rf"\A\[UNK\]\Z|\A\Z|[{SURROGATE}]"

# First bytes of fastText's .bin: a mark. Files of the first version have none; they begin with six
# small numbers of 4 bytes each, then the number of the loss, and that of the kind of model.
_FASTTEXT = vector_readers.FASTTEXT + rb"|(?:..\0\0){6}(?:[\1-\3]\0\0\0){2}"

FORMATS = (
    Format(
        name="gensim",
        suffixes=(".kv", ".model", ".wv", ".gensim"),
        write=vector_writers.write_gensim,
        read=vector_readers.read_gensim,
        mark=rb"\x80",
        is_compressible=True,
        can_hold_any_key=True,
        keeps_ngrams=True,
    ),
    Format(
        name="text",
        suffixes=(".txt", ".vec", ".w2v", ".emb"),
        write=vector_writers.write_text,
        read=vector_readers.read_word2vec,
        forbidden=_BLANKS,
        is_compressible=True,
        stores_text=True,
    ),
    Format(
        name="binary",
        suffixes=(".bin",),
        write=vector_writers.write_binary,
        forbidden=_BLANKS,
        is_compressible=True,
        stores_text=True,
    ),
    Format(
        name="numpy",
        suffixes=(".npz",),
        write=vector_writers.write_numpy,
        read=vector_readers.read_numpy,
        mark=rb"PK\x03\x04",
        forbidden=r"\0\Z",
        can_hold_float16=True,
    ),
    Format(
        name="keras",
        suffixes=(".keras",),
        write=save_keras,
        forbidden=rf"[\n\r]|{_UNKNOWN}",
        needs_one_type=True,
    ),
    Format(
        name="fasttext",
        suffixes=(),
        write=vector_writers.write_fasttext,
        read=vector_readers.read_fasttext,
        mark=_FASTTEXT,
        forbidden=_NULS,
        model_class="FastText",
    ),
    Format(
        name="sentence-transformers",
        suffixes=(),
        write=vector_writers.write_folder,
        forbidden=rf"\s|{_UNKNOWN}",
        is_folder=True,
        stores_text=True,
    ),
    Format(
        name="pretrained",
        suffixes=(),
        write=vector_writers.write_folder,
        read=vector_readers.read_folder,
        is_folder=True,
        model_class="Word2Vec",
    ),
)

#: Formats by name and by suffix.
KNOWN = {key: form for form in FORMATS for key in (form.name, *form.suffixes)}
