import gzip
import lzma
import sys

import pytest
from gensim.test.utils import datapath

from gensim_tfw2v.evaluation.sets import (
    UNNAMED_SECTION,
    EvaluationFileError,
    file_kind,
    read_pairs,
    read_questions,
)


@pytest.fixture
def file(tmp_path):
    def write(text, name="file.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "old\tnew\t1.58\nhappy\tglad\t9\n",
        "old,new,1.58\nhappy, glad, 9\n",
        "old;new;1.58\nhappy;glad;9\n",
        "old new 1.58\nhappy   glad 9\n",
        "# comment\n\nold\tnew\t1.58\n\nhappy\tglad\t9",
        "Word 1,Word 2,Human (mean)\nold,new,1.58\nhappy,glad,9\n",
        "old\tnew\t1.58\t1\t2\nhappy\tglad\t9\t8\t10\n",
        "\ufeffold new 1.58\r\nhappy glad 9\r\n",
    ],
    ids=["tab", "comma", "semicolon", "spaces", "comments", "header", "raters", "BOM and CRLF"],
)
def test_pairs_are_read_with_any_separator(file, text):
    path = file(text)
    assert read_pairs(path) == [("old", "new", 1.58), ("happy", "glad", 9.0)]
    assert file_kind(path) == "pairs"


def test_compressed_pairs_are_read(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"old\tnew\t1.58\n"))
    assert read_pairs(path) == [("old", "new", 1.58)]


NO_RATINGS = [f"old new {bad}" for bad in ("nan", "inf", "-inf", "1_0", "٣", "1e999", "0x1")]


@pytest.mark.parametrize("bad", ["old new", "old new x", "old", "old new young 3", *NO_RATINGS])
def test_bad_pair_error_names_its_line(file, bad):
    path = file(f"# comment\na b 1\n{bad}\n")
    with pytest.raises(EvaluationFileError, match=rf"file.txt, line 3: .*{bad}"):
        read_pairs(path)


@pytest.mark.parametrize("rating", ["nan", "inf", "1_0", "٣"])
def test_bad_rating_in_line_1_is_not_taken_for_a_header(file, rating):
    path = file(f"old new {rating}\na b 1\n")
    assert file_kind(path) == "pairs"
    with pytest.raises(EvaluationFileError, match="line 1: expected two words and a finite number"):
        read_pairs(path)


@pytest.mark.parametrize(
    "text",
    [
        "word1 word2 rating sd\nold new 1.58 0.3\n",
        "word1\tword2\trating\tsd\nold\tnew\t1.58\t0.3\n",
        "word1,word2,rating,raters\nold,new,1.58,9\n",
        "# comment\nword1 word2 rating sd\n\nold new 1.58 0.3\n",
    ],
)
def test_pairs_with_four_named_columns_are_no_analogies(file, text):
    path = file(text)
    assert file_kind(path) == "pairs"
    assert read_pairs(path) == [("old", "new", 1.58)]


def test_pairs_with_a_number_in_the_fourth_column_are_no_analogies(file):
    path = file("old new A 1.58\nhappy glad A 9\n")
    assert file_kind(path) == "pairs"
    advice = "got 'happy glad A 9'; begin a file of analogies with : and a name"
    with pytest.raises(EvaluationFileError, match=f"line 2: expected two words .*{advice}"):
        read_pairs(path)


@pytest.mark.parametrize("rating", ["1", "+1.", "1e0", "1.0E+0", ".1e1", "01"])
def test_rating_formats_are_accepted(file, rating):
    assert read_pairs(file(f"old new {rating}\n")) == [("old", "new", 1.0)]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
@pytest.mark.parametrize("read", [read_pairs, read_questions, file_kind])
def test_file_without_data_lines_raises(file, read, text):
    with pytest.raises(EvaluationFileError, match="contains no line"):
        read(file(text))


def test_header_without_pairs_raises(file):
    with pytest.raises(EvaluationFileError, match="no pair"):
        read_pairs(file("first,second,rating\n"))


@pytest.mark.parametrize("read", [read_pairs, read_questions])
def test_missing_file_raises(tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.txt")


@pytest.mark.parametrize("read", [read_pairs, read_questions, file_kind])
def test_binary_file_raises(tmp_path, read):
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00\x81" * 10)
    with pytest.raises(EvaluationFileError, match="not UTF-8"):
        read(path)


def test_invalid_utf8_error_names_the_byte_offset(tmp_path):
    path = tmp_path / "latin.tsv"
    path.write_bytes(b"old\tnew\t1\nb\xe4r\tb\xe4ume\t2\n")
    with pytest.raises(EvaluationFileError, match=r"latin.tsv: is not UTF-8 text: .* at byte 11 "):
        read_pairs(path)


def test_missing_decompressor_error_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lz4", None)
    (tmp_path / "pairs.lz4").write_bytes(b"anything")
    with pytest.raises(ImportError, match=r"pairs.lz4: .*pip install .smart_open\[lz4\]"):
        read_pairs(tmp_path / "pairs.lz4")


def test_questions_are_grouped_by_section(file):
    path = file(": family\nking queen man woman\n\n: gram1\ngood better bad worse\n: none\n")
    assert read_questions(path) == {
        "family": [("king", "queen", "man", "woman")],
        "gram1": [("good", "better", "bad", "worse")],
        "none": [],
    }
    assert file_kind(path) == "analogies"


def test_questions_without_a_header_are_one_section(file):
    path = file("king queen man woman\n")
    assert list(read_questions(path)) == [UNNAMED_SECTION]
    assert file_kind(path) == "analogies"


def test_bad_question_error_names_its_line(file):
    with pytest.raises(EvaluationFileError, match="line 2: expected four words"):
        read_questions(file(": family\nking queen man\n"))


def test_sections_without_questions_raise(file):
    with pytest.raises(EvaluationFileError, match="no question"):
        read_questions(file(": family\n"))


def test_files_of_gensim_are_read_completely():
    assert len(read_pairs(datapath("wordsim353.tsv"))) == 353
    assert len(read_pairs(datapath("simlex999.txt"))) == 999
    questions = read_questions(datapath("questions-words.txt"))
    assert (len(questions), sum(map(len, questions.values()))) == (14, 19_544)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.gz", gzip.compress(b"old new 1\n" * 99, mtime=0)[:-9]),
        ("pairs.gz", b"old new 1\n"),
        ("pairs.xz", b"old new 1\n"),
        ("pairs.xz", lzma.compress(b"old new 1\n" * 99)[:-9]),
        ("pairs.bz2", b"old new 1\n"),
    ],
    ids=["cut gzip", "text named gz", "text named xz", "cut xz", "text named bz2"],
)
def test_damaged_file_error_names_the_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EvaluationFileError, match=f"{name}: is damaged, truncated, or not"):
        read_pairs(tmp_path / name)
