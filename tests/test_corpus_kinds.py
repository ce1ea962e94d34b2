"""A corpus that is no text, or no sentences, is refused with what it is and what to call."""

import gzip
import io
import json
import os
import pathlib
import threading
import types

import numpy as np
import pyarrow as pa
import pytest
from gensim.models.doc2vec import TaggedLineDocument
from gensim.models.word2vec import LineSentence, PathLineSentences
from hypothesis import assume, given
from hypothesis import strategies as st

from gensim_tfw2v import (
    TableDocuments,
    TableSentences,
    TFDoc2Vec,
    TFFastText,
    TFWord2Vec,
    train_slice,
)
from gensim_tfw2v.corpus.refusals import find_refusal
from gensim_tfw2v.corpus.text_corpus import whole_file
from tests.corpus.not_texts import LINES, NOT_TEXTS, READ, TABLES, WALKS, make_table, write
from tests.test_bad_input import refused

SMALL = {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1}


@pytest.fixture(scope="module")
def model():
    return TFWord2Vec(WALKS, **SMALL)


@pytest.mark.parametrize("kind", NOT_TEXTS)
def test_file_that_is_no_text_is_refused_with_what_it_is(model, tmp_path, kind):
    path = str(write(kind, tmp_path))
    said = NOT_TEXTS[kind][2]
    totals = {"total_words": 9, "total_examples": 9, "epochs": 1}
    for call in (
        lambda: TFWord2Vec(corpus_file=path, **SMALL),
        lambda: TFWord2Vec(LineSentence(path), **SMALL),
        lambda: TFWord2Vec(PathLineSentences(str(tmp_path)), **SMALL),
        lambda: TFDoc2Vec(corpus_file=path, **SMALL),
        lambda: model.build_vocab(corpus_file=path, update=True),
        lambda: model.train(corpus_file=path, **totals),
        lambda: model.partial_fit(corpus_file=path),
        lambda: model.held_out_loss(corpus_file=path),
        lambda: train_slice(model, corpus_file=path),
    ):
        refused(model, call, (ValueError, TypeError), said)
    refused(model, lambda: TFWord2Vec(path), TypeError, said)


@pytest.mark.parametrize("kind", TABLES)
def test_table_without_a_column_is_refused_with_its_columns(model, tmp_path, kind):
    path = write(kind, tmp_path)
    said = rf"is a table \({TABLES[kind][2]}\), not text: pass TableSentences\('.*', column\).*"
    said += "columns are: id, text"
    for call in (
        lambda: TFWord2Vec(corpus_file=path, **SMALL),
        lambda: TFFastText(LineSentence(str(path)), **SMALL),
        lambda: TFDoc2Vec(TaggedLineDocument(str(path)), **SMALL),
        lambda: model.build_vocab(corpus_file=path, update=True),
        lambda: model.train(corpus_file=path, total_words=9, epochs=1),
        lambda: model.held_out_loss(corpus_file=path),
    ):
        refused(model, call, ValueError, said)
    refused(model, lambda: TFWord2Vec(path), TypeError, said)
    assert TableSentences(path, "text")  # the cure


@pytest.mark.parametrize("kind", ["pdf", "npy", "csv", "json lines"])
def test_files_that_gensims_code_would_read_are_refused_too(tmp_path, kind):
    path = write(kind, tmp_path)
    described = (NOT_TEXTS | TABLES)[kind][2]

    class Watched(TFWord2Vec):
        def _do_train_job(self, *args):
            return super()._do_train_job(*args)

    with pytest.raises(ValueError, match=described):
        TFWord2Vec(corpus_file=path, max_vocab_size=99, **SMALL)
    with pytest.raises(ValueError, match=described):
        Watched(corpus_file=path, **SMALL)


@pytest.mark.parametrize("kind", READ)
def test_text_that_begins_like_a_different_kind_is_read(tmp_path, kind):
    path = tmp_path / "text.txt"
    path.write_text(READ[kind] + LINES, encoding="utf-8")
    words = [line.split() for line in (READ[kind] + LINES).split("\n")]
    model = TFWord2Vec(vector_size=4, min_count=1)
    model.build_vocab(corpus_file=path)
    assert {*model.wv.index_to_key} == {word for line in words for word in line}
    path.write_text(READ[kind], encoding="utf-8")
    model.build_vocab(corpus_file=path)
    assert {*model.wv.index_to_key} == {*READ[kind].split()}


@given(st.text("{}[]<>()\"':,!?%#/=-0123456789.ePK\u00e9 \n\t", min_size=1, max_size=300))
def test_text_of_brackets_quotes_and_numbers_is_read(tmp_path_factory, text):
    assume(not all(map(is_json, text.split("\n"))) and not is_json(text))
    path = tmp_path_factory.getbasetemp() / "odd.txt"
    path.write_text(text, encoding="utf-8", newline="")
    assert find_refusal(path) == ""
    assert whole_file(str(path)).stop == path.stat().st_size


def is_json(text):
    try:
        return not text.strip() or bool(json.loads(text) is not None)
    except ValueError:
        return False


@pytest.mark.parametrize(("kind", "said"), [
    ("npy", "is a NumPy array, not text: a corpus is UTF-8 text"),
    ("parquet", r"is a table \(Parquet\), not text: write it to a local file"),
    ("json lines", r"is a table \(JSON Lines\), not text: write it to a local file"),
    ("xz named text", "holds xz data, not text: decompress it"),
    ("utf-16", "looks like UTF-16LE"),
    ("integers", "holds binary data"),
])  # fmt: skip
def test_pipe_without_text_is_refused_with_what_it_holds(tmp_path, kind, said):
    content = write(kind, tmp_path).read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=pour, args=(tmp_path / "pipe", content), daemon=True)
    writer.start()
    with pytest.raises(ValueError, match=said):
        TFWord2Vec(corpus_file=tmp_path / "pipe", **SMALL)
    writer.join(60)


@pytest.mark.parametrize("kind", ["pdf", "csv", "csv.gz", "json lines", "packed wikipedia", "npy"])
def test_address_of_a_file_without_text_is_refused_with_what_it_is(model, tmp_path, kind):
    uri = write(kind, tmp_path).as_uri()  # smart_open reads it as it does s3://
    described = (NOT_TEXTS | TABLES)[kind][2]
    refused(model, lambda: TFWord2Vec(LineSentence(uri), **SMALL), ValueError, described)
    refused(model, lambda: model.held_out_loss(LineSentence(uri)), ValueError, described)


def test_address_of_a_text_is_read_from_its_start(tmp_path):
    for name, content in (("a.txt", LINES.encode()), ("a.txt.gz", gzip.compress(LINES.encode()))):
        (tmp_path / name).write_bytes(content)
        model = TFWord2Vec(LineSentence((tmp_path / name).as_uri()), **SMALL)
        assert model.corpus_total_words == len(LINES.split())


def pour(pipe, content):
    try:
        pipe.write_bytes(content)
    except BrokenPipeError:  # the reader has refused it
        pass


class DataFrame:
    """Data frame of a package that is not installed; `__module__` is set by `of`."""

    columns = ["id", "text"]

    def __iter__(self):
        return iter(self.columns)


def of(package, name="DataFrame", **attributes):
    """Return an object of a class with this name in a package."""
    made = types.new_class(name, (DataFrame,), exec_body=lambda body: body.update(attributes))
    made.__module__ = package
    return made()


#: Objects that are no sentences, with a part of the message.
NO_SENTENCES = {
    "text": (lambda f: str(f / "a.txt"), r"pass corpus_file='.*a\.txt'"),
    "path": (lambda f: f / "a.txt", r"pass corpus_file='.*a\.txt'"),
    "folder": (lambda f: f, r"a folder: pass PathLineSentences\(.*TableSentences\("),
    "missing": (lambda f: f / "no.txt", "a path without a file.*pass sentences"),
    "string": (lambda f: "the cat sat", "a string instead of sentences: pass sentences"),
    "null byte": (lambda f: "the\0cat", "a string instead of sentences"),
    "empty string": (lambda f: "", "a string instead of sentences"),
    "bytes": (lambda f: b"the cat", "bytes instead of sentences"),
    "open file": (lambda f: (f / "a.txt").open(), r"an open file.*LineSentence\(file\)"),
    "buffer": (lambda f: io.BytesIO(b"the cat"), r"an open file.*LineSentence\(file\)"),
    "dict": (lambda f: {"a": ["the", "cat"]}, r"a dict with strings.*values\(\)"),
    "empty dict": (lambda f: {}, r"a dict with strings.*values\(\)"),
    "records": (lambda f: [{"text": "the cat"}], r"records, .*\['text'\].*record\[key\]\.split"),
    "pandas": (lambda f: of("pandas.core.frame"),
               r"pandas DataFrame.*frame\[column\]\.tolist\(\).*columns are: id, text"),
    "pandas subclass": (lambda f: type("Geo", (type(of("pandas")),), {})(), "pandas DataFrame"),
    "polars": (lambda f: of("polars.dataframe.frame"), r"polars.*\.to_list\(\).*: id, text"),
    "lazy": (lambda f: of("polars.lazyframe.frame", "LazyFrame"), r"its collect\(\), and pass"),
    "spark": (lambda f: of("pyspark.sql.dataframe"), "pyspark.*as Parquet, and.*: id, text"),
    "dataset": (lambda f: of("datasets.arrow_dataset", "Dataset", column_names=["a"]),
                r"datasets Dataset.*dataset\[column\].*columns are: a$"),
    "pyarrow": (lambda f: make_table(), r"pyarrow Table.*to_pylist\(\).*columns are: id, text"),
    "batch": (lambda f: make_table().to_batches()[0], "pyarrow RecordBatch.*columns are: id, text"),
    "array": (lambda f: pa.array(["the cat"]), r"pyarrow array of texts.*to_pylist\(\)\]"),
    "chunks": (lambda f: make_table()["text"], r"pyarrow array of texts.*to_pylist\(\)\]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_SENTENCES)
def test_object_that_is_no_sentences_is_refused_with_the_cure(model, tmp_path, request, kind):
    (tmp_path / "a.txt").write_text(LINES)
    make, said = NO_SENTENCES[kind]
    source = make(tmp_path)
    if hasattr(source, "close"):
        request.addfinalizer(source.close)
    documents = TFDoc2Vec(vector_size=4)
    for call in (
        lambda: TFWord2Vec(source, **SMALL),
        lambda: TFFastText(sentences=source, **SMALL),
        lambda: TFDoc2Vec(source, **SMALL),
        lambda: documents.build_vocab(source),
        lambda: model.build_vocab(source, update=True),
        lambda: model.scan_vocab(source),
        lambda: model.train(source, total_examples=9, epochs=1),
        lambda: model.partial_fit(source),
        lambda: model.held_out_loss(source),
        lambda: train_slice(model, source),
    ):
        refused(model, call, TypeError, said)


@pytest.mark.parametrize(("make", "said"), [
    (lambda folder: of("pandas.core.frame"), r"pandas DataFrame.*frame\[column\]"),
    (lambda folder: folder, r"path to a file.*folder; pass PathLineSentences\(.*TableSentences"),
])  # fmt: skip
def test_data_frame_or_folder_as_corpus_file_is_refused_with_the_cure(model, tmp_path, make, said):
    source = make(tmp_path)
    for call in (
        lambda: TFWord2Vec(corpus_file=source, **SMALL),
        lambda: model.build_vocab(corpus_file=source, update=True),
        lambda: model.held_out_loss(corpus_file=source),
    ):
        refused(model, call, TypeError, said)


@pytest.mark.parametrize("make", [
    lambda: [*map(tuple, WALKS)],
    lambda: np.array(WALKS[0])[None],
    lambda: {tuple(walk): 1 for walk in WALKS},
    lambda: {*map(tuple, WALKS)},
    lambda: dict(enumerate(WALKS)).values(),
])  # fmt: skip
def test_unusual_iterables_of_sentences_are_read(make):
    source = make()
    words = {word for sentence in source for word in sentence}
    assert {*TFWord2Vec(source, **SMALL).wv.index_to_key} == words


def test_strings_as_sentences_are_read_with_gensims_warning(caplog):
    model = TFWord2Vec(["the cat", "a dog"], **SMALL)
    assert {*model.wv.index_to_key} == {*"the cat a dog"}
    assert "First item here is instead plain <class 'str'>" in caplog.text


def test_cures_of_messages_train(tmp_path):
    path = write("csv", tmp_path)
    words = {word for walk in WALKS for word in walk}
    for sentences in (
        TableSentences(path, "text"),
        [text.split() for text in make_table()["text"].to_pylist()],
        PathLineSentences(str(text_folder(tmp_path))),
        np.load(write("npy", tmp_path)).astype(str).tolist(),
    ):
        trained = TFWord2Vec(sentences, **SMALL).wv.index_to_key
        assert {*trained} == words or len(trained) == 600
    assert len(TFDoc2Vec(TableDocuments(path, "text"), **SMALL).dv) == len(WALKS)


def text_folder(folder) -> pathlib.Path:
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text(LINES)
    return folder / "texts"
