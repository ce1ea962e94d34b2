"""``tfw2v train --column``, and tables without it."""

import shlex
import sys

import numpy as np
import pyarrow as pa
import pytest
from gensim.models import Doc2Vec, Word2Vec
from pyarrow import csv, parquet

QUICK = ("--vector-size", 8, "--epochs", 1, "--workers", 1)


@pytest.fixture
def tables(tmp_path, corpus):
    """Folder with the lines of the corpus as tables, and in a folder of its own."""
    lines = corpus.read_text(encoding="utf-8").splitlines()
    table = pa.table({"id": range(len(lines)), "text": lines})
    parquet.write_table(table, tmp_path / "texts.parquet")
    csv.write_csv(table, tmp_path / "texts.csv")
    words = pa.table({"words": [line.split() for line in lines]})
    parquet.write_table(words, tmp_path / "words.parquet")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((table[:11], table[11:])):
        parquet.write_table(part, tmp_path / f"parts/part-{number}.parquet")
    (tmp_path / "parts/_SUCCESS").touch()
    (tmp_path / "text.txt").write_bytes(corpus.read_bytes())
    return tmp_path


@pytest.mark.parametrize(("name", "column"), [
    ("texts.parquet", "text"), ("texts.csv", "text"), ("words.parquet", "words"), ("parts", "text"),
])  # fmt: skip
def test_tables_train_as_their_text_does(tfw2v, tables, name, column):
    tfw2v("train", tables / "text.txt", "-o", tables / "expected", *QUICK)
    kept = "--checkpoint-dir", tables / "kept"
    for _ in range(2):  # the second resumes from the checkpoint
        shown = tfw2v(
            "train", tables / name, "--column", column, "-o", tables / "model", *QUICK, *kept
        )
    assert "resumed" in shown.stdout
    expected, model = (Word2Vec.load(str(tables / name)) for name in ("expected", "model"))
    assert model.wv.index_to_key == expected.wv.index_to_key
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)


@pytest.mark.parametrize(("name", "column"), [("parts", "text"), ("words.parquet", "words")])
def test_rows_are_documents(tfw2v, tables, name, column):
    of_column = "train", tables / name, "--column", column
    options = "--dbow", "--max-vocab-size", 9999, *QUICK
    tfw2v(*of_column, "-o", tables / "model", "--doc2vec", *options)
    assert Doc2Vec.load(str(tables / "model")).dv.index_to_key == list(range(30))
    tfw2v(*of_column, "-o", tables / "more", "--init", tables / "model", "--epochs", 1)
    assert len(Doc2Vec.load(str(tables / "more")).dv) == 30


@pytest.mark.parametrize(("arguments", "message"), [
    (("texts.csv",),
     "texts.csv: is a table; name the column to train on, as in: tfw2v train texts.csv "
     "--column NAME; its columns are: id, text"),
    (("parts",), "tfw2v train parts --column NAME; its columns are: id, text"),
    (("hidden",), "hidden: is a table; name the column to train on"),
    (("text.txt", "--column", "text"),
     "text.txt: --column needs a table (.parquet, .arrow, .feather, .ipc, .orc, .csv, .tsv, "
     ".jsonl, .ndjson, .json); read other files"),
    (("-", "--column", "text"), "/dev/stdin: --column needs a table"),
    (("texts.csv", "--column", "texts"),
     "texts.csv: has no column 'texts'; its columns are: id, text"),
    (("texts.parquet", "--column", "id"),
     "column 'id' is of type int64; a row must be a sentence: group"),
    (("missing.csv", "--column", "id"), "missing.csv: No such file or directory"),
])  # fmt: skip
def test_bad_columns_are_reported_before_training(tfw2v, monkeypatch, tables, arguments, message):
    monkeypatch.chdir(tables)
    (tables / "hidden").write_bytes((tables / "texts.parquet").read_bytes())
    result = tfw2v("train", *arguments, "-o", "model", status=2)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not (tables / "model").exists()


#: Tables that are refused with an option that reads them: content, and the option as it is typed.
CURED = {
    "semicolons.csv": ("id;text\n1;{0}, x\n", "--sep ';'"),
    "tabs.csv": ("id\ttext\n1\t{0}, x\n", "--sep '\\t'"),
    "plain-quotes.tsv": ('text\n"{0}" x\n', "--quotechar ''"),
    "backslashes.csv": ('text\n"{0} \\"x\\" y"\n', "--escapechar '\\'"),
    "newlines.csv": ('text\n"{0}\nx"\n', "--newlines"),
    "wide.csv": ("text\n{0} x\n", "--table-encoding utf-16"),
    "lists.csv": ("text\n\"['{0}', 'x']\"\n", "--lists json"),
    "parts": ("text\n{0} x\n", "--recursive"),
}


@pytest.mark.parametrize("name", CURED)
def test_messages_contain_the_option_that_reads_a_table(tfw2v, tmp_path, name):
    content, cure = CURED[name]
    content = content.format("word " * 9 if name != "lists.csv" else "', '".join(["word"] * 9))
    path = tmp_path / name
    if name == "parts":
        (path / "y=1").mkdir(parents=True)
        (path / "y=1/part.csv").write_text(content)
    else:
        path.write_text(content, "utf-16" if name == "wide.csv" else "utf-8")
    command = "train", path, "--column", "text", "-o", tmp_path / "model", *QUICK
    result = tfw2v(*command, status=2)
    assert cure in result.stderr and result.stderr.count("\n") == 1
    tfw2v(*command, *shlex.split(cure))
    assert Word2Vec.load(str(tmp_path / "model")).wv.index_to_key[0] == "word"


@pytest.mark.parametrize("way", ["--init", "--compass"])
def test_dialects_are_used_by_every_way_to_train(tfw2v, tables, corpus, way):
    lines = corpus.read_text(encoding="utf-8").splitlines()
    with open(tables / "texts.csv", "w", encoding="latin-1", errors="replace") as file:
        file.writelines(f"{number}\t{line}\n" for number, line in enumerate(lines))
    small = "--vector-size", 8, "--workers", 1
    for kind in ((), ("--doc2vec",))[: 1 + (way == "--init")]:
        tfw2v("train", tables / "text.txt", "-o", tables / "old", *small, *kind, "--epochs", 1)
        dialect = "--sep", "\\t", "--no-header", "--table-encoding", "latin-1", "--quotechar", ""
        tfw2v("train", tables / "texts.csv", "--column", 1, *dialect, way, tables / "old",
              "-o", tables / "new", "--epochs", 1)  # fmt: skip
        model = Word2Vec.load(str(tables / "new"))
        assert model.corpus_count == len(lines)


def test_evaluate_reads_the_tables_that_train_reads(tfw2v, tables, corpus):
    lines = corpus.read_text(encoding="utf-8").splitlines()
    tfw2v("train", tables / "text.txt", "-o", tables / "model", *QUICK)
    table = tables / "wide.csv"
    table.write_text("".join(f"{number};{line}\n" for number, line in enumerate(lines)), "utf-16")
    command = "evaluate", tables / "model", "--no-standard", "--text", table, "--column", 1
    refused = tfw2v(*command, "--no-header", status=2)
    assert "wide.csv: looks like UTF-16: pass --table-encoding utf-16" in refused.stderr
    dialect = "--no-header", "--table-encoding", "utf-16", "--quotechar", ""
    assert "pass --sep ';'" in tfw2v(*command, *dialect, status=2).stderr
    of_table = tfw2v(*command, *dialect, "--sep", ";").stdout
    of_text = tfw2v(*command[:4], tables / "text.txt").stdout
    assert of_table.replace("wide.csv", "text.txt") == of_text and "loss" in of_table
    refused = tfw2v(*command[:4], tables / "text.txt", "--sep", ";", status=2)
    assert "options of tables need the name of a column: give --column" in refused.stderr


def test_subfolders_that_are_left_out_are_named(tfw2v, tables):
    (tables / "parts/y=1").mkdir()
    (tables / "parts/part-0.parquet").rename(tables / "parts/y=1/part-0.parquet")
    command = "train", tables / "parts", "--column", "text", "-o", tables / "model", *QUICK
    shown = tfw2v(*command)
    message = "1 subfolder is not read (y=1): pass --recursive to read the tables"
    assert shown.stderr == f"tfw2v: {tables / 'parts'}: {message}\n"
    n_words = Word2Vec.load(str(tables / "model")).corpus_total_words
    assert not tfw2v(*command, "--recursive").stderr
    assert Word2Vec.load(str(tables / "model")).corpus_total_words > n_words


@pytest.mark.parametrize(("arguments", "message"), [
    (("text.txt", "--sep", ";"), "--sep: works only with --column; add that, or leave it out"),
    (("text.txt", "--table-encoding", "latin-1", "--newlines"),
     "--newlines, --table-encoding: works only with --column"),
    (("texts.parquet", "--column", "text", "--sep", ";"),
     "texts.parquet: --sep ';' has no effect on Parquet files; leave it out"),
    (("texts.csv", "--column", "text", "--sep", "ab"), "--sep must be one character or None"),
    (("texts.csv", "--column", "text", "--recursive"), "--recursive has no effect on a file"),
    (("text.txt", "--recursive"), "--recursive has no effect on a file"),
])  # fmt: skip
def test_options_without_effect_are_refused(tfw2v, monkeypatch, tables, arguments, message):
    monkeypatch.chdir(tables)
    result = tfw2v("train", *arguments, "-o", "model", status=2)
    assert message in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--column", "text")])
def test_missing_pyarrow_is_reported(tfw2v, monkeypatch, tables, options):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "gensim_tfw2v.corpus.tables.table_sentences", raising=False)
    result = tfw2v("train", tables / "texts.csv", "-o", tables / "model", *options, status=2)
    said = "tfw2v: reading tables needs pyarrow, which is missing. Run: pip install pyarrow\n"
    assert result.stderr == said
