"""Formats of tables are recognized by their content, or else by their suffix."""

import inspect
import json
import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from gensim_tfw2v import TableDocuments, TableSentences, TFWord2Vec
from gensim_tfw2v.corpus.tables.table_formats import FORMATS, SUFFIXES, find_format
from gensim_tfw2v.corpus.tables.table_options import TableOptions
from tests.corpus.test_table_files import LINES, ROOT, write

ROWS = [[3, None, 1], None, [], [None], [2, 2**40]]


def test_every_option_is_a_parameter_with_its_default_and_is_documented():
    parameters = inspect.signature(TableSentences).parameters
    names = parameters.keys() - {"path", "column", "weight"}  # those name columns
    defaults = {name: parameters[name].default for name in names}
    assert defaults == {field.name: field.default for field in fields(TableOptions)}
    described = re.findall(r"^(\w+) : ", inspect.getdoc(TableSentences), re.MULTILINE)
    assert {*described} == {*parameters} | {"types"}
    page = (ROOT / "docs/tables.md").read_text("utf-8")
    assert all(f"`{name}=" in page for name in (*defaults, "weight"))


def test_each_suffix_names_one_format():
    assert len({*SUFFIXES}) == len(SUFFIXES)
    assert len({one.name for one in FORMATS}) == len(FORMATS)


def test_each_suffix_is_on_the_page_of_tables():
    page = (ROOT / "docs/tables.md").read_text("utf-8")
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in page] == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tables_of_each_suffix_are_read(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    source = {".feather": ".arrow", ".ipc": ".arrow"}.get(suffix, suffix)
    write(tmp_path / f"s{source}", ["a b", "c"]).rename(path)
    assert suffix in find_format(path).suffixes
    assert list(TableSentences(path, "text")) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(("content", "name"), [
    ("t.parquet", "t.csv"), ("t.parquet", "table"), ("t.arrow", "t.parquet"), ("t.orc", "t.csv"),
    ("t.jsonl", "t.json"), ("t.json", "t.jsonl"), ("t.jsonl", "t.csv"), ("t.jsonl.gz", "t.json.gz"),
])  # fmt: skip
def test_content_decides_rather_than_the_suffix(tmp_path, content, name):
    write(tmp_path / content, ["a b", "c"]).rename(tmp_path / name)
    assert list(TableSentences(tmp_path / name, "text")) == [["a", "b"], ["c"]]


@pytest.mark.parametrize("text", [
    "ORCA whales swim\n", "PAR 1 is a golf term\n", "{curly} words\n", '["a", "b"]\n', "[{x}]\n",
    "", '{"no colon"}\n', "ARROW1\n",
])  # fmt: skip
def test_texts_are_not_tables(tmp_path, text):
    (tmp_path / "t.txt").write_text(text)
    assert find_format(tmp_path / "t.txt") is None


@pytest.mark.parametrize("n_columns", [1, 2000])
@pytest.mark.parametrize("name", ["t.arrow", "table"])
def test_streams_of_arrow_are_recognized_by_schemas_of_any_size(tmp_path, n_columns, name):
    path = tmp_path / name
    names = ["text", *(f"column {number}" for number in range(n_columns - 1))]
    table = pa.table([pa.array(["a b", "c"])] * n_columns, names)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    size = int.from_bytes(path.read_bytes()[4:8], "little")
    assert (size >= 1 << 16) == (n_columns > 1)
    assert find_format(path).name == "Arrow"
    assert list(TableSentences(path, "text")) == [["a", "b"], ["c"]]


def test_folders_and_missing_files_are_not_tables(tmp_path):
    assert find_format(tmp_path) is None and find_format(tmp_path / "missing.csv") is None


RECOGNIZE = """
import sys
from gensim_tfw2v.corpus.tables.table_formats import find_format
print(*(find_format(path).name for path in sys.argv[1:]), "pyarrow" in sys.modules)
"""


def test_formats_are_recognized_without_pyarrow(tmp_path):
    paths = [write(tmp_path / f"t{suffix}", ["a"]) for suffix in (".parquet", ".csv", ".json.gz")]
    command = [sys.executable, "-c", RECOGNIZE, *map(str, paths)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert found == "Parquet CSV JSON False\n"


STOP = """
import sys
from gensim_tfw2v import TableSentences
from gensim_tfw2v.corpus.tables import table_streams

table_streams.BLOCK_BYTES = 1 << 12
readers = [iter(TableSentences(path, "text")) for path in sys.argv[1:] * 5]
print(*(next(reader)[0] for reader in readers))
"""


def test_programs_end_in_the_middle_of_a_table(tmp_path):
    names = ("t.csv", "t.jsonl", "t.json", "t.parquet")
    paths = [str(write(tmp_path / name, LINES)) for name in names]
    run = subprocess.run(
        [sys.executable, "-c", STOP, *paths], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == [LINES[0].split()[0]] * 20


@pytest.mark.parametrize("kind", [
    pa.list_(pa.int64()), pa.list_(pa.int64(), 3), pa.large_list(pa.int64()),
    pa.list_view(pa.int64()), pa.list_(pa.dictionary(pa.int32(), pa.int64())),
], ids=str)  # fmt: skip
def test_lists_of_integers_are_batches_of_arrays(tmp_path, kind):
    rows = ROWS
    if pa.types.is_fixed_size_list(kind):
        rows = [[3, None, 1], None, [2, 2**40, None]]
    path = tmp_path / "t.arrow"
    feather.write_feather(pa.table({"ids": pa.array(rows, kind)}), path, chunksize=2)
    sentences = TableSentences(path, "ids")
    expected = [[item for item in row or () if item is not None] for row in rows]
    assert [words for words, _ in TableDocuments(path, "ids")] == expected
    assert list(sentences) == [row for row in expected if row]
    assert sentences.ranges is None
    values, lengths = zip(*sentences.integer_batches(), strict=True)
    assert {array.dtype for array in (*values, *lengths)} == {np.dtype(np.int64)}
    assert np.concatenate(values).tolist() == [item for row in expected for item in row]
    assert np.concatenate(lengths).tolist() == [len(row) for row in expected if row]


def test_lists_of_integers_in_text_are_batches_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('ids\n"[1, 2]"\n""\n[3]\n[]\n')
    ((values, lengths),) = TableSentences(path, "ids", lists="json").integer_batches()
    assert values.tolist() == [1, 2, 3] and lengths.tolist() == [2, 1]


@pytest.mark.parametrize("word", [7, "seven"])
def test_counted_sentences_are_those_of_an_iteration(tmp_path, word):
    rows = [[word], [], [word] * 20_001, None, [word] * 10_000]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"items": rows}), path, row_group_size=2)
    sentences = TableSentences(path, "items")
    model = TFWord2Vec(min_count=1, vector_size=2)
    model.build_vocab(sentences)
    assert [len(sentence) for sentence in sentences] == [1, 10_000, 10_000, 1, 10_000]
    assert (model.corpus_count, model.corpus_total_words) == (5, 30_002)


def test_strings_are_no_batches_of_integers(tmp_path):
    assert TableSentences(write(tmp_path / "t.parquet", ["1"]), "text").integer_batches() is None
    rows = [["1"], ["2"]]
    assert TableSentences(write(tmp_path / "t.jsonl", rows), "text").integer_batches() is None


def test_integers_that_int64_lacks_are_words(tmp_path):
    path = tmp_path / "t.parquet"
    rows = [[2**63, 1], [2**64 - 1, 2**63]]
    parquet.write_table(pa.table({"ids": pa.array(rows, pa.list_(pa.uint64()))}), path)
    sentences = TableSentences(path, "ids")
    assert sentences.integer_batches() is None
    assert list(sentences) == rows
    model = TFWord2Vec(sentences, min_count=1, vector_size=2)
    assert sorted(model.wv.index_to_key) == [1, 2**63, 2**64 - 1]


def test_files_with_integers_and_with_strings_are_refused(tmp_path):
    for number, items in enumerate(([1], ["1"])):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"ids": items}))
    with pytest.raises(ValueError, match=r"contains integers in .*0\.jsonl, and strings in .*1\."):
        TableSentences(tmp_path, "ids")
