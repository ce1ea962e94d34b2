"""A process is killed while it saves over older files. The old or the new ones load afterwards."""

import json
import multiprocessing
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

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

#: Texts of the old and of the new version. Their vocabularies differ.
TEXTS = (common_texts, [[*text, "new"] for text in common_texts[::-1]])


@dataclass
class Kind:
    """A kind of saved set of files.

    `save` saves version 0 or 1 in a folder, and `load` loads it. The functions in `others` load it
    without this package, or without its code that finishes an interrupted save. For them, a file
    may be missing.
    """

    save: Callable[[int, Path], object]
    load: Callable[[Path], Any]
    others: tuple[Callable[[Path], Any], ...] = ()


def trained(made: type, version: int) -> Any:
    texts: Any = TEXTS[version]
    if made is TFDoc2Vec:
        texts = [TaggedDocument(words, [f"{version}-{n}"]) for n, words in enumerate(texts)]
    options = {"bucket": 20} if made is TFFastText else {}
    # the vectors' size is the same, so that a mixture could be loaded
    return made(texts, vector_size=4, min_count=1, workers=1, seed=version, **options)


def model(made: type, gensims: type, suffix: str = "", **options: Any) -> Kind:
    models = [trained(made, version) for version in (0, 1)]

    def load(load_file: Callable[..., Any], folder: Path, **mmap: str) -> Any:
        return load_file(str(folder / f"m{suffix}"), **mmap)

    others = [partial(load, gensims.load)]
    if not suffix:
        others.append(partial(load, gensims.load, mmap="r"))
    return Kind(
        lambda version, folder: models[version].save(str(folder / f"m{suffix}"), **options),
        partial(load, made.load),
        tuple(others),
    )


def vectors() -> Kind:
    saved = [trained(TFWord2Vec, version).wv for version in (0, 1)]

    def save(version: int, folder: Path) -> None:
        save_atomically(folder / "v.kv", partial(saved[version].save, sep_limit=0))

    def load_by_gensim(folder: Path) -> Any:
        return KeyedVectors.load(str(folder / "v.kv"))

    return Kind(save, lambda folder: load_saved(folder / "v.kv"), (load_by_gensim,))


def pretrained(made: type) -> Kind:
    models = [trained(made, version) for version in (0, 1)]

    def load_by_safetensors(folder: Path) -> Any:
        from safetensors.numpy import load_file

        names = ("tokenizer.json", "modules.json", "config.json")
        texts = [json.loads((folder / name).read_text()) for name in names]
        return texts, load_file(folder / "model.safetensors")

    return Kind(
        lambda version, folder: models[version].save_pretrained(folder),
        made.from_pretrained,
        (load_by_safetensors,),
    )


def facebook() -> Kind:
    models = [trained(TFFastText, version) for version in (0, 1)]
    return Kind(
        lambda version, folder: models[version].save_facebook_model(folder / "f.bin"),
        lambda folder: TFFastText.load_facebook_model(folder / "f.bin"),
    )


def index() -> Kind:
    pytest.importorskip("usearch")
    from gensim_tfw2v import NeighbourIndex

    vectors = [trained(TFWord2Vec, version).wv for version in (0, 1)]
    saved = [NeighbourIndex(of, workers=1) for of in vectors]

    def load(folder: Path) -> Any:
        loaded = NeighbourIndex.load(folder / "i")
        return [loaded.keys, [loaded.most_similar(row) for row in vectors[0].vectors]]

    return Kind(lambda version, folder: saved[version].save(folder / "i"), load)


KINDS: dict[str, Callable[[], Kind]] = {
    "Word2Vec": lambda: model(TFWord2Vec, Word2Vec, sep_limit=0),
    "FastText": lambda: model(TFFastText, FastText, sep_limit=0),
    "Doc2Vec": lambda: model(TFDoc2Vec, Doc2Vec, sep_limit=0),
    "one file": lambda: model(TFWord2Vec, Word2Vec),
    "compressed": lambda: model(TFWord2Vec, Word2Vec, ".gz", sep_limit=0),
    "KeyedVectors": vectors,
    "pretrained Word2Vec": lambda: pretrained(TFWord2Vec),
    "pretrained FastText": lambda: pretrained(TFFastText),
    "pretrained Doc2Vec": lambda: pretrained(TFDoc2Vec),
    "fastText": facebook,
    "index": index,
}

#: Kinds that are tested at each change, not only with the slow tests.
QUICK = ("Word2Vec", "Doc2Vec", "KeyedVectors", "pretrained FastText", "index")


def content(value: Any) -> Any:
    """Return everything in an object except its log and caches, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return content(value.tolist()) if value.dtype == object else (value.shape, value.tobytes())
    if isinstance(value, dict):
        left_out = {"lifecycle_events", "random", "_state", "__numpys", "__recursive_saveloads"}
        return {key: content(x) for key, x in value.items() if key not in left_out}
    if isinstance(value, (list, tuple)):
        return [content(x) for x in value]
    if isinstance(value, SaveLoad):
        return content(vars(value))
    return repr(value)


@pytest.fixture(scope="module")
def small_process():
    """Run functions in a new process, whose forks are fast because it lacks TensorFlow."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        yield lambda function, *arguments: executor.submit(function, *arguments).result()


def check_kills(folder: Path, name: str, writes_step: int) -> None:
    """Kill a save over version 0 at all changes of names and some writes, and load the result."""
    kind = KINDS[name]()
    old, new, trial = (folder / name for name in ("old", "new", "trial"))
    for version, at in enumerate((old, new)):
        at.mkdir()
        kind.save(version, at)
    loaders = (kind.load, *kind.others)
    expected = [[content(load(at)) for at in (old, new)] for load in loaders]
    assert all(contents[0] != contents[1] for contents in expected)

    def start_program() -> None:
        temporary._remove_abandoned.cache_clear()  # a process calls it once

    def start_trial() -> None:
        start_program()
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(old, trial)

    def save_new() -> None:
        kind.save(1, trial)

    start_trial()
    names, writes = changing_calls(save_new, trial)
    versions = {0: 0, 1: 0}
    for number in [*names, *writes[::writes_step]]:
        start_trial()
        is_killed = kill_at(save_new, number)
        for load, contents in zip(kind.others, expected[1:], strict=True):
            try:
                assert content(load(trial)) in contents
            except FileNotFoundError:
                pass  # loud
        version = expected[0].index(content(kind.load(trial)))  # raises for a mixture
        assert is_killed or version
        versions[version] += 1
        start_program()
        kind.save(0, trial)
        assert content(kind.load(trial)) == expected[0][0]
        left = [path.name for path in trial.rglob("*") if path.is_file() and path.stat().st_size]
        assert sorted(left) == sorted(path.name for path in old.rglob("*"))
    assert min(versions.values()) > 2, versions


@pytest.mark.parametrize("name", QUICK)
def test_killed_save_leaves_the_old_or_the_new_version(small_process, tmp_path, name):
    small_process(check_kills, tmp_path, name, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_save_killed_at_any_call_leaves_the_old_or_the_new_version(small_process, tmp_path, name):
    small_process(check_kills, tmp_path, name, 1)


def test_killed_checkpoint_leaves_the_old_or_the_new_one(small_process, tmp_path):
    small_process(check_kills_of_checkpoints, tmp_path)


@mock.patch.object(threading.Thread, "start", threading.Thread.run)
@mock.patch.object(threading.Thread, "join", lambda thread: None)
def check_kills_of_checkpoints(folder: Path) -> None:
    """Kill the writing of a checkpoint, in the main thread here: a tracer follows one thread."""
    old, trial = folder / "old", folder / "trial"

    def save(folder: Path, number: int) -> None:
        arrays = {name: np.full((3, 2), number, np.float32) for name in ("inputs", "outputs")}
        Checkpoints(folder, {"seed": 1}).save(arrays, {"epoch": number})

    def load(folder: Path) -> Any:
        return Checkpoints(folder, {"seed": 1}).load_latest(
            lambda arrays, state: (state["epoch"], {name: x.tolist() for name, x in arrays.items()})
        )

    for number in (1, 2):
        save(old, number)
    shutil.copytree(old, trial)
    before = load(trial)
    names, writes = changing_calls(lambda: save(trial, 3), trial)
    after = load(trial)
    assert (before[0], after[0]) == (2, 3)
    seen = []
    for number in [*names, *writes]:
        shutil.rmtree(trial)
        shutil.copytree(old, trial)
        kill_at(lambda: save(trial, 3), number)
        seen.append(load(trial))
        assert seen[-1] in (before, after)
        save(trial, 4)
        assert load(trial)[0] == 4
    assert before in seen and after in seen
