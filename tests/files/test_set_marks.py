"""Files of different saves are not loaded as one model."""

import contextlib
import io
import itertools
import os
import shutil
import signal
import time
import traceback
from functools import partial

import numpy as np
import pytest
from gensim.models import Doc2Vec, FastText, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_saved, save_atomically
from gensim_tfw2v.files.file_set import FileSetError


@contextlib.contextmanager
def repeated(work):
    """Exhaust an iterator in a child process, until it is killed; it must not fail."""
    child = os.fork()
    if not child:
        try:
            for _ in work:
                pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    assert status == signal.SIGKILL, "the child process failed"


CLASSES = {TFWord2Vec: Word2Vec, TFFastText: FastText, TFDoc2Vec: Doc2Vec}


def trained(made, seed):
    texts = common_texts
    if made in (TFDoc2Vec, Doc2Vec):
        texts = [TaggedDocument(words, [n]) for n, words in enumerate(texts)]
    options = {"bucket": 20} if made in (TFFastText, FastText) else {}
    return made(texts, vector_size=4, min_count=1, workers=1, seed=seed, **options)


@pytest.fixture(scope="module", params=CLASSES, ids=lambda made: made.__name__)
def made(request):
    return request.param


@pytest.fixture(scope="module")
def models(made):
    return [trained(made, seed) for seed in (1, 2)]


def save_both(models, folder, name="m"):
    """Save two models in folders, with all arrays in separate files; return the main files."""
    paths = []
    for number, model in enumerate(models):
        (folder / str(number)).mkdir()
        paths.append(folder / str(number) / name)
        model.save(str(paths[-1]), sep_limit=0)
    return paths


def arrays_of(path):
    return sorted(path.parent.glob(f"{path.name}.*"))


@pytest.mark.parametrize("name", ["m", "m.gz", "m.bz2"])
def test_every_mixture_of_two_saves_is_refused(tmp_path, made, models, name):
    first, second = save_both(models, tmp_path, name)
    n_files = 1 + len(arrays_of(first))
    assert n_files > 3
    for replaced in arrays_of(second) + [second]:
        mixed = tmp_path / "mixed" / name
        shutil.copytree(first.parent, mixed.parent)
        shutil.copy(replaced, mixed.parent)
        with pytest.raises(FileSetError, match=r"restore all.*or save the model again") as error:
            made.load(str(mixed))
        assert str(error.value).startswith(f"{mixed}: ")
        assert replaced.name in str(error.value)
        with pytest.raises(BadInput, match="would mix two saves"):
            load_saved(mixed)
        if name == "m":
            with pytest.raises(FileSetError, match="would mix two saves"):
                made.load(str(mixed), mmap="r")
        models[0].save(str(mixed), sep_limit=0)
        np.testing.assert_array_equal(made.load(str(mixed)).wv.vectors, models[0].wv.vectors)
        shutil.rmtree(mixed.parent)


def test_mixture_whose_arrays_do_not_fit_is_refused_by_name(tmp_path):
    models = [TFFastText(common_texts, vector_size=size, min_count=1, bucket=9) for size in (4, 5)]
    first, second = save_both(models, tmp_path)
    shutil.copy(f"{second}.wv.vectors_ngrams.npy", first.parent)
    with pytest.raises(FileSetError, match=r"m.wv.vectors_ngrams.npy and m are not of the same"):
        TFFastText.load(str(first))


def test_equal_main_files_with_arrays_of_two_saves_are_refused(tmp_path):
    """The main files are the same bytes: random ids alone tell the saves apart."""
    paths = []
    for number in (0, 1):
        vectors = KeyedVectors(2)
        vectors.add_vectors(["a", "b"], np.full((2, 2), number))
        vectors.lifecycle_events = None
        (tmp_path / str(number)).mkdir()
        paths.append(tmp_path / str(number) / "v")
        vectors.other = np.full(3, number)
        save_atomically(paths[-1], partial(vectors.save, sep_limit=0))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    shutil.copy(f"{paths[1]}.vectors.npy", paths[0].parent)
    with pytest.raises(BadInput, match=r"v.vectors.npy.* and v are not of the same save"):
        load_saved(paths[0])


@pytest.mark.parametrize("name", ["m", "m.gz"])
def test_files_load_by_gensim_and_numpy(tmp_path, made, models, name):
    path = save_both(models, tmp_path, name)[0]
    loads = [{}] if name == "m.gz" else [{}, {"mmap": "r"}, {"mmap": "c"}]
    for options in loads:
        loaded = CLASSES[made].load(str(path), **options)
        np.testing.assert_array_equal(loaded.wv.vectors, models[0].wv.vectors)
        np.testing.assert_array_equal(loaded.syn1neg, models[0].syn1neg)
    array = np.load(arrays_of(path)[0])
    if name == "m.gz":
        array = array["val"]
    assert models[0].syn1neg.dtype == array.dtype


def test_copied_and_renamed_files_load(tmp_path, made, models):
    path = save_both(models, tmp_path)[0]
    for file in (path, *arrays_of(path)):
        shutil.copy(file, tmp_path / file.name.replace("m", "n", 1))
    for options in ({}, {"mmap": "r"}):
        loaded = made.load(str(tmp_path / "n"), **options)
        np.testing.assert_array_equal(loaded.syn1neg, models[0].syn1neg)


def test_files_saved_by_gensim_load(tmp_path, made):
    """Over ours, from ours, and mixed with ours."""
    model = trained(made, 1)
    path = tmp_path / "m"
    model.save(str(path), sep_limit=0)
    gensims = trained(CLASSES[made], 2)
    gensims.save(str(path), sep_limit=0)
    np.testing.assert_array_equal(made.load(str(path)).syn1neg, gensims.syn1neg)

    model.to_gensim().save(str(path), sep_limit=0)
    unmarked = arrays_of(path)[0].read_bytes()
    model.save(str(path), sep_limit=0)
    assert arrays_of(path)[0].read_bytes().startswith(unmarked)
    loaded = CLASSES[made].load(str(path), mmap="r")
    loaded.save(str(tmp_path / "again"), sep_limit=0)
    np.testing.assert_array_equal(made.load(str(tmp_path / "again")).syn1neg, model.syn1neg)

    arrays_of(path)[0].write_bytes(unmarked)
    with pytest.raises(FileSetError, match=arrays_of(path)[0].name):
        made.load(str(path))


def test_files_without_marks_load(tmp_path, made, models, monkeypatch):
    """As saved by an earlier version."""
    monkeypatch.setattr("gensim_tfw2v.files.atomic.mark_arrays", lambda main, others: None)
    path = save_both(models, tmp_path)[0]
    np.testing.assert_array_equal(made.load(str(path)).syn1neg, models[0].syn1neg)


def test_uris_and_open_files_load_unchecked(tmp_path, models, made):
    path = save_both(models, tmp_path)[0]
    models[0].save(str(tmp_path / "one"))
    assert made.load((tmp_path / "one").as_uri()).vector_size == 4
    handle = io.BytesIO()
    models[0].save(handle)
    with pytest.raises(FileNotFoundError):
        made.load(str(path) + "-missing")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tags.json", "model.safetensors"]
)
def test_mixed_pretrained_folder_is_refused(tmp_path, name):
    paths = []
    for seed in (1, 2):
        documents = [
            TaggedDocument([*words, f"w{seed}"], [f"{seed}-{n}"])
            for n, words in enumerate(common_texts)
        ]
        model = TFDoc2Vec(documents, vector_size=4, min_count=1, seed=seed)
        paths.append(tmp_path / str(seed))
        model.save_pretrained(paths[-1])
    shutil.copy(paths[1] / name, paths[0])
    with pytest.raises(FileSetError, match=rf"{name}.*not of the same save.*restore all"):
        TFDoc2Vec.from_pretrained(paths[0])
    with pytest.raises(BadInput, match="are not of the same save"):
        load_saved(paths[0])
    model.save_pretrained(paths[0])
    loaded = TFDoc2Vec.from_pretrained(paths[0])
    np.testing.assert_array_equal(loaded.dv.vectors, model.dv.vectors)


@pytest.mark.parametrize("n_savers", [1, 2])
@pytest.mark.parametrize("kind", ["model", "pretrained"])
def test_models_loaded_while_they_are_saved_are_never_mixed(tmp_path, kind, n_savers):
    """Processes save two models over each other, while this one loads them."""
    models = [trained(TFWord2Vec, seed) for seed in (1, 2)]
    path = tmp_path / "m"

    def save(model):
        if kind == "model":
            model.save(str(path), sep_limit=0)
        else:
            model.save_pretrained(path)

    def load():
        return TFWord2Vec.load(str(path)) if kind == "model" else TFWord2Vec.from_pretrained(path)

    save(models[0])
    versions = []
    with contextlib.ExitStack() as stack:
        for n in range(n_savers):
            stack.enter_context(repeated(map(save, itertools.cycle(models[:: 1 - 2 * n]))))
        start = time.monotonic()
        # at least a second, and longer on a machine that is slow at the moment
        while (seconds := time.monotonic() - start) < 1 or (
            seconds < 60 and (len(versions) < 10 or {*versions} != {0, 1})
        ):
            try:
                loaded = load()
            except (FileNotFoundError, FileSetError):
                continue
            version = int(np.array_equal(loaded.wv.vectors, models[1].wv.vectors))
            np.testing.assert_array_equal(loaded.wv.vectors, models[version].wv.vectors)
            np.testing.assert_array_equal(loaded.syn1neg, models[version].syn1neg)
            assert loaded.seed == models[version].seed
            versions.append(version)
    assert len(versions) >= 10 and {*versions} == {0, 1}
    save(models[0])
    np.testing.assert_array_equal(load().syn1neg, models[0].syn1neg)
