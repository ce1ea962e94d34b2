"""Loading of a model's file, with errors that describe a file or folder of a different kind."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gensim.utils import SaveLoad

from gensim_tfw2v.files.foreign_paths import describe_file, describe_folder
from gensim_tfw2v.files.set_marks import load_marked
from gensim_tfw2v.messages import damage, open_decompressed
from gensim_tfw2v.training.model_checks import check_loaded


def load_model(name: Any, load: Callable[[], Any], class_: Any) -> Any:
    """Load a model's file; see `TFWord2Vec.load`.

    Parameters
    ----------
    name : object
        First argument of ``load``: usually a path.
    load : callable
        gensim's method, with its arguments.
    class_ : type
        Class whose `load` was called.
    """

    def load_pickle() -> Any:
        _check_is_pickle(name, class_)
        return load()

    try:
        model = load_marked(name, load_pickle)
        if not isinstance(model, class_._gensim_class):
            raise AttributeError(f"it is a {type(model).__name__}")
        check_loaded(model)
    except AttributeError as error:
        message = _describe_object(name, class_) or f"is damaged or not a model: {error}"
        raise AttributeError(f"{name} {message}") from error
    except (EOFError, pickle.UnpicklingError) as error:
        raise type(error)(f"{name} is damaged or not a model: {error}") from error
    return model


def _check_is_pickle(name: Any, class_: Any) -> None:
    """Raise if a path is a folder, or a file that is recognized as something else."""
    if not isinstance(name, str | os.PathLike) or "://" in str(name):
        return
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(f"{name}: {describe_folder(path)}")
    if (
        path.is_file()
        and not _is_pickle(path)
        and (description := describe_file(path, class_.__name__))
    ):
        raise ValueError(f"{name}: {description}")


def _is_pickle(path: Path) -> bool:
    try:
        with open_decompressed(path) as file:
            return bool(file.read(1) == b"\x80")
    except Exception as error:
        if isinstance(error, ImportError) or damage(error):
            return True  # treat it as a pickle: loading it raises the error
        raise


def _describe_object(name: Any, class_: Any) -> str:
    """Describe what a file contains instead of a model of a class; return "" if it is unknown."""
    try:
        stored_object = SaveLoad.load(os.fspath(name))
    except Exception:
        return ""
    kind = type(stored_object).__name__.removeprefix("TF")
    if isinstance(stored_object, class_._gensim_class):
        return ""
    if hasattr(stored_object, "wv"):
        return f"is a {kind} model: load it with TF{kind}.load"
    if hasattr(stored_object, "key_to_index"):
        cure = ""
        if not class_.has_subwords and not class_.has_documents:
            cure = f"; {class_.__name__}.from_vectors makes a model of them"
        return (
            f"contains only vectors ({kind}), and not a model to train: load them with "
            f"{kind}.load{cure}"
        )
    return f"is a {kind}, not a model of words"
