"""A small file of each kind that is not a text corpus, and texts that begin as such files do."""

import bz2
import functools
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import sys
import tarfile
import wave
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from gensim.corpora import MmCorpus
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from pyarrow import csv, feather, orc, parquet
from safetensors.numpy import save_file
from scipy.io import savemat

TEXTS = ["the cat sat on the mat", "a dog saw the cat", "the dog sat on a mat"] * 20
WALKS = [text.split() for text in TEXTS]
IDS = np.arange(1, 601, dtype=np.int32).reshape(60, 10)
RECORDS = [{"id": row, "text": text} for row, text in enumerate(TEXTS)]
LINES = "".join(text + "\n" for text in TEXTS)
WIKI = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    "  <page>\n    <title>Cat</title>\n    <text>The '''cat''' sat.</text>\n"
    "  </page>\n</mediawiki>\n"
)
PDF = (
    b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8ffffff7f0009fb03fd05438aca0000000049454e44ae426082"
)
GIF = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


@functools.cache
def make_table():
    """Return the texts as a table of pyarrow, which imports pandas when it makes one."""
    return pa.Table.from_pylist(RECORDS)


def zipped(**files):
    """Return a function that writes a ZIP archive of these files; ``__`` is a slash in names."""

    def write(path):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name.replace("__", "/"), content)

    return write


def office(path, *names):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "_rels/.rels", *names):
            archive.writestr(name, "<xml/>")


def content(*parts):
    """Return a function that writes bytes or text."""
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return lambda path: Path(path).write_bytes(data)


def vectors():
    keyed = KeyedVectors(24)
    words = sorted({word for walk in WALKS for word in walk})
    rows = np.random.default_rng(1).standard_normal((len(words), 24), np.float32)
    keyed.add_vectors(words, rows)
    return keyed


def binary_vectors(path):
    vectors().save_word2vec_format(str(path), binary=True)


def glove(path):
    vectors().save_word2vec_format(str(path), write_header=False)


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table texts (text)")
        connection.executemany("insert into texts values (?)", [(text,) for text in TEXTS])
    connection.close()


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["text"] = TEXTS


def archive(path):
    with tarfile.open(path, "w") as made:
        info = tarfile.TarInfo("text.txt")
        info.size = len(LINES)
        made.addfile(info, io.BytesIO(LINES.encode()))


def sound(path):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(800))


def array(path):
    with open(path, "wb") as file:
        np.save(file, IDS)


def arrays(path):
    with open(path, "wb") as file:
        np.savez(file, walks=IDS)


def write_parquet(path):
    parquet.write_table(make_table(), path)


#: Name of a file, a function that writes it, and its description in messages.
NOT_TEXTS = {
    "gzip named text": ("a.txt", content(gzip.compress(LINES.encode())), "holds gzip data"),
    "bzip2 named text": ("a.txt", content(bz2.compress(LINES.encode())), "holds bzip2 data"),
    "xz named text": ("a.txt", content(lzma.compress(LINES.encode())), "holds xz data"),
    "zip": ("a.zip", zipped(text=LINES), "holds zip data"),
    "empty zip": ("a.zip", zipped(), "holds zip data"),
    "tar": ("a.tar", archive, "is a tar archive"),
    "tar.gz": ("a.tar.gz", lambda path: (archive(path), pack(path)), "is a tar archive"),
    "7z": ("a.7z", content(b"7z\xbc\xaf\x27\x1c\0\4", bytes(99)), "is a 7z archive"),
    "rar": ("a.rar", content(b"Rar!\x1a\x07\x01\0", bytes(99)), "is a RAR archive"),
    "docx": ("a.docx", lambda p: office(p, "word/document.xml"), "is an Office document"),
    "xlsx": ("a.xlsx", lambda p: office(p, "xl/workbook.xml"), "is an Excel workbook"),
    "odt": ("a.odt", zipped(mimetype="application/vnd.oasis.opendocument.text"),
            "is an OpenDocument file"),
    "epub": ("a.epub", zipped(mimetype="application/epub+zip"), "is an EPUB book"),
    "doc": ("a.doc", content(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(999)),
            "is an Office document"),
    "rtf": ("a.rtf", content(r"{\rtf1\ansi the cat sat\par}"), "is an RTF document"),
    "pdf": ("a.pdf", content(PDF), "is a PDF document"),
    "pdf named text": ("a.txt", content(PDF), "is a PDF document"),
    "postscript": ("a.ps", content("%!PS-Adobe-3.0\n(the cat) show\n"), "is a PostScript"),
    "html": ("a.html", content("<!DOCTYPE html>\n<html><body>cat</body></html>"),
             "is an HTML page"),
    "old html": ("a", content("\n <HTML lang=en><BODY>cat</BODY></HTML>"), "is an HTML page"),
    "xml": ("a.xml", content('<?xml version="1.0"?>\n<text>the cat</text>'), "is an XML file"),
    "svg": ("a.svg", content('<svg xmlns="http://www.w3.org/2000/svg" width="9"><g/></svg>'),
            "is an XML file"),
    "doctype": ("a.xml", content('<!-- made -->\n<!DOCTYPE node PUBLIC "a" "b">\n<node>cat</node>'),
                "is an XML file"),
    "wikipedia": ("a.xml", content(WIKI), "is a Wikipedia dump"),
    "packed wikipedia": ("a.xml.bz2", content(bz2.compress(WIKI.encode())), "is a Wikipedia dump"),
    "png": ("a.png", content(PNG), "is an image"),
    "jpeg": ("a.jpg", content(b"\xff\xd8\xff\xe0\0\x10JFIF\0", bytes(99)), "is an image"),
    "gif": ("a.gif", content(GIF), "is an image"),
    "wav": ("a.wav", sound, "is an audio or video file"),
    "mp4": ("a.mp4", content(b"\0\0\0\x18ftypmp42", bytes(99)), "is an audio or video file"),
    "executable": ("a", lambda p: Path(p).write_bytes(Path(sys.executable).read_bytes()[:9999]),
                   "is an executable program"),
    "npy": ("a.npy", array, "is a NumPy array"),
    "npz": ("a.npz", arrays, "is an archive of NumPy arrays"),
    "pickle": ("a.pkl", content(pickle.dumps(WALKS)), "is a pickle"),
    "oldest pickle": ("a.pkl", content(pickle.dumps(WALKS, 0)), "is a pickle"),
    "matlab": ("a.mat", lambda path: savemat(path, {"walks": IDS}), "is a MATLAB file"),
    "old pickle": ("a.pkl", content(pickle.dumps(WALKS, 2)), "is a pickle"),
    "gensim": ("a.kv", lambda path: vectors().save(str(path)), "is a model or vectors of gensim"),
    "word2vec": ("a.txt", lambda path: vectors().save_word2vec_format(str(path)),
                 "holds vectors in word2vec's or GloVe's text format"),
    "word2vec.gz": ("a.gz", lambda path: vectors().save_word2vec_format(str(path)),
                    "holds vectors in word2vec's or GloVe's text format"),
    "word2vec binary": ("a.bin", binary_vectors,
                        "holds vectors in word2vec's binary format"),
    "glove": ("a.txt", glove, "holds vectors in word2vec's or GloVe's text format"),
    "fasttext": ("a.bin", lambda path: Path(path).write_bytes(
        Path(datapath("crime-and-punishment.bin")).read_bytes()), "is a model of fastText"),
    "safetensors": ("a.safetensors", lambda path: save_file({"x": IDS}, path),
                    "is a safetensors file"),
    "pytorch": ("a.pt", zipped(**{"archive/data.pkl": pickle.dumps(TEXTS)}),
                "is a PyTorch file"),
    "gguf": ("a.gguf", content(b"GGUF\3\0\0\0", bytes(99)), "is a GGUF file"),
    "matrix market": ("a.mm", lambda path: MmCorpus.serialize(str(path), [[(0, 1.0), (1, 2.0)]]),
                      "is a matrix in Matrix Market format"),
    "sqlite": ("a.db", database, "is an SQLite database"),
    "hdf5": ("a.h5", hdf5, "is an HDF5 file"),
    "avro": ("a.avro", content(b"Obj\1\4\x16avro.schema", bytes(99)), "is an Avro file"),
    "git lfs": ("a.txt", content("version https://git-lfs.github.com/spec/v1\noid sha256:1a\n"),
                "is a pointer of Git LFS"),
    "utf-16": ("a.txt", content(LINES.encode("utf-16-le")), "looks like UTF-16LE"),
    "utf-32": ("a.txt", content(LINES.encode("utf-32-be")), "looks like UTF-32BE"),
    "integers": ("a.bin", content(IDS.tobytes()), "holds binary data"),
    "floats": ("a.bin", content(np.random.default_rng(1).normal(size=999).tobytes()),
               "holds binary data"),
    "zeros": ("a.txt", content(bytes(999)), "holds binary data"),
    "json object": ("a.json", content(json.dumps({"texts": TEXTS}, indent=1)),
                    "is JSON, but neither"),
    "json lists": ("a.json", content(json.dumps(WALKS)), "is JSON, but neither"),
    "json list per line": ("a.txt", content("".join(json.dumps(walk) + "\n" for walk in WALKS)),
                           "is JSON, but neither"),
    "json string list": ("a.txt", content(json.dumps(TEXTS, indent=2)), "is JSON, but neither"),
    "notebook": ("a.ipynb", content('{\n "cells": [\n  {\n   "source": ["cat"]\n  }\n ]\n}\n'),
                 "is JSON, but neither"),
}  # fmt: skip

#: Tables, which need a column: as `NOT_TEXTS`.
TABLES = {
    "parquet": ("a.parquet", write_parquet, "Parquet"),
    "parquet named text": ("a.txt", write_parquet, "Parquet"),
    "feather": ("a.feather", lambda path: feather.write_feather(make_table(), path), "Arrow"),
    "orc": ("a.orc", lambda path: orc.write_table(make_table(), path), "ORC"),
    "csv": ("a.csv", lambda path: csv.write_csv(make_table(), path), "CSV"),
    "csv.gz": ("a.csv.gz", lambda path: (csv.write_csv(make_table(), path), pack(path)), "CSV"),
    "tsv": ("a.tsv", content("id\ttext\n", *(f"1\t{text}\n" for text in TEXTS)), "TSV"),
    "json lines": ("a.jsonl", content("".join(json.dumps(row) + "\n" for row in RECORDS)),
                   "JSON Lines"),
    "json lines named json": ("a.json", content("".join(f"{json.dumps(row)}\n" for row in RECORDS)),
                              "JSON Lines"),
    "json lines named text": ("a.txt", content("".join(f"{json.dumps(row)}\n" for row in RECORDS)),
                              "JSON Lines"),
    "long json line": ("a.txt", content(json.dumps({"id": 1, "text": "the cat " * 20_000})),
                       "JSON Lines"),
    "records": ("a.json", content(json.dumps(RECORDS)), "JSON"),
    "indented records": ("a.json", content(json.dumps(RECORDS, indent=2)), "JSON"),
}  # fmt: skip

#: Beginnings of texts, which are read.
READ = {
    "brace": "{ hello world } and more\n",
    "code": '{\n    int i = 0;\n    printf("%d", i);\n}\n',
    "python dict": "{'a': 1, 'b': [2, 3]}\nprint(a)\n",
    "json in code": '{"a": 1}\nis an object\n',
    "json in a line": '{"a": 1} is an object\n',
    "lone brace": "{",
    "lone bracket": "[",
    "quoted": '"hello" said the cat\n',
    "bracketed quote": '["Hello," said the cat] and left\n',
    "unknown word": "<unk> the <s> cat </s>\n",
    "special tokens": "[CLS] the cat [SEP] sat [PAD]\n",
    "deleted": "[deleted]\n[removed]\n",
    "references": "[1] Mikolov 2013\n[2] Pennington 2014\n",
    "chat log": "[12:01] <ann> hello\n[12:02] <bob> hi {wave}\n",
    "irc log": "<ann> hello\n<bob> <html> is a tag\n",
    "documents": '<doc id="1" title="Cat">\nThe cat sat.\n</doc>\n',
    "markup": "<div class='a'> the cat </div>\n",
    "doctype words": "<!DOCTYPE is a mark\n<!-- so is this -->\n",
    "lisp": "(lp0 the cat)\n",
    "matlab words": "MATLAB 5.0 MAT-file is a format\n",
    "include": "#include <stdio.h>\nint main() {}\n",
    "php": "<?php echo 'cat'; ?>\n",
    "pdf words": "%PDF files are documents\n%PDF-1.4 is a version\n",
    "postscript words": "%!PS is a mark\n",
    "bzip words": "BZh is no word\nBZh9 is a level\n",
    "zip words": "PK is a mark of zip files\n",
    "image words": "GIF89a is a format\nBM is a bitmap\n",
    "executable words": "MZ are initials\nELF is a format\n",
    "table words": "PAR is golf\nORC is a monster\nARROW1 is a name\nObj is an object\n",
    "lfs words": "version https of the page\n",
    "matrix words": "%%MatrixMarket is a format\n",
    "xml words": "<?xml is a mark\n",
    "edges": "1 2\n2 3\n3 1\n",
    "edges with a header": "3 3\n1 2 1\n2 3 1\n3 1 1\n",
    "weighted edges": "3 2\n1 2 0.5\n2 3 0.25\n",
    "walks with a header": "2 4\n1 2 3 4 5\n5 4 3 2 1\n",
    "numbers": " ".join(f"{number}.5" for number in range(40)) + "\n" + "1.5 2.5\n",
    "rows of decimals": (" ".join(f"0.{number}" for number in range(10, 40)) + "\n") * 5,
    "commas": "id,text\n1,the cat\n",
    "tabs": "id\ttext\n1\tthe cat\n",
    "null words": "a \0 b\0c\n\0\n",
    "byte order mark": "\ufeffthe cat\n",
    "cyrillic": "жизнь кошки\n",
    "control characters": "\x1b[31mred\x1b[0m text\x07 here\n",
    "null separated": "the\0cat\0sat\0on\0the\0mat\n",
    "form feed": "\fchapter one\n",
    "empty lines": "\n\n\nthe cat\n",
    "brackets": "[" * 3000 + "\n",
    "braces": "{}\nreturn {}\n",
}


def pack(path):
    """Compress a file in place."""
    Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))


def write(kind, folder):
    """Write the file of a kind to a folder; return its path."""
    name, make, _ = (NOT_TEXTS | TABLES)[kind]
    path = folder / name
    make(path)
    return path
