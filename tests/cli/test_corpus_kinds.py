"""``tfw2v train`` and ``evaluate --text`` refuse what is no text, in the terms of options."""

import bz2
import subprocess
import sys

import pytest
from gensim.models import Word2Vec

from tests.corpus.not_texts import LINES, NOT_TEXTS, TABLES, WALKS, write

QUICK = ("--vector-size", 4, "--min-count", 1, "--epochs", 1, "--workers", 1)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    Word2Vec(WALKS, vector_size=4, min_count=1, workers=1).save(str(path))
    return path


@pytest.mark.parametrize("kind", NOT_TEXTS)
def test_file_that_is_no_text_is_refused_with_what_it_is(tfw2v, model, tmp_path, kind):
    (tmp_path / "texts").mkdir()
    path = write(kind, tmp_path / "texts")
    output = tmp_path / "out"
    for arguments in (
        ("train", path, "-o", output, *QUICK),
        ("train", path.parent, "-o", output, *QUICK),  # a folder of it
        ("train", path, "-o", output, "--init", model),
        ("train", path, "-o", output, "--compass", model),
        ("evaluate", model, "--no-standard", "--text", path),
    ):
        result = tfw2v(*arguments, status=2)
        assert result.stderr.startswith(f"tfw2v: {path}: ") and result.stderr.count("\n") == 1
        assert NOT_TEXTS[kind][2] in result.stderr
        assert "PathLineSentences" not in result.stderr and "TFDoc2Vec" not in result.stderr
    assert not output.exists()


@pytest.mark.parametrize("kind", TABLES)
def test_table_without_a_column_is_refused_and_read_with_it(tfw2v, model, tmp_path, kind):
    path = write(kind, tmp_path)
    output = tmp_path / "out"
    train = ("train", path, "-o", output, *QUICK)
    evaluate = ("evaluate", model, "--no-standard", "--text", path)
    for arguments, command in (
        (train, f"tfw2v train {path} --column NAME"),
        (evaluate, f"tfw2v evaluate {model} --text {path} --column NAME"),
    ):
        said = tfw2v(*arguments, status=2).stderr
        assert said.startswith(f"tfw2v: {path}: is a table; name the column to train on, as in: ")
        assert f"{command}; its columns are: id, text" in said
    assert not output.exists()
    tfw2v(*train, "--column", "text")
    assert len(Word2Vec.load(str(output)).wv)
    assert "held-out loss" in tfw2v(*evaluate, "--column", "text").stdout


def test_options_of_a_text_without_a_text_are_refused(tfw2v, model):
    for options in (("--column", "text"), ("--recursive",)):
        assert "give --text" in tfw2v("evaluate", model, *options, status=2).stderr


@pytest.fixture
def folder(tmp_path):
    """A folder of a text and of subfolders, one of them in a subfolder, and a hidden one."""
    for name in ("texts", "texts/2019", "texts/2020/may", "texts/.hidden", "nested/2019"):
        (tmp_path / name).mkdir(parents=True)
    for name, word in (
        ("texts/a.txt", "top"),
        ("texts/2019/b.txt", "first"),
        ("texts/2020/may/c.txt.bz2", "second"),
        ("texts/.hidden/d.txt", "hidden"),
        ("nested/2019/e.txt", "inner"),
    ):
        text = f"{word} word\n".encode()
        (tmp_path / name).write_bytes(bz2.compress(text) if name.endswith("bz2") else text)
    (tmp_path / "texts/2019/back").symlink_to(tmp_path / "texts")  # a circle
    return tmp_path


def words_of(path):
    return {*Word2Vec.load(str(path)).wv.index_to_key}


def test_subfolders_that_are_left_out_are_named(tfw2v, model, folder):
    result = tfw2v("train", folder / "texts", "-o", folder / "model", *QUICK)
    said = f"tfw2v: {folder}/texts: subfolders are left out without --recursive: 2019, 2020\n"
    assert result.stderr == said
    assert words_of(folder / "model") == {"top", "word"}
    (folder / "texts/a.txt").write_text(LINES)
    evaluate = ("evaluate", model, "--no-standard", "--text", folder / "texts")
    assert tfw2v(*evaluate).stderr == said
    assert tfw2v(*evaluate, "--recursive").stderr == ""


def test_folder_of_subfolders_alone_is_refused(tfw2v, folder):
    said = tfw2v("train", folder / "nested", "-o", folder / "model", *QUICK, status=2).stderr
    assert said == (
        f"tfw2v: {folder}/nested: contains no files, only subfolders (2019): give --recursive, or "
        "one of them\n"
    )


@pytest.mark.parametrize(("kind", "said"), [
    ("pdf", "is a PDF document, not text: a corpus is UTF-8 text"),
    ("gzip named text", "holds gzip data, not text: decompress it"),
    ("parquet", "is a table (Parquet), not text: write it to a local file"),
    ("integers", "holds binary data, not text"),
])  # fmt: skip
@pytest.mark.parametrize("how", ["<", "| cat |"])
def test_standard_input_that_is_no_text_is_refused(tmp_path, how, kind, said):
    path = write(kind, tmp_path)
    train = f"{sys.executable} -m gensim_tfw2v train - -o {tmp_path}/model"
    command = f"{train} < {path}" if how == "<" else f"cat {path} | {train}"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 2 and said in result.stderr and result.stderr.count("\n") == 1
    assert not (tmp_path / "model").exists()
