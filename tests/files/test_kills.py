"""A process is killed while it saves over older files: they load as the old ones or the new ones."""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import Doc2Vec, FastText, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts
from gensim.utils import SaveLoad

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.model_files import load_saved, save_atomically
from gensim_tfw2v.files import temporary
from gensim_tfw2v.training.checkpoints import Checkpoints
from tests.killed import changing_calls, kill_at

#: Texts of the old and of the new version; their vocabularies differ.
TEXTS = (common_texts, [[*text, "new"] for text in common_texts[::-1]])

#: Errors of other packages for sets of which a file is missing.
MISSING = (FileNotFoundError, OSError, ValueError)


def trained(made: type, version: int, **options: Any) -> Any:
    texts: Any = TEXTS[version]
    if made is TFDoc2Vec:
        texts = [TaggedDocument(words, [f"d{n}"]) for n, words in enumerate(texts)]
    if made is TFFastText:
        options |= {"bucket": 20}
    return made(texts, vector_size=4 + version, min_count=1, workers=1, seed=version, **options)


def content(value: Any) -> Any:
    """Everything in an object, in a form that can be compared; without the log of its life."""
    if isinstance(value, np.ndarray):
        return content(value.tolist()) if value.dtype == object else (value.shape, value.tobytes())
    if isinstance(value, dict):
        left_out = {"lifecycle_events", "random", "__numpys", "__recursive_saveloads"}
        return {key: content(x) for key, x in value.items() if key not in left_out}
    if isinstance(value, (list, tuple)):
        return [content(x) for x in value]
    if isinstance(value, SaveLoad):
        return content(vars(value))
    return repr(value)


@dataclass
class Kind:
    """A kind of saved set of files.

    `save` saves version 0 or 1 in a folder, `load` loads it, and so do the functions in `others`,
    without this package's protection.
    """

    save: Callable[[int, Path], object]
    load: Callable[[Path], Any]
    others: tuple[Callable[[Path], Any], ...] = ()


def model_kind(made: type, gensims: type, suffix: str = "") -> Kind:
    models = [trained(made, version) for version in (0, 1)]
    name = f"m{suffix}"

    def save(version: int, folder: Path) -> None:
        models[version].save(str(folder / name), sep_limit=0)

    def load(folder: Path) -> Any:
        model = made.load(str(folder / name))
        assert content(load_saved(folder / name)) == content(model)
        return model

    def mapped(folder: Path) -> Any:
        return gensims.load(str(folder / name), mmap="r")

    others = (lambda folder: gensims.load(str(folder / name)), mapped)
    return Kind(save, load, others[: 1 if suffix else 2])


def vectors_kind() -> Kind:
    vectors = [trained(TFWord2Vec, version).wv for version in (0, 1)]

    def save(version: int, folder: Path) -> None:
        save_atomically(folder / "v.kv", partial(vectors[version].save, sep_limit=0))

    return Kind(
        save,
        lambda folder: load_saved(folder / "v.kv"),
        (lambda f: KeyedVectors.load(str(f / "v.kv")),),
    )


def pretrained_kind(made: type) -> Kind:
    models = [trained(made, version) for version in (0, 1)]

    def tensors(folder: Path) -> Any:
        from safetensors.numpy import load_file

        words = json.loads((folder / "p" / "tokenizer.json").read_text())["model"]["vocab"]
        json.loads((folder / "p" / "config.json").read_text())
        return words, load_file(folder / "p" / "model.safetensors")

    return Kind(
        lambda version, folder: models[version].save_pretrained(folder / "p"),
        lambda folder: made.from_pretrained(folder / "p"),
        (tensors,),
    )


KINDS = {
    "Word2Vec": lambda: model_kind(TFWord2Vec, Word2Vec),
    "FastText": lambda: model_kind(TFFastText, FastText),
    "Doc2Vec": lambda: model_kind(TFDoc2Vec, Doc2Vec),
    "gz": lambda: model_kind(TFWord2Vec, Word2Vec, ".gz"),
    "KeyedVectors": vectors_kind,
    "pretrained Word2Vec": lambda: pretrained_kind(TFWord2Vec),
    "pretrained FastText": lambda: pretrained_kind(TFFastText),
    "pretrained Doc2Vec": lambda: pretrained_kind(TFDoc2Vec),
}


@pytest.mark.parametrize("name", KINDS)
def test_killed_save_leaves_the_old_or_the_new_version(tmp_path, name):
    kind = KINDS[name]()
    old, new, trial = (tmp_path / x for x in ("old", "new", "trial"))
    for version, folder in enumerate((old, new)):
        folder.mkdir()
        kind.save(version, folder)
    versions = [content(kind.load(old)), content(kind.load(new))]
    others = [[content(load(old)), content(load(new))] for load in kind.others]
    assert versions[0] != versions[1]

    def start() -> None:
        temporary._remove_abandoned.cache_clear()  # as in a new program
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(old, trial)

    start()
    names, writes = changing_calls(lambda: kind.save(1, trial), trial)
    seen = []
    for number in [*names, *writes[::5]]:
        start()
        killed = kill_at(lambda: kind.save(1, trial), number)
        by_others = []
        for load, expected in zip(kind.others, others, strict=True):
            try:
                by_others.append(expected.index(content(load(trial))))
            except MISSING as error:
                by_others.append(type(error).__name__)
        seen.append((by_others, versions.index(content(kind.load(trial))), killed))
        temporary._remove_abandoned.cache_clear()
        kind.save(0, trial)
        assert content(kind.load(trial)) == versions[0]
        left = [path.relative_to(trial) for path in trial.rglob("*")]
        left = [path for path in left if not str(path).startswith(".tfw2v") or path.suffix in (".npy",".json")]
        assert len(left)==len(list(old.rglob("*"))), left
    print(name, len(names), len(writes), seen)
    assert False
