"""Lists of stored files, and how each is loaded."""

import json
import operator
from pathlib import Path

from gensim.models.doc2vec import TaggedDocument

import gensim_tfw2v
from gensim_tfw2v.cli.model_files import load_saved

FOLDER = Path(__file__).parent
MANIFEST = "MANIFEST.json"
CORPUS = "corpus.txt"
UTF8 = "utf-8"


def list_versions():
    """Return the folders of all stored versions, the oldest first."""
    folders = [path.parent for path in FOLDER.glob(f"*/{MANIFEST}")]
    return sorted(folders, key=lambda folder: [int(part) for part in folder.name.split(".")])


def read_manifest(folder):
    return json.loads((folder / MANIFEST).read_text(UTF8))


def write_manifest(folder, manifest):
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in manifest)
    (folder / MANIFEST).write_text(f"[\n{lines}\n]\n", UTF8)


def read_corpus(folder, kind):
    """Return the stored corpus: lists of words, of integers, or documents with tags."""
    lines = (folder / CORPUS).read_text(UTF8).splitlines()
    sentences = [line.split() for line in lines]
    if kind == "words":
        return sentences
    if kind == "integers":
        return [list(map(len, words)) for words in sentences]
    if kind == "string tags":
        return [TaggedDocument(words, [f"line-{i}"]) for i, words in enumerate(sentences)]
    assert kind == "integer tags"
    return [TaggedDocument(words, [i]) for i, words in enumerate(sentences)]


def load(folder, entry):
    """Load the model or the vectors of an entry of a manifest."""
    path = folder / entry["path"]
    if entry["loader"] == "load_saved":
        return load_saved(path)
    return operator.attrgetter(entry["loader"])(gensim_tfw2v)(str(path))
