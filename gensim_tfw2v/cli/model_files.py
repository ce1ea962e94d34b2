"""Models and vectors in files: read in gensim's, word2vec's and fastText's formats, saved whole."""

from __future__ import annotations

import math
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.files.temporary import why_unwritable
from gensim_tfw2v.messages import converting, open_decompressed, quoted, wide_encoding
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors, Word2Vec

    from gensim_tfw2v.cli.formats import Format

UTF8 = "utf-8"
PICKLE_MARK = b"\x80"  # first byte of every pickle since protocol 2
FASTTEXT_MARK, ZIP_MARK = b"\xba\x16\x4f\x2f", b"PK\x03\x04"  # of fastText's .bin and of .npz


def load_vectors(path: Path, encoding: str = UTF8, documents: bool = False) -> KeyedVectors:
    """Load the vectors of a saved model, or vectors alone, as `load_saved` does."""
    saved = load_saved(path, encoding)
    return documents_of(saved, path) if documents else getattr(saved, "wv", saved)


def documents_of(saved: Any, path: Path) -> KeyedVectors:
    """Give the vectors of a model's documents; tags are text, as on a command line."""
    from gensim_tfw2v.keyed import keyed

    if not hasattr(saved, "dv"):
        raise of_another_kind(saved, path, "--documents needs a Doc2Vec model")
    return keyed([*map(str, saved.dv.index_to_key)], saved.dv.vectors)


def of_another_kind(saved: Any, path: Path, needs: str) -> BadInput:
    """Give the error that says what a file holds, and what an option needs."""
    return BadInput(f"{path}: holds a {type(saved).__name__}; {needs}")


def load_saved(
    path: Path, encoding: str = UTF8, *, mapped: bool = False
) -> Word2Vec | KeyedVectors:
    """Load a saved model whole, or vectors alone: V finite vectors of D dimensions.

    The format is told from the content, so the suffix matters only where it names a compression.
    A text file without the header line (as GloVe's) is read too. A gensim file is a pickle:
    loading one runs code that it names, so load only files you trust. Words of other files are in
    `encoding`. If `mapped`, arrays that gensim has kept in files of their own, uncompressed, stay
    there: they cannot be written to.
    """
    check_encoding(encoding)
    if not path.is_file():
        what = "is a folder; give the file of a model" if path.is_dir() else "no such file"
        raise BadInput(f"{path}: {what}")
    notices: list[str] = []
    with phase(f"loading {path}", None):
        import numpy as np

        from gensim_tfw2v.keyed import with_keys

        saved = _load(path, encoding, mapped)
        if not hasattr(saved, "wv"):
            saved = with_keys(saved, notices.append)
        vectors = getattr(saved, "wv", saved)
        if not len(vectors):
            raise BadInput(f"{path}: holds no vectors")
        if len(bad := np.flatnonzero(~np.isfinite(vectors.vectors).all(axis=1))):
            word = quoted(vectors.index_to_key[bad[0]])
            raise BadInput(f"{path}: holds vectors that are NaN or infinite, the first for {word}")
    for notice in notices:
        print(f"tfw2v: {path}: {notice}", file=sys.stderr)
    return saved


def check_encoding(name: str) -> None:
    """Refuse an encoding that Python lacks, or in which ASCII is written otherwise."""
    try:
        if "a 1\n".encode(name) == b"a 1\n":
            return
    except LookupError:
        pass
    raise BadInput(
        f"--encoding is {quoted(name)}: give one that has ASCII in it, such as latin-1, cp1252 or "
        "gb18030; convert files in UTF-16 with iconv"
    )


def _load(path: Path, encoding: str, mapped: bool) -> Word2Vec | KeyedVectors:
    from gensim_tfw2v.cli import formats

    first = b""
    try:
        first, _ = _first_lines(path)
        if first[:1] == PICKLE_MARK:
            return _load_pickled(path, mapped)
        if first.startswith(FASTTEXT_MARK):
            from gensim.models.fasttext import load_facebook_model

            formats.check_fasttext(path)
            return load_facebook_model(str(path), encoding)
        if first.startswith(ZIP_MARK) and (vectors := _load_numpy(path)):
            return vectors
        return _load_word2vec(path, encoding, first)
    except (BadInput, ImportError):
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
        if isinstance(error, ValueError) and first[:1] != PICKLE_MARK:
            raise BadInput(f"{path}: {one_line(error)}") from error
        raise BadInput(
            f"{path}: cannot be loaded; it is damaged, or was saved by software that is not "
            f"installed here ({type(error).__name__}: {one_line(error)})"
        ) from error


def is_model(path: Path) -> bool:
    """Return whether a file begins like a model or vectors, and not like an evaluation file."""
    try:
        first, second = _first_lines(path)
    except Exception:  # not there or damaged: what is to be done with it will say so
        return False
    is_word2vec = _has_sizes(first) or _numbers_after_word(first) == _numbers_after_word(second) > 1
    return is_word2vec or first.startswith((PICKLE_MARK, FASTTEXT_MARK, ZIP_MARK))


def _first_lines(path: Path) -> tuple[bytes, bytes]:
    with open_decompressed(path) as file:
        return file.readline(2**20), file.readline(2**20)


def _has_sizes(first: bytes) -> bool:
    """Return whether this line is word2vec's header, ``V D``."""
    return len(first.split()) == 2 and all(size.isdigit() for size in first.split())


def _load_pickled(path: Path, mapped: bool) -> Word2Vec | KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.utils import SaveLoad

    from gensim_tfw2v.cli.formats import describe
    from gensim_tfw2v.training.state import check_loaded

    is_mappable = mapped and path.suffix not in (".gz", ".bz2")
    try:
        saved = SaveLoad.load(str(path), mmap="r" if is_mappable else None)
        vectors = getattr(saved, "wv", saved)
        if isinstance(vectors, KeyedVectors):
            check_loaded(saved)
    except FileNotFoundError as error:
        raise BadInput(
            f"{error.filename}: missing; large arrays of {path} are kept in files beside it, "
            "copy them together"
        ) from error
    except (AttributeError, pickle.UnpicklingError, EOFError, ImportError, TypeError) as error:
        with open_decompressed(path) as file:
            is_old = re.search(rb"index2word|DocvecsArray|models.wrappers", file.read(1 << 28))
        if is_old:
            raise BadInput(
                f"{path}: a model of gensim 3 or older, which gensim 4 cannot read; load it with "
                f"gensim 3.8.3 and save it again ({one_line(error)})"
            ) from error
        if described := describe(path):
            raise BadInput(f"{path}: {described}") from error
        if found := re.fullmatch(r"'(\w+)' object has no attribute '_load_specials'", str(error)):
            raise BadInput(
                f"{path}: a pickle of {found[1]}, not word vectors; make KeyedVectors of it with "
                "add_vectors(words, rows), and save these"
            ) from error
        if isinstance(error, ImportError):
            raise
        raise BadInput(
            f"{path}: no gensim model or vectors, or a damaged one ({one_line(error)})"
        ) from error
    if not isinstance(vectors, KeyedVectors):
        raise BadInput(f"{path}: holds a {type(saved).__name__}, not word vectors")
    if vectors.vectors.shape != (shape := (len(vectors), vectors.vector_size)):
        raise ValueError(f"its vectors have the shape {vectors.vectors.shape} for {shape}")
    return saved


def _load_numpy(path: Path) -> KeyedVectors | None:
    """Load the .npz of ``tfw2v convert --to numpy``; None if the file holds something else."""
    import numpy as np

    from gensim_tfw2v.keyed import keyed

    with np.load(path) as arrays:
        if not {"words", "vectors"} <= set(arrays):
            return None
        words, rows = arrays["words"], arrays["vectors"]
    if words.dtype.kind not in "Uiu" or rows.dtype.kind not in "fiu":
        raise ValueError(f"has words of {words.dtype} and vectors of {rows.dtype}: save str, float")
    if rows.ndim != 2 or words.shape != rows.shape[:1]:
        raise ValueError(
            f"has words [{words.shape}] and vectors [{rows.shape}], not [V] and [V, D]"
        )
    return keyed(words.tolist(), np.ascontiguousarray(rows, np.float32))


def _load_word2vec(path: Path, encoding: str, first: bytes) -> KeyedVectors:
    from gensim_tfw2v.cli.formats import describe
    from gensim_tfw2v.keyed import Unreadable, read_word2vec

    try:
        return read_word2vec(path, encoding)
    except Unreadable as error:
        if _has_sizes(first) or _numbers_after_word(first) > 1:
            raise
        if described := describe(path):
            raise BadInput(f"{path}: {described}") from error
        if wide := wide_encoding(first):
            raise BadInput(f"{path}: is not {encoding.upper()} text. {converting(wide)}") from error
        raise BadInput(
            f"{path}: no vectors in a known format; give what gensim or fastText has saved, "
            "word2vec's text or binary format, or an .npz of tfw2v convert"
        ) from error


def _numbers_after_word(line: bytes) -> int:
    """Give D for a line ``word number_1 … number_D`` of text, else 0."""
    try:
        values = [float(field) for field in line.split()[1:]]
    except ValueError:
        return 0
    return 0 if any(map(math.isinf, values)) else len(values)


def check_outputs(
    output: Path, vectors: Path | None, binary: bool, inputs: Iterable[Path], what: str
) -> None:
    """Refuse --output and --vectors that cannot be written, or are inputs; `what` says which."""
    if binary and vectors is None:
        raise BadInput("--binary is the format of --vectors; give --vectors FILE too")
    if vectors is not None and vectors.resolve() == output.resolve():
        raise BadInput(f"{vectors}: named by both --output and --vectors")
    if vectors is not None:
        vectors_format(vectors, binary)
    read = [path.resolve() for path in inputs]
    for path in filter(None, (output, vectors)):
        check_can_save(path)
        if path.resolve() in read:
            raise BadInput(f"{path}: {what}; give the output another name")


def check_can_save(path: Path) -> None:
    """Find out before hours of work whether `path` can be written at their end."""
    from gensim_tfw2v.files import whole

    if path.is_dir():
        raise BadInput(f"{path}: is a folder; give the name of a file in it")
    if (real := whole.replaceable(path)) is None:
        if not os.access(path, os.W_OK):
            raise BadInput(f"{path}: cannot be written to; give another file")
        return
    if not real.parent.is_dir():
        raise BadInput(f"{real.parent}: no such folder; create it first (mkdir -p)")
    if reason := why_unwritable(real.parent):
        raise BadInput(f"{real.parent}: cannot be written to ({reason})")


def vectors_format(vectors: Path, binary: bool) -> Format:
    """Return the format of --vectors; by its suffix, and text without one."""
    from gensim_tfw2v.cli.formats import find_format

    return find_format(vectors, "binary" if binary else None, "text")


def save_model(
    model: Word2Vec, output: Path, vectors: Path | None, binary: bool, progress: bool | None = None
) -> Iterator[Path]:
    """Save a model, and its vectors alone where that is asked for; name each file when it is."""
    from gensim_tfw2v.cli import formats

    yield from save_whole(output, model.save, progress)
    if vectors is not None:
        form = vectors_format(vectors, binary)
        formats.check_holds(form, model.wv, vectors)
        yield from save_whole(vectors, partial(form.write, model.wv), progress)


def save_whole(
    path: Path, write: Callable[..., object], progress: bool | None = None
) -> list[Path]:
    """Save as `gensim_tfw2v.files.whole.save_whole`, and show it, by default on a terminal."""
    from gensim_tfw2v.files import whole

    with phase(f"saving {path}", progress):
        return whole.save_whole(path, write)
