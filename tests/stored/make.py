"""Store models and other files of this version, for the tests of later versions.

``python -m tests.stored.make`` writes the folder of the current version. Each release needs one;
CONTRIBUTING.md describes a release. A folder that exists is never written again.
"""

import contextlib
import os
import shutil
import sys
from pathlib import Path
from unittest import mock

import numpy as np
from gensim.models.callbacks import CallbackAny2Vec
from typer.testing import CliRunner

import gensim_tfw2v
from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.main import app
from tests.stored.contents import describe_contents, find_neighbours
from tests.stored.manifest import CORPUS, FOLDER, UTF8, load, read_corpus, write_manifest

TOPICS = (
    "river lake sea boat harbour fish water wave",
    "bread oven flour butter cake sugar salt crème",
    "train station rails ticket engine wagon driver signal",
)
N_SENTENCES = 60
WORDS_PER_SENTENCE = 8

OPTIONS = {
    **{"vector_size": 8, "window": 3, "min_count": 1, "sample": 0, "epochs": 5, "alpha": 0.1},
    **{"seed": 7, "workers": 1, "progress": False},
}

#: Class, kind of corpus, and options of each model.
MODELS = {
    "skip-gram": (TFWord2Vec, "words", {"sg": 1, "negative": 5}),
    "cbow-hs": (TFWord2Vec, "words", {"sg": 0, "hs": 1, "negative": 0}),
    "both-losses": (TFWord2Vec, "words", {"sg": 1, "hs": 1, "negative": 3}),
    "integers": (TFWord2Vec, "integers", {}),
    "fasttext": (TFFastText, "words", {"bucket": 60, "min_n": 3, "max_n": 4}),
    "doc2vec-dm": (TFDoc2Vec, "integer tags", {"dm": 1}),
    "doc2vec-dbow": (TFDoc2Vec, "string tags", {"dm": 0, "dbow_words": 1}),
    "doc2vec-concat": (TFDoc2Vec, "integer tags", {"dm": 1, "dm_concat": 1, "window": 2}),
}

#: Models whose training runs are also stored as they are after `STOPPED_AFTER` epochs.
STOPPED = ("both-losses", "fasttext", "doc2vec-dm")
STOPPED_AFTER = 3

#: Vectors that ``tfw2v convert`` writes, by the model that it reads.
CONVERTED = {
    "skip-gram": ("vectors.txt", "vectors.bin", "vectors.npz", "vectors.keras"),
    "fasttext": ("fasttext.vec",),
}


class Stopped(Exception):
    """End of training before its last epoch."""


class StopAfter(CallbackAny2Vec):
    """Callback that stops training after some of its epochs."""

    def __init__(self, epochs):
        self.epochs_left = epochs

    def on_epoch_end(self, model):
        self.epochs_left -= 1
        if self.epochs_left == 0:
            raise Stopped


def make_sentences():
    draws = np.random.default_rng(0)
    for _ in range(N_SENTENCES):
        topic = TOPICS[draws.integers(len(TOPICS))].split()
        yield [topic[i] for i in draws.integers(len(topic), size=WORDS_PER_SENTENCE)]


def convert(*arguments):
    result = CliRunner().invoke(app, ["convert", *arguments])
    assert result.exit_code == 0, result.output


def store_all():
    """Write all files into the current folder, so that no path is stored; yield the entries."""
    Path(CORPUS).write_text("".join(f"{' '.join(words)}\n" for words in make_sentences()), UTF8)
    for name, (class_, kind, options) in MODELS.items():
        corpus = read_corpus(Path(), kind)
        options = OPTIONS | options
        model = class_(corpus, **options)
        entry = {"corpus": kind, "model": name}
        yield from store_model(model, entry)
        if name in CONVERTED:
            model.wv.save(f"{name}.kv")
            yield add_contents({"path": f"{name}.kv", "loader": "load_saved"})
        for path in CONVERTED.get(name, ()):
            convert(f"{name}/whole", path)
            yield add_contents({"path": path, "loader": "load_saved"})
        if name in STOPPED:
            yield store_checkpoints(class_, corpus, options) | entry
    convert("fasttext/whole", "fasttext.bin", "--to", "fasttext")
    yield add_contents({"path": "fasttext.bin", "loader": "load_saved"})
    model = TFDoc2Vec.load("doc2vec-dbow/whole")
    model.save_word2vec_format("tags.txt", doctag_vec=True, word_vec=False)
    yield add_contents({"path": "tags.txt", "loader": "load_saved"})
    yield store_index(TFWord2Vec.load("skip-gram/whole"))


def store_model(model, entry):
    """Save a model in each way; yield an entry of each."""
    folder = Path(entry["model"])
    folder.mkdir()
    model.save(str(folder / "whole"))
    model.save(str(folder / "with-arrays"), sep_limit=0)
    model.save_pretrained(folder / "pretrained")
    class_ = type(model).__name__
    for path, method in (
        ("whole", "load"),
        ("with-arrays", "load"),
        ("pretrained", "from_pretrained"),
    ):
        yield add_contents(entry | {"path": f"{folder}/{path}", "loader": f"{class_}.{method}"})


def add_contents(entry):
    """Return an entry with the contents of its file, as this version loads them."""
    return entry | {"contents": describe_contents(load(Path(), entry))}


def store_checkpoints(class_, corpus, options):
    """Store the checkpoints of a training run that was stopped; return their entry."""
    folder = Path(f"checkpoints-{class_.__name__}")
    with contextlib.suppress(Stopped):
        callbacks = [StopAfter(STOPPED_AFTER)]
        class_(corpus, **options, checkpoint_dir=folder, callbacks=callbacks)
    (folder / "in-use.lock").unlink()
    return {
        "path": str(folder),
        "loader": "checkpoint_dir",
        "class": class_.__name__,
        "options": options,
        "epochs": STOPPED_AFTER,
    }


def store_index(model):
    index = model.index()
    index.save(Path("words.index"))
    return {
        "path": "words.index",
        "loader": "NeighbourIndex.load",
        "vectors": "skip-gram/whole",
        "neighbours": find_neighbours(model.wv, indexer=index),
    }


def main():
    folder = FOLDER / gensim_tfw2v.__version__
    if folder.exists():
        sys.exit(f"{folder} exists: later versions must read what was stored then")
    folder.mkdir()
    os.chdir(folder)
    # Every processor has this kernel, so that stored training runs resume with equal rounding.
    os.environ["TFW2V_ISA"] = "portable"
    try:
        with mock.patch("platform.platform", lambda *_, **__: "Linux"):  # part of a model's history
            write_manifest(folder, list(store_all()))
    except BaseException:
        shutil.rmtree(folder)
        raise


if __name__ == "__main__":
    main()
