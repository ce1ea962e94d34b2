"""Download and upload of pretrained folders: models on the Hugging Face Hub."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.tables.table_formats import SUFFIXES as TABLE_SUFFIXES
from gensim_tfw2v.files.foreign_paths import describe_file
from gensim_tfw2v.messages import COMPRESSED, require
from gensim_tfw2v.training.folder_contents import CONFIG, TAGS, TOKENIZER
from gensim_tfw2v.training.model_card import CARD
from gensim_tfw2v.training.pretrained import TENSORS, save_pretrained

#: Package that downloads from the Hub and uploads to it.
HUB = "huggingface_hub"

#: Suffixes of files. A name with such a suffix is a path, because no model on the Hub has one.
FILE_SUFFIXES = {
    *(".model", ".kv", ".wv", ".gensim", ".txt", ".vec", ".w2v", ".emb", ".bin", ".npz", ".npy"),
    *(".keras", ".h5", ".pkl", ".pickle", ".safetensors", ".zip", ".tar"),
    *COMPRESSED,
    *TABLE_SUFFIXES,
}


def find_folder(name: str | os.PathLike[str], loader: str = "TFWord2Vec", **options: Any) -> Path:
    """Return the folder of a name; download it from the Hub unless it exists here.

    `loader` is the name of the class that loads the model.

    Raises
    ------
    NotADirectoryError
        If the name is that of a file.
    FileNotFoundError
        If a name that can only be a path does not exist.
    OSError
        If the download fails.
    ImportError
        If the download needs huggingface_hub, which is missing.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        description = describe_file(path, loader) or "is a file; pass a folder of save_pretrained"
        raise NotADirectoryError(f"{name}: {description}")
    if isinstance(name, os.PathLike) or _is_path(name):
        raise FileNotFoundError(
            f"{name}: no such folder (current folder: {Path.cwd()}); pass a folder of "
            "save_pretrained, or the name of a model on the Hugging Face Hub, such as user/model"
        )
    require(f"{name} is not a folder; downloading it", HUB)
    import huggingface_hub as hub

    files = [CONFIG, TOKENIZER, TAGS, TENSORS]
    try:
        return Path(hub.snapshot_download(str(name), allow_patterns=files, **options))
    except TypeError:  # `options` contains one that snapshot_download lacks
        raise
    except Exception as error:
        raise OSError(
            f"{name}: is not a folder in {Path.cwd()}, and could not be downloaded as a model of "
            f"the Hugging Face Hub ({_hub_message(error)})"
        ) from error


def _is_path(name: str) -> bool:
    """Return whether a name can only be a path: models on the Hub are ``name`` or ``user/name``."""
    is_hub_name = name and name[0] not in "/.~" and name[-1] != "/" and "\\" not in name
    has_suffix = Path(name).suffix.lower() in FILE_SUFFIXES
    return not is_hub_name or name.count("/") > 1 or has_suffix


def _hub_message(error: Exception) -> str:
    """Return an error of huggingface_hub on one line, with its type."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{'...' if len(text) > 300 else ''}"


def push_to_hub(
    model: Any, name: str, results: Mapping[str, float] | None, private: Any, token: Any
) -> str:
    """Upload a model to the Hub; see `TFWord2Vec.push_to_hub`."""
    require(f"uploading {name}", HUB)
    import huggingface_hub

    hub = huggingface_hub.HfApi(token=token)
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, folder, results)
        try:
            hub.create_repo(name, private=private, exist_ok=True)
            if hub.file_exists(name, CARD):  # keep it: a user may have edited it
                Path(folder, CARD).unlink()
            return str(hub.upload_folder(repo_id=name, folder_path=folder))
        except Exception as error:
            raise OSError(
                f"{name}: could not be uploaded to the Hugging Face Hub ({_hub_message(error)})"
            ) from error
