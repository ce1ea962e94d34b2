"""Models and vectors in files: read in gensim's forms and the word2vec tool's, saved whole."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gensim_tfw2v.cli.failures import BadInput, one_line
from gensim_tfw2v.files import whole as saving
from gensim_tfw2v.files.temporary import TemporaryFolder

if TYPE_CHECKING:
    from gensim.models import KeyedVectors, Word2Vec

PICKLE_MARK = b"\x80"  # first byte of every pickle since protocol 2


def load_vectors(path: Path) -> KeyedVectors:
    """Load the vectors of a saved model, of saved vectors, or of word2vec's text or binary form.

    Returns
    -------
    KeyedVectors
        V finite vectors of D dimensions.

    Raises
    ------
    BadInput
        See `load_saved`.
    """
    saved = load_saved(path)
    return getattr(saved, "wv", saved)


def load_saved(path: Path, *, mapped: bool = False) -> Word2Vec | KeyedVectors:
    """Load a saved model whole, or vectors alone.

    The form is told from the content, so the suffix matters only where it names a compression.
    A text file without the header line (as GloVe's) is read too. A gensim file is a pickle:
    loading one runs code that it names, so load only files you trust.

    Parameters
    ----------
    path : Path
    mapped : bool
        Whether arrays that gensim has kept in files of their own, uncompressed, stay there: they
        are read when they are used, and cannot be written to.

    Returns
    -------
    Word2Vec or KeyedVectors
        With V finite vectors of D dimensions.

    Raises
    ------
    BadInput
        The file is missing, damaged, of no known form, without vectors, or with values that are
        not finite.
    """
    if not path.is_file():
        what = "is a folder; give the file of a model" if path.is_dir() else "no such file"
        raise BadInput(f"{path}: {what}")

    from gensim_tfw2v.monitor.progress import phase

    with phase(f"loading {path}", None):
        return _load_saved(path, mapped)


def _load_saved(path: Path, mapped: bool) -> Word2Vec | KeyedVectors:
    import numpy as np
    from gensim import utils

    try:
        with utils.open(str(path), "rb") as file:
            start = file.read(1)
            lines = [start + file.readline(2**20), file.readline(2**20)]
        pickled = start == PICKLE_MARK
        saved = _load_pickled(path, mapped) if pickled else _load_word2vec(path, lines)
    except BadInput:
        raise
    # a damaged pickle can raise nearly anything
    except Exception as error:
        raise BadInput(
            f"{path}: cannot be loaded; it is damaged, or was saved by software that is not "
            f"installed here ({type(error).__name__}: {one_line(error)})"
        ) from error
    vectors = getattr(saved, "wv", saved)
    if not len(vectors):
        raise BadInput(f"{path}: holds no vectors")
    if not np.isfinite(vectors.vectors).all():
        raise BadInput(f"{path}: holds vectors that are NaN or infinite")
    return saved


def _load_pickled(path: Path, mapped: bool) -> Word2Vec | KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.utils import SaveLoad

    try:
        is_mappable = mapped and path.suffix not in (".gz", ".bz2")
        saved = SaveLoad.load(str(path), mmap="r" if is_mappable else None)
    except FileNotFoundError as error:
        raise BadInput(
            f"{error.filename}: missing; large arrays of {path} are kept in files beside it, "
            "copy them together"
        ) from error
    except (AttributeError, pickle.UnpicklingError, EOFError) as error:
        raise BadInput(
            f"{path}: no gensim model or vectors, or a damaged one ({one_line(error)})"
        ) from error
    if not isinstance(getattr(saved, "wv", saved), KeyedVectors):
        raise BadInput(f"{path}: holds a {type(saved).__name__}, not word vectors")
    return saved


def _load_word2vec(path: Path, lines: list[bytes]) -> KeyedVectors:
    from gensim.models import KeyedVectors

    first, second = lines
    if _has_sizes(first):
        is_text = _numbers_after_word(second) == int(first.split()[1])
        return KeyedVectors.load_word2vec_format(str(path), binary=not is_text)
    if _numbers_after_word(first) > 1 and _numbers_after_word(first) == _numbers_after_word(second):
        return KeyedVectors.load_word2vec_format(str(path), binary=False, no_header=True)
    raise BadInput(
        f"{path}: no vectors in a known form; give a model or vectors saved by gensim, or "
        "word2vec's text or binary form"
    )


def _has_sizes(line: bytes) -> bool:
    fields = line.split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _numbers_after_word(line: bytes) -> int:
    """Give D for a line ``word number_1 … number_D`` of text, else 0."""
    fields = line.split()
    try:
        values = [float(field) for field in fields[1:]]
    except ValueError:
        return 0
    return 0 if any(map(math.isinf, values)) else len(values)


def check_can_save(path: Path) -> None:
    """Find out before hours of work whether `path` can be written at their end.

    Raises
    ------
    BadInput
        `path` is a folder, its folder is missing, or nothing can be written there.
    """
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise BadInput(f"{path.parent}: no such folder; create it first (mkdir -p)")
    try:
        # permission bits do not tell the whole truth (read-only mounts, root): try it
        TemporaryFolder("saving", path.parent, is_hidden=True).close()
    except OSError as error:
        raise BadInput(f"{path.parent}: cannot be written to ({error.strerror})") from error


def save_whole(
    path: Path, write: Callable[[str], None], progress: bool | None = None
) -> list[Path]:
    """Let `write` make the file `path`, and the files that gensim puts beside it, or none.

    See `gensim_tfw2v.files.whole.save_whole`.

    Parameters
    ----------
    path : Path
    write : callable
        Writes to the path that it is given.
    progress : bool, optional
        Whether to show that it is being saved; by default on a terminal.

    Returns
    -------
    list of Path
        What was written, `path` last.
    """
    from gensim_tfw2v.monitor.progress import phase

    with phase(f"saving {path}", progress):
        return saving.save_whole(path, write)
