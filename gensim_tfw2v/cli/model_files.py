"""Loading of models and vectors in any format, and atomic saving of them."""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli import formats
from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.files import atomic
from gensim_tfw2v.files.foreign_paths import describe_folder
from gensim_tfw2v.files.temporary import why_unwritable
from gensim_tfw2v.messages import open_decompressed, quoted
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors, Word2Vec

#: Default of --encoding.
UTF8 = "utf-8"

#: Maximum number of bytes of a line that `is_model` reads.
MAX_LINE_BYTES = 1 << 20

#: Line of an evaluation file whose words are integers: two words and a rating. A line of a file of
#: vectors in two dimensions can look the same; `is_model` takes that for an evaluation file, too.
INTEGER_PAIR = re.compile(rb"-?[0-9]+[\s,;]+-?[0-9]+[\s,;]+[0-9.eE+-]+")


def load_vectors(
    path: Path, encoding: str = UTF8, documents_option: bool | None = None
) -> KeyedVectors:
    """Load vectors, or the vectors of a saved model; raise if the model has not trained them."""
    return trained_vectors(load_saved(path, encoding), path, documents_option)


def vectors_of(saved: Any, path: Path, documents_option: bool | None = None) -> KeyedVectors:
    """Return a model's vectors of words, or of documents by their tags."""
    from gensim_tfw2v.keyed import keyed

    if not documents_option:
        return getattr(saved, "wv", saved)
    if not hasattr(saved, "dv"):
        raise wrong_kind_error(saved, path, "--documents needs a Doc2Vec model")
    return keyed(saved.dv.index_to_key, saved.dv.vectors)


def trained_vectors(saved: Any, path: Path, documents_option: bool | None = None) -> KeyedVectors:
    """Return a model's vectors of words, or of documents; raise if they are untrained (random).

    `documents_option` is the value of ``--documents``, None in commands that lack it.
    """
    vectors = vectors_of(saved, path, documents_option)
    reason = describe_random_vectors(saved, documents_option)
    if reason:
        advice = "train it first"
        if hasattr(saved, "dv") and saved.train_count:
            alternative = "use --documents, or " if documents_option is not None else ""
            advice = f"{alternative}train it with --dbow-words"
        raise BadInput(f"{path}: {reason}; {advice}")
    return vectors


def describe_random_vectors(saved: Any, documents_option: bool | None = None) -> str:
    """Describe which vectors of a model are random (untrained), and why; return "" if none are."""
    if not hasattr(saved, "wv"):
        return ""
    from gensim_tfw2v.training.untrained import random_vectors_reason

    reason = random_vectors_reason(saved, bool(documents_option))
    kind = "documents" if documents_option else "words"
    return reason and f"its vectors of {kind} are random: {reason}"


def notify(path: Path, notices: Iterable[str]) -> None:
    """Print notices about a file on stderr, each on a line."""
    for notice in notices:
        print(f"tfw2v: {path}: {notice}", file=sys.stderr)


def list_omissions(
    form: formats.Format, saved: Any, output: Path, documents_option: bool | None = None
) -> Iterator[str]:
    """Yield a notice for each part of `saved`, a model or vectors, that a format leaves out.

    `documents_option` is the value of ``--documents``, None in commands that lack it.
    """
    if form.model_class:
        return
    reason = describe_random_vectors(saved, documents_option)
    if reason:
        yield reason
    if hasattr(saved, "dv") and not documents_option:
        option = "tfw2v convert --documents" if documents_option is None else "--documents"
        yield f"only the vectors of words are written; {option} writes those of documents"
    elif not documents_option and not formats.keeps_ngrams(form, getattr(saved, "wv", saved)):
        names = [other.name for other in formats.FORMATS if other.keeps_ngrams or other.model_class]
        yield (
            "only the vectors of whole words are written, and none of n-grams, from which FastText "
            f"makes those of unknown words; formats that hold both: {', '.join(names)}"
        )
    if hasattr(saved, "wv") and output.suffix == ".model":
        yield (
            "only vectors are written (KeyedVectors), which have no output layer to train them "
            "further; --to pretrained writes the full model"
        )


def has_integers(vectors: KeyedVectors) -> bool:
    """Return whether words are integers, so that the words of a text must be converted."""
    from gensim_tfw2v.keys.compact import keys_of
    from gensim_tfw2v.keys.integer_keys import IntegerKeys
    from gensim_tfw2v.typed_words import is_integer

    if (keys := keys_of(vectors.index_to_key)) is not None:
        return isinstance(keys, IntegerKeys)
    return any(is_integer(key) for key in vectors.index_to_key)


def wrong_kind_error(saved: Any, path: Path, needs: str) -> BadInput:
    """Return the error for a file whose content, `saved`, is of the wrong kind for an option."""
    return BadInput(f"{path}: holds a {type(saved).__name__}; {needs}")


def load_saved(path: Path, encoding: str = UTF8, *, mapped: bool = True) -> Word2Vec | KeyedVectors:
    """Load a saved model, or vectors: V finite vectors of D dimensions.

    The format is detected from the content; the suffix matters only for compressed files. Text
    files may lack the header line (as GloVe's do). A gensim file is a pickle, and loading it can
    run code, so load only files you trust. In other formats, words are decoded by `encoding`.

    If `mapped`, large arrays are not read into memory. Arrays that gensim has saved uncompressed in
    separate files, and those of folders, are mapped read-only. Vectors of other formats are mapped
    from temporary files, except those of Keras and of fastText's .bin.
    """
    check_encoding(encoding)
    formats.finish_save(path)
    if not path.is_file() and not formats.is_pretrained(path):
        problem = "no such file"
        if path.is_dir():
            problem = describe_folder(path)
        elif path.exists():
            problem = "is a pipe or a device; give a file"
        raise BadInput(f"{path}: {problem}")
    notices: list[str] = []
    with phase(f"loading {path}", None):
        from gensim_tfw2v.keyed import with_keys
        from gensim_tfw2v.row_blocks import find_nonfinite_rows

        saved = _load(path, encoding, mapped)
        if not hasattr(saved, "wv"):
            saved = with_keys(saved, notices.append)
        vectors = getattr(saved, "wv", saved)
        if not len(vectors):
            raise BadInput(f"{path}: holds no vectors")
        bad_rows = find_nonfinite_rows(vectors.vectors)
        if len(bad_rows):
            word = quoted(vectors.index_to_key[bad_rows[0]])
            raise BadInput(f"{path}: has vectors that are NaN or infinite, the first for {word}")
    notify(path, notices)
    return saved


def load_for_training(path: Path, *, mapped: bool = True) -> Word2Vec | KeyedVectors:
    """Load a saved model, or vectors, for `tfw2v train`, which has no option for their encoding."""
    from gensim_tfw2v.word2vec_reader import ENCODING_ADVICE

    try:
        return load_saved(path, mapped=mapped)
    except BadInput as error:
        command = f"tfw2v convert {shlex.quote(str(path))} v.kv --encoding latin-1"
        message = str(error).replace(ENCODING_ADVICE, f"Convert it first, with: {command}")
        raise BadInput(message) from error


def check_encoding(name: str) -> None:
    """Raise for an encoding that Python lacks, or that does not extend ASCII."""
    try:
        if "a 1\n".encode(name) == b"a 1\n":
            return
    except LookupError:
        pass
    raise BadInput(
        f"--encoding is {quoted(name)}: give one that extends ASCII, such as latin-1, cp1252 or "
        "gb18030; convert files in UTF-16 with iconv"
    )


def _load(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    """Detect the format of a file or folder, and load it."""
    try:
        if formats.is_pretrained(path):
            return formats.KNOWN["pretrained"].read(path, encoding, mapped)
        with open_decompressed(path) as file:
            form = formats.detect_format(file.read(64))
        return form.read(path, encoding, mapped)
    except (BadInput, ImportError):
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise  # a temporary file is too large for its disk
        raise BadInput(
            f"{path}: cannot be loaded; it is damaged, or was saved by software that is not "
            f"installed here ({type(error).__name__}: {one_line(error)})"
        ) from error


def is_model(path: Path) -> bool:
    """Return whether a file begins like a model or vectors, not like an evaluation file."""
    from gensim_tfw2v.files.spooled_floats import SpooledFloats
    from gensim_tfw2v.word2vec_reader import HEADER, read_text

    if formats.is_pretrained(path):
        return True
    if not path.is_file():  # a named pipe without a writer would block
        return False
    try:
        with open_decompressed(path) as file:
            first_line = file.readline(MAX_LINE_BYTES)
            second_line = file.readline(MAX_LINE_BYTES)
        if INTEGER_PAIR.fullmatch(first_line.strip()):
            return False
        if formats.detect_format(first_line).mark or HEADER.fullmatch(first_line):
            return True
        lines = io.BytesIO(first_line + second_line)
        return bool(read_text(lines, "latin-1", SpooledFloats(is_mapped=False)))
    except Exception:  # missing or damaged: the caller then uses the file, which raises the error
        return False


def check_outputs(
    output: Path, vectors: Path | None, binary: bool, inputs: Mapping[Path, str]
) -> None:
    """Raise if --output or --vectors cannot be written, or would overwrite an input.

    `inputs` maps the path of each input to its description in the message, "is the corpus".
    """
    if binary and vectors is None:
        raise BadInput("--binary sets the format of --vectors; give --vectors FILE too")
    if vectors is not None:
        vectors_format(vectors, binary)
        if vectors.resolve() == output.resolve():
            raise BadInput(f"{vectors}: is both --output and --vectors; give different files")
    descriptions = {path.resolve(): description for path, description in inputs.items()}
    for path in (output, vectors):
        if path is None:
            continue
        check_can_save(path)
        if path.resolve() in descriptions:
            description = descriptions[path.resolve()]
            raise BadInput(f"{path}: {description}; give the output a different name")


def check_can_save(path: Path) -> None:
    """Raise, before hours of training, if `path` cannot be written afterwards."""
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; give the name of a file in it")
    target = atomic.replaceable(path)
    if target is None:
        if not os.access(path, os.W_OK):
            raise BadInput(f"{path}: cannot be written to; give another file")
        return
    if not target.parent.is_dir():
        raise BadInput(f"{target.parent}: no such folder; create it first (mkdir -p)")
    for file in (target, *path.parent.glob(f"{glob.escape(path.name)}.*.npy")):
        if atomic.is_protected(file):
            raise BadInput(
                f"{file}: belongs to another user, and nobody else can replace it, because its "
                "folder has the sticky bit; give another file"
            )
    reason = why_unwritable(target.parent)
    if reason:
        raise BadInput(f"{target.parent}: cannot be written to ({reason})")


def vectors_format(vectors: Path, binary: bool) -> formats.Format:
    """Return the format of --vectors: binary, or that of the suffix, or text without a suffix."""
    return formats.find_format(vectors, "binary" if binary else None, "text")


def save_model(
    model: Word2Vec, output: Path, vectors: Path | None, binary: bool, progress: bool | None = None
) -> Iterator[Path]:
    """Save a model, and optionally its vectors separately; yield each path after saving it."""
    yield from save_atomically(output, partial(formats.KNOWN["gensim"].write, model), progress)
    if vectors is not None:
        form = vectors_format(vectors, binary)
        formats.check_holds(form, model.wv, vectors, f"; {output} is saved")
        notify(vectors, list_omissions(form, model, vectors))
        yield from save_atomically(vectors, partial(form.write, model.wv), progress)


def save_atomically(
    path: Path, write: Callable[..., object], progress: bool | None = None
) -> list[Path]:
    """Save by `files.atomic.save_atomically`, and show progress, by default only on a terminal."""
    with phase(f"saving {path}", progress):
        return atomic.save_atomically(path, write)
