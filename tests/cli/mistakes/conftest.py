"""Files that the tables of mistakes name."""

import gzip
import json

import pytest
from gensim.models import Doc2Vec, FastText, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import datapath

#: A correct hosts file, and changes that make it wrong.
HOSTS = {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"], "worker": ["127.0.0.1:3"]}
WRONG_HOSTS = {
    "twice": {"worker": ["127.0.0.1:2"]},
    "noport": {"worker": ["127.0.0.1"]},
    "bigport": {"worker": ["127.0.0.1:70000"]},
    "user": {"worker": ["me@10.0.0.1:2222"]},
    "string": {"worker": "127.0.0.1:3"},
    "number": {"worker": [2222]},
    "emptyps": {"ps": []},
    "role": {"workers": ["127.0.0.1:9"]},
    "chiefs": {"chief": ["a:1", "b:1"]},
}

#: Figures of a link, and of a blocked one.
LINK = {"from": "worker 0", "to": "ps 0", "from_address": "a:1", "to_address": "b:1"}
FAST = LINK | {"mbit_per_second": 9, "mbit_per_second_back": 9, "round_trip_ms": 1, "problem": ""}
BLOCKED = {name: None for name in FAST} | LINK | {"problem": "worker 0 does not reach ps 0 (b:1)"}

#: Names and contents of the remaining files.
CONTENTS = {
    "tiny": ("tiny.txt", "one two three\n"),
    "pairs": ("pairs.tsv", "the\tof\t5\nin\tto\t3\nand\tsaid\t7.5\nfor\tis\t2\n"),
    "analogies": ("analogies.txt", ": capital\nthe of in to\nand said for is\n"),
    "nodes": ("nodes.tsv", "1\tred\n2\tblue\n"),
    "same_labels": ("same_labels.tsv", "the\tword\nof\tword\n"),
    "few_labels": ("few_labels.tsv", "the\tarticle\nof\tpreposition\n"),
    "edges": ("edges.tsv", "the of\nof in\nin to\nto and\nand said\nsaid for\n"),
    "table": ("table.csv", "id,text\n1,hello world\n2,some more text\n"),
    "frequencies": ("frequencies.csv", "text,w,v\nhello world,2,0.5\nmore text,-1,few\n"),
    "records": ("table.jsonl", '{"id":1,"text":"a b"}\n'),
    "empty": ("empty", ""),
    "empty_text": ("empty.txt", ""),
    "empty_table": ("empty.csv", ""),
    "image": ("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"),
    "noise": ("noise.bin", bytes(range(256)) * 20),
    "latin1": ("latin1.txt", "café à la crème\n".encode("latin-1") * 20),
    "utf16": ("utf16.txt", "the cat sat\n".encode("utf-16")),
    "page": ("page.html", "<!DOCTYPE html><html>404</html>"),
    "notours": ("notours.idx", bytes(100)),
    "places": ("places.tsv", "New York\tRome\nRome\tParis\n"),
    "weighted": ("weighted.csv", "source,target,w\na,b,2\nb,c,1\n"),
    "negative_edges": ("negative.tsv", "a\tb\t1\nb\tc\t-2\n"),
    "unnamed_edge": ("unnamed.tsv", "a\tb\na\t\n"),
    "no_edges": ("noedges.tsv", "# nothing but a comment\n"),
    "zero_edges": ("zero.tsv", "a\tb\t0\n"),
    "starts": ("starts.txt", "of\nx\n"),
    "hosts": ("hosts.json", json.dumps(HOSTS)),
    "fast_json": (
        "fast.json",
        json.dumps({"links": [FAST, FAST | {"from": "coordinator", "to": "worker 0"}]}),
    ),
    "lacking_json": ("lacking.json", json.dumps({"links": [FAST]})),
    "blocked_json": ("blocked.json", json.dumps({"links": [FAST, BLOCKED]})),
    "nochief_json": ("nochief.json", json.dumps({"ps": ["a:1"], "worker": ["b:1"]})),
    "noworker_json": ("noworker.json", json.dumps({"ps": ["a:1"]})),
    "list_json": ("list.json", "[1, 2]"),
    "comma_json": ("comma.json", '{"ps": ["a:1"], "worker": ["b:1"],}'),
    "keytwice_json": ("keytwice.json", '{"ps": ["a:1"], "ps": ["c:1"], "worker": ["b:1"]}'),
    "yaml_json": ("yaml.json", "ps:\n- a:1\nworker:\n- b:1\n"),
    "keytwice_yaml": ("keytwice.yaml", "ps: [a:1]\nps: [c:1]\nworker: [b:1]\n"),
    "tab_yaml": ("tab.yaml", "ps:\n\t- a:1\n"),
} | {
    f"{name}_json": (f"{name}.json", json.dumps(HOSTS | change))
    for name, change in WRONG_HOSTS.items()
}  # fmt: skip


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return the paths of all files by their names in tables; ``f`` is their folder."""
    folder = tmp_path_factory.mktemp("mistakes")
    with open(datapath("lee_background.cor"), encoding="utf-8") as file:
        lines = file.readlines()[:30]
    contents = CONTENTS | {
        "corpus": ("corpus.txt", "".join(lines)),
        "corpus_gz": ("corpus.txt.gz", gzip.compress("".join(lines).encode(), mtime=0)),
    }
    for name, content in contents.values():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    texts = [line.split() for line in lines]
    options = {"epochs": 1, "workers": 1, "seed": 1}
    model = Word2Vec(texts, vector_size=8, **options)
    model.save(str(folder / "model"))
    model.wv.save(str(folder / "vectors.kv"))
    model.wv.save_word2vec_format(str(folder / "text.txt"))
    model.wv.save_word2vec_format(str(folder / "binary.bin"), binary=True)
    Word2Vec(texts, vector_size=12, **options).save(str(folder / "wider"))
    Word2Vec([["uno", "dos", "tres"]] * 9, vector_size=8, **options).save(str(folder / "spanish"))
    documents = [TaggedDocument(text, [number]) for number, text in enumerate(texts)]
    Doc2Vec(documents, vector_size=8, dm=0, dbow_words=1, **options).save(str(folder / "docs"))
    FastText(texts, vector_size=8, bucket=50, **options).save(str(folder / "subwords"))
    (folder / "folder").mkdir()
    (folder / "broken").symlink_to(folder / "nowhere")
    own = ("model", "wider", "spanish", "docs", "subwords", "folder", "broken", "missing", "out")
    names = {name: name for name in own} | {name: path for name, (path, _) in contents.items()}
    names |= {"vectors": "vectors.kv", "text": "text.txt", "binary": "binary.bin"}
    return {name: str(folder / path) for name, path in names.items()} | {"f": str(folder)}
