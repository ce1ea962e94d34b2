"""A column of a table gives the sentences of the same text as a file of lines."""

import bz2
import gzip
import json
import lzma
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from gensim.models import Word2Vec
from gensim.models.doc2vec import TaggedLineDocument
from gensim.models.word2vec import LineSentence
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, orc, parquet

from gensim_tfw2v import TableDocuments, TableSentences, TFDoc2Vec, TFWord2Vec
from gensim_tfw2v.corpus.encode import scan_corpus
from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.corpus.text_corpus import BYTES_PER_RUN, TextCorpus, cut_texts
from tests.corpus.reference import LEE, ODD, decoded, open_corpus

ROOT = Path(__file__).parents[2]

with open(LEE, encoding="utf-8") as _file:
    LINES = _file.read().split("\n")

STRINGS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
LISTS = {
    "list": pa.list_(pa.string()),
    "large_list": pa.large_list(pa.large_string()),
    "dictionaries": pa.list_(pa.dictionary(pa.int32(), pa.string())),
}


def write(path, rows, kind=None, group=100):
    """Write a table with the columns id and text, in the format of the suffix."""
    table = pa.table({"id": range(len(rows)), "text": pa.array(rows, kind)})
    inner = path.with_suffix("") if path.suffix in (".gz", ".bz2", ".xz", ".zst") else path
    if inner.suffix == ".parquet":
        parquet.write_table(table, inner, row_group_size=group)
    elif inner.suffix == ".arrow":
        feather.write_feather(table, inner, chunksize=100)
    elif inner.suffix == ".orc":
        orc.write_table(table, inner, stripe_size=1 << 18)
    elif inner.suffix == ".json":
        inner.write_text(json.dumps(table.to_pylist()), encoding="utf-8")
    elif inner.suffix in (".csv", ".tsv"):
        options = csv.WriteOptions(delimiter="," if inner.suffix == ".csv" else "\t")
        csv.write_csv(table, inner, options)
    else:
        lines = (json.dumps(row) for row in table.to_pylist())
        inner.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if inner != path:
        packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
                  ".zst": lambda text: pa.compress(text, "zstd", asbytes=True)}  # fmt: skip
        path.write_bytes(packed[path.suffix](inner.read_bytes()))
    return path


def read_by_library(source):
    """Return what a model reads: the encoded sentences, and their number."""
    with scan_corpus(open_corpus(source)) as scan:
        keys = {word: number for number, word in enumerate(scan.raw_vocab)}
        with scan.encode(keys) as corpus:
            return decoded(corpus, list(keys)), scan.corpus_count


def split(rows):
    return [row.split() for row in rows if row and row.split()]


@pytest.mark.parametrize("name", [
    "t.parquet", "t.csv", "t.tsv", "t.jsonl", "t.ndjson", "t.csv.gz", "t.csv.xz", "t.tsv.bz2",
    "t.jsonl.zst", "T.CSV", "t.arrow", "t.orc", "t.json", "t.json.gz",
])  # fmt: skip
def test_formats_give_the_lines_of_a_text_file(tmp_path, name):
    path = tmp_path / name
    made = write(path.with_name(name.lower()), LINES)
    made.rename(path)
    sentences = TableSentences(str(path), "text")
    expected = list(LineSentence(LEE))
    assert list(sentences) == list(sentences) == expected
    assert read_by_library(sentences) == (expected, len(expected))


@pytest.mark.parametrize("kind", STRINGS)
@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.none() | st.text(st.sampled_from("ab ж\n\r\t\u3000\x0b\x1c\"',\0"), max_size=9),
        max_size=9,
    ),
    batch=st.integers(1, 4),
)
def test_rows_of_strings_are_split_at_white_space(tmp_path_factory, kind, rows, batch):
    path = tmp_path_factory.getbasetemp() / f"{kind}.parquet"
    write(path, rows, STRINGS[kind])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_streams, "BATCH_ROWS", batch)
        sentences = TableSentences(path, "text")
        expected = split(rows)
        assert list(sentences) == expected
        documents = [((row or "").split(), [number]) for number, row in enumerate(rows)]
        assert list(TableDocuments(path, "text")) == documents
        assert read_by_library(sentences) == (expected, len(expected))


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_rows_of_lists_are_sentences(tmp_path, monkeypatch, name, kind, batch):
    monkeypatch.setattr(table_streams, "BATCH_ROWS", batch)
    rows = [["New York", "is"], None, [], ["a", None, "b"], [None], ["", "a"]] * 3
    path = write(tmp_path / name, rows, LISTS[kind])
    expected = [["New York", "is"], ["a", "b"], ["", "a"]] * 3
    sentences = TableSentences(path, "text")
    assert list(sentences) == expected and sentences.ranges is None
    assert read_by_library(sentences)[0] == expected
    empty = [["New York", "is"], [], [], ["a", "b"], [], ["", "a"]] * 3
    assert list(TableDocuments(path, "text")) == [(row, [n]) for n, row in enumerate(empty)]


def test_lists_of_fixed_size(tmp_path):
    rows = [["a", "b"], None, ["c", None]]
    path = write(tmp_path / "t.parquet", rows, pa.list_(pa.string(), 2))
    assert list(TableSentences(path, "text")) == [["a", "b"], ["c"]]


@pytest.mark.parametrize("odd", ODD)
def test_long_and_odd_rows_are_cut_as_lines_are(tmp_path, reader_kind, odd):
    text = tmp_path / "text.txt"
    text.write_bytes(ODD[odd])
    lines = ODD[odd].decode().split("\n")
    path = write(tmp_path / "t.parquet", lines)
    expected = list(LineSentence(str(text)))
    sentences = TableSentences(path, "text")
    assert list(sentences) == expected
    assert read_by_library(sentences) == (expected, len(expected))
    lists = TableSentences(write(tmp_path / "l.parquet", [row.split() for row in lines]), "text")
    assert list(lists) == expected


def test_csv_has_only_text(tmp_path):
    """The third row is no number, and quoted rows contain delimiters and newlines."""
    path = tmp_path / "t.csv"
    path.write_text('\ufeffid,text\n1,12\n2,13\n3,a b\n4,"a, ""b""\nc"\n5,\n6,NA\n', "utf-8")
    expected = [["12"], ["13"], ["a", "b"], ["a,", '"b"', "c"], ["NA"]]
    sentences = TableSentences(path, "text", newlines=True)
    assert list(sentences) == read_by_library(sentences)[0] == expected
    assert [words for words, _ in TableDocuments(path, "text", newlines=True)][4] == []
    with pytest.raises(ValueError, match=r"t\.csv: row 4 \(line 5\): a quoted cell contains"):
        read_by_library(TableSentences(path, "text"))


@pytest.mark.parametrize(("first", "then"), [
    (None, "a b"), ("2020-01-01", "a b"), (None, None), ([], ["a b"]), (["2020-01-01"], ["a b"]),
])  # fmt: skip
def test_types_of_json_are_not_guessed_from_dates_and_nulls(tmp_path, monkeypatch, first, then):
    monkeypatch.setattr(table_streams, "BLOCK_BYTES", 1000)
    path = write(tmp_path / "t.jsonl", [first] * 100 + [then] * 100)
    words = [row.split() if isinstance(row, str) else row for row in (first, then)]
    expected = [row for row in words if row for _ in range(100)]
    assert list(TableSentences(path, "text")) == expected


def test_folder_is_read_in_the_order_of_names(tmp_path):
    for number in (2, 0, 1):
        write(tmp_path / f"part-{number}.snappy.parquet", LINES[number::3])
    for name in ("_SUCCESS", ".part-0.parquet.crc", "part-3.csv"):
        (tmp_path / name).write_bytes(b"x" * (name[0] in "._"))
    (tmp_path / "folder").mkdir()
    sentences = TableSentences(tmp_path, "text")
    expected = [words for number in range(3) for words in split(LINES[number::3])]
    assert list(sentences) == expected
    assert sorted(read_by_library(sentences)[0]) == sorted(expected)
    documents = list(TableDocuments(tmp_path, "text"))
    assert [tags for _, tags in documents] == [[n] for n in range(len(LINES))]


def words_of(row):
    return row.split() if isinstance(row, str) else [word for word in row or () if word is not None]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".arrow"])
@pytest.mark.parametrize("row", ["a b", ["a", "b"], [1, 2]], ids=str)
@pytest.mark.parametrize("empty", [[None, None], [[], None], [[None], []]], ids=str)
@pytest.mark.parametrize("is_first", [True, False])
def test_part_without_values_is_one_of_nulls(tmp_path, suffix, row, empty, is_first):
    parts = [empty, [row]] if is_first else [[row], empty]
    for number, rows in enumerate(parts):
        write(tmp_path / f"{number}{suffix}", rows)
    sentences = TableSentences(tmp_path, "text")
    assert list(sentences) == [words_of(row)]
    assert read_by_library(sentences) == ([words_of(row)], 1)
    assert (sentences.integer_batches() is not None) == (row == [1, 2])
    documents = [(words_of(row), [number]) for number, row in enumerate(sum(parts, []))]
    assert list(TableDocuments(tmp_path, "text")) == documents


@pytest.mark.parametrize("row", ["a b", ["a", "b"], [1, 2]], ids=str)
def test_part_of_json_without_the_key_is_one_of_nulls(tmp_path, row):
    (tmp_path / "0.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    (tmp_path / "2.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(ValueError, match=r"0\.jsonl: has no column 'text'; its columns are: id"):
        TableSentences(tmp_path, "text")
    (tmp_path / "1.jsonl").write_text(json.dumps({"text": row}))
    assert read_by_library(TableSentences(tmp_path, "text")) == ([words_of(row)], 1)
    documents = [([], [0]), ([], [1]), (words_of(row), [2]), ([], [3])]
    assert list(TableDocuments(tmp_path, "text")) == documents
    (tmp_path / "1.jsonl").write_text('{"text": null}')
    assert list(TableSentences(tmp_path, "text")) == []


def test_part_of_nulls_has_no_lists_in_text(tmp_path):
    write(tmp_path / "0.parquet", [None])
    write(tmp_path / "1.parquet", ["[1, 2]"])
    sentences = TableSentences(tmp_path, "text", lists="json")
    assert list(sentences) == [[1, 2]] and sentences.integer_batches() is not None


def test_parquet_files_without_values_or_the_column_are_refused(tmp_path):
    write(tmp_path / "0.parquet", [None])
    write(tmp_path / "1.parquet", [[]])
    with pytest.raises(ValueError, match=r"0\.parquet: column 'text' is of type null; a corpus is"):
        TableSentences(tmp_path, "text")
    parquet.write_table(pa.table({"id": [1]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet: has no column 'text'; its columns are: id"):
        TableSentences(tmp_path, "text")


def test_parts_of_a_folder_are_read_in_parallel_and_in_order(tmp_path, monkeypatch):
    for number in range(3):
        write(tmp_path / f"{number}.parquet", LINES[number::3])
    ranges = TableSentences(tmp_path, "text").ranges
    monkeypatch.setattr("gensim_tfw2v.corpus.text_corpus.BYTES_PER_RUN", 10_000)
    runs = cut_texts(ranges)
    assert len(runs) == 3 and BYTES_PER_RUN > 10_000
    with scan_corpus(TextCorpus(ranges, tagged=True)) as scan:
        assert scan.corpus_count == len(LINES)
        assert list(scan.raw_vocab) == list(
            dict.fromkeys(
                word for number in range(3) for row in LINES[number::3] for word in row.split()
            )
        )


def test_parquet_is_recognized_by_its_content(tmp_path):
    path = write(tmp_path / "t.parquet", ["a b", "c"]).rename(tmp_path / "table")
    assert list(TableSentences(path, "text")) == [["a", "b"], ["c"]]


CUT = gzip.compress(b"texts\na\n" * 5000, mtime=0)[:-20]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("t.csv", b"id,text\n1,a\n", "t.csv: has no column 'texts'; its columns are: id, text"),
    ("t.csv", b"texts,texts\na,b\n", "t.csv: has 2 columns 'texts'; its columns are: texts, texts"),
    ("t.jsonl", b'{"text": "a"}\n', "t.jsonl: has no column 'texts'; its columns are: text"),
    ("t.jsonl", b'{"texts": 1}\n', "t.jsonl: column 'texts' is of type int64; a row must be a"),
    ("t.jsonl", b'{"texts": 1.5}\n', "t.jsonl: column 'texts' is of type double; a corpus is a"),
    ("t.jsonl", b'{"texts": [[1]]}\n', "column 'texts' is of type list<item: list<item: int64>>"),
    ("t.jsonl", b'[{"texts": "a"}\n', "t.jsonl: record 1 must be followed by , or ], not by ''"),
    ("t.jsonl", b'{"texts": "a"}\n{"texts"\n', "t.jsonl: line 2 is not a JSON object"),
    ("t.csv", b"", "t.csv: Empty CSV file"),
    ("t.txt", b"a b\n", "t.txt: column needs a table (.parquet, .arrow, .feather, .ipc, .orc, "
     ".csv, .tsv, .jsonl, .ndjson, .json); read other files as text"),
    ("t.parquet", b"PAR1 and more", "t.parquet: Parquet magic bytes not found in footer"),
    ("t.csv.gz", CUT, "t.csv.gz: Truncated compressed"),
    ("t.csv.xz", lzma.compress(b"texts\na\n" * 5000)[:-20], "t.csv.xz: Compressed file ended"),
    ("t.csv", b"texts,b\na\n", "t.csv: row 1 (line 2): 1 cell, but the first row has 2, in 'a\\n'"),
    ("t.csv", b"texts\n\xff\n", "t.csv: row 1 (line 2): b'\\xff' is not UTF-8 text: pass the"),
    ("t.jsonl", b'{"texts": "\xff"}\n', "t.jsonl: line 1: b'\\xff' is not UTF-8 text: pass"),
    ("t.jsonl", b'{"texts": "a"}\n{"texts": 1}\n' * 99, "t.jsonl: line 2: column 'texts' is 1,"),
    ("t.csv", b"texts\na\n" + b"long" * 999, "t.csv: row 2 (line 3): a row is longer than 0 MiB; "
     "store the table as Parquet"),
])  # fmt: skip
def test_bad_tables_are_refused(tmp_path, monkeypatch, name, content, message):
    monkeypatch.setattr(table_streams, "BLOCK_BYTES", 1000)
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError) as refused:
        list(TableSentences(path, "texts"))
    assert message in str(refused.value) and str(path) in str(refused.value)


def test_invalid_utf8_is_refused_by_the_scanner_too(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"text": "a b"}\n{"text": "c \xff"}\n')
    with pytest.raises(ValueError, match=r"t\.jsonl: line 2: b'c \\xff' is not UTF-8 text: pass"):
        read_by_library(TableSentences(path, "text"))


def test_parquet_of_other_types_is_refused(tmp_path):
    for rows, kind in (([1], "int64"), ([None], "null"), ([b"a"], "binary"), ([[1.5]], "list<")):
        path = write(tmp_path / "t.parquet", rows)
        with pytest.raises(ValueError, match=f"column 'text' is of type {kind}"):
            TableSentences(path, "text")


def test_folders_of_several_formats_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        TableSentences(tmp_path / "none.csv", "text")
    with pytest.raises(ValueError, match="contains no tables"):
        TableSentences(tmp_path, "text")
    write(tmp_path / "a.csv", ["a"])
    write(tmp_path / "b.jsonl", ["a"])
    with pytest.raises(ValueError, match=r"a\.csv and b\.jsonl have different formats"):
        TableSentences(tmp_path, "text")
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "b.txt").write_text("a\n")
    with pytest.raises(ValueError, match=r"b\.txt: column needs a table"):
        TableSentences(tmp_path, "text")
    (tmp_path / "b.txt").unlink()
    (tmp_path / "b.csv").write_text("id\n1\n")
    with pytest.raises(ValueError, match=r"b\.csv: has no column 'text'"):
        TableSentences(tmp_path, "text")


READ = """
import sys, tracemalloc
import pyarrow
from gensim_tfw2v import TableSentences
from gensim_tfw2v.corpus.tables import table_streams
from gensim_tfw2v.corpus.tables.column_text import ColumnText

table_streams.BLOCK_BYTES = 1 << 18
path, options = sys.argv[1], eval(sys.argv[2])
sentences = TableSentences(path, "text", **options)
column = sentences.ranges[0].column
next(iter(sentences)), ColumnText(path, column).readinto(bytearray(1))  # import pandas, if it can
tracemalloc.start()
read = sum(map(len, sentences))
stream = ColumnText(path, column)
size = sum(iter(lambda: stream.readinto(bytearray(1 << 16)), 0))
_, peak = tracemalloc.get_traced_memory()
print(read, size, pyarrow.default_memory_pool().max_memory(), peak)
"""


@pytest.mark.parametrize(("name", "options"), [
    ("t.parquet", {}), ("t.arrow", {}), ("t.orc", {}), ("t.csv", {}),
    ("t.csv", {"escapechar": "~"}), ("t.csv", {"encoding": "latin-1", "newlines": True}),
    ("t.jsonl", {}), ("t.json", {}),
])  # fmt: skip
def test_memory_is_bounded(tmp_path, name, options):
    row = " ".join(["a long word"] * 300)
    path = write(tmp_path / name, [f"{row} {number}" for number in range(6000)], group=6000)
    command = [sys.executable, "-c", READ, str(path), repr(options)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    read, size, *peaks = map(int, found.split())
    assert read == 901 * 6000 and size > 21e6
    assert max(peaks) < 15e6


def test_training_gives_the_bits_of_a_text_file(tmp_path):
    sentences = TableSentences(write(tmp_path / "t.parquet", LINES), "text")
    lists = TableSentences(write(tmp_path / "l.parquet", [r.split() for r in LINES]), "text")
    options = {"vector_size": 8, "workers": 1, "epochs": 1, "seed": 3}
    expected = TFWord2Vec(corpus_file=LEE, **options)
    for source in (sentences, lists, pickle.loads(pickle.dumps(sentences))):
        model = TFWord2Vec(source, **options)
        assert model.wv.index_to_key == expected.wv.index_to_key
        assert np.array_equal(model.wv.vectors, expected.wv.vectors)
        assert (model.corpus_count, model.corpus_total_words) == (
            expected.corpus_count,
            expected.corpus_total_words,
        )
    gensims = Word2Vec(sentences, **options)
    assert gensims.wv.index_to_key == Word2Vec(LineSentence(LEE), **options).wv.index_to_key
    limited = TFWord2Vec(sentences, max_vocab_size=1000, **options)
    assert len(limited.wv) < len(expected.wv)


def test_documents_give_the_bits_of_a_text_file(tmp_path):
    rows = ["" if number % 7 == 3 else line for number, line in enumerate(LINES[:-1])]
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    nulls = [row or None for row in rows]
    documents = TableDocuments(write(tmp_path / "t.parquet", nulls), "text")
    lists = [row and row.split() for row in nulls]
    of_lists = TableDocuments(write(tmp_path / "l.parquet", lists), "text")
    assert list(documents) == list(of_lists) == list(TaggedLineDocument(str(text)))
    options = {"vector_size": 8, "workers": 1, "epochs": 1, "seed": 3, "dm": 0}
    expected = TFDoc2Vec(corpus_file=str(text), **options)
    sentences = [TableSentences(source.path, "text") for source in (documents, of_lists)]
    for source in (documents, of_lists, *sentences):
        model = TFDoc2Vec(source, **options)
        assert len(model.dv) == len(rows)
        assert np.array_equal(model.dv.vectors, expected.dv.vectors)
    assert len(TFDoc2Vec(documents, max_vocab_size=1000, **options).dv) == len(rows)


def test_subclasses_are_read_by_their_own_iterator(tmp_path):
    class Lower(TableSentences):
        def __iter__(self):
            return ([word.lower() for word in words] for words in super().__iter__())

    path = write(tmp_path / "t.parquet", ["A b", "B a"])
    assert read_by_library(Lower(path, "text"))[0] == [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize("suffix", [".GZ", ".Bz2", ".XZ"])
def test_suffix_of_a_compression_may_be_in_upper_case(tmp_path, suffix):
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix.lower()]
    path = tmp_path / f"T.CSV{suffix}"
    path.write_bytes(compress(b"id,text\n1,a b\n"))
    assert list(TableSentences(path, "text")) == [["a", "b"]]
