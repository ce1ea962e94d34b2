"""Models and vectors in files: read in gensim's, word2vec's and fastText's formats, saved whole."""

from __future__ import annotations

import logging
import math
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, one_line
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.messages import converting, open_decompressed, quoted, undecodable, wide_encoding
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors, Word2Vec

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
        if not np.isfinite(vectors.vectors).all():
            raise BadInput(f"{path}: holds vectors that are NaN or infinite")
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
    try:
        first, second = _first_lines(path)
        if first[:1] == PICKLE_MARK:
            return _load_pickled(path, mapped)
        if first.startswith(FASTTEXT_MARK):
            from gensim.models.fasttext import load_facebook_model

            return load_facebook_model(str(path), encoding)
        if first.startswith(ZIP_MARK) and (vectors := _load_numpy(path)):
            return vectors
        return _load_word2vec(path, encoding, first, second)
    except (BadInput, ImportError):
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
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
    except (AttributeError, pickle.UnpicklingError, EOFError) as error:
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
        return keyed(arrays["words"].tolist(), arrays["vectors"].astype(np.float32))


def _load_word2vec(path: Path, encoding: str, first: bytes, second: bytes) -> KeyedVectors:
    """Load vectors in the word2vec tool's format, which the first two lines tell."""
    from gensim.models import KeyedVectors, keyedvectors

    # one line for all of them is enough, and `with_keys` counts them
    keyedvectors.logger.addFilter(_is_no_duplicate)

    def load(**form: bool) -> KeyedVectors:
        try:
            return KeyedVectors.load_word2vec_format(str(path), encoding=encoding, **form)
        except UnicodeDecodeError as error:
            cure = "Give its encoding, as in: --encoding latin-1"
            said = undecodable(error, _place(path, error.object) + error.start, cure)
            raise BadInput(f"{path}: {said}") from error

    numbers = _numbers_after_word(second)
    if _has_sizes(first):
        is_text = numbers == int(first.split()[1])
        return load(binary=not is_text)
    if _numbers_after_word(first) == numbers > 1:
        return load(binary=False, no_header=True)
    if wide := wide_encoding(first):
        raise BadInput(f"{path}: is not {encoding.upper()} text. {converting(wide)}")
    raise BadInput(
        f"{path}: no vectors in a known format; give what gensim or fastText has saved, word2vec's "
        "text or binary format, or an .npz of tfw2v convert"
    )


def _is_no_duplicate(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("duplicate word")


def _place(path: Path, text: bytes) -> int:
    """Where in a file, decompressed, some bytes are; they are there."""
    begin, held = 0, b""
    with open_decompressed(path) as file:
        while (at := held.find(text)) < 0:
            begin, held = begin + max(0, len(held) - len(text)), held[-len(text) :]
            held += file.read(2**20)
    return begin + at


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
    try:
        # permission bits do not tell the whole truth (read-only mounts, root): try it
        TemporaryFolder("saving", real.parent, is_hidden=True).close()
    except OSError as error:
        raise BadInput(f"{real.parent}: cannot be written to ({error.strerror})") from error


def save_model(
    model: Word2Vec, output: Path, vectors: Path | None, binary: bool, progress: bool | None = None
) -> Iterator[Path]:
    """Save a model, and its vectors alone where that is asked for; name each file when it is."""
    yield from save_whole(output, model.save, progress)
    if vectors is not None:
        yield from save_whole(vectors, vectors_writer(model.wv, binary), progress)


def vectors_writer(vectors: KeyedVectors, binary: bool) -> Callable[[Any], None]:
    """Give what writes vectors to a path or an open file in word2vec's text or binary format."""
    from gensim_tfw2v.keyed import save_text

    def write(to: Any) -> None:
        if binary:
            vectors.save_word2vec_format(place(to), binary=True)
        else:
            save_text(vectors, place(to))

    return write


def place(to: Any) -> Any:
    """The path, or the number of an open file, which gensim can open."""
    return to if isinstance(to, str) else to.fileno()


def save_whole(
    path: Path, write: Callable[..., object], progress: bool | None = None
) -> list[Path]:
    """Save as `gensim_tfw2v.files.whole.save_whole`, and show it, by default on a terminal."""
    from gensim_tfw2v.files import whole

    with phase(f"saving {path}", progress):
        return whole.save_whole(path, write)
