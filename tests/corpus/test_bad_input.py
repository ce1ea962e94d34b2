"""Unreadable input is rejected with its problem and a remedy, and leaves no files."""

import bz2
import errno
import gzip
import lzma
import os
import sys
import threading

import pytest

from gensim_tfw2v.corpus import CorpusDecodeError
from tests.corpus.reference import (
    LEE,
    encode_sentences,
    encode_texts,
    folder_is_empty,
    line_sentences,
    scan_sentences,
    scan_texts,
)

TEXT = b"a b c\nb c\n" * 50


@pytest.fixture(autouse=True)
def no_files_left(temporary):
    yield
    assert folder_is_empty(temporary)


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_compressed_files_need_their_suffix(tmp_path, pack, reader_kind):
    ending = {gzip: ".gz", bz2: ".bz2", lzma: ".xz"}[pack]
    path = tmp_path / f"lee.txt{ending}"
    with open(LEE, "rb") as file:
        path.write_bytes(pack.compress(file.read()))
    with scan_texts([path]) as scan:
        assert scan.corpus_count == 300
        assert scan.total_words == sum(map(len, line_sentences(LEE)))
    wrongly_named = path.rename(tmp_path / "lee.txt")
    with pytest.raises(ValueError, match=f"not text: name it …{ending}, or decompress it"):
        scan_texts([wrongly_named])


def test_zip_files_are_rejected(tmp_path):
    path = tmp_path / "text.zip"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(ValueError, match="zip data, not text: decompress it"):
        encode_texts([path], {"a": 0})


def test_text_that_starts_like_bzip2_is_read(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"BZh is no word\n")
    with scan_texts([path]) as scan:
        assert list(scan.raw_vocab) == ["BZh", "is", "no", "word"]


@pytest.mark.parametrize(
    "ending, content, error",
    [
        (".gz", gzip.compress(TEXT, mtime=0)[:-10], EOFError),
        (".gz", TEXT, gzip.BadGzipFile),
        (".bz2", bz2.compress(TEXT)[:-10], EOFError),
        (".bz2", TEXT, OSError),
        (".xz", TEXT, lzma.LZMAError),
    ],
)
def test_damaged_files_are_reported(tmp_path, ending, content, error):
    path = tmp_path / f"text{ending}"
    path.write_bytes(content)
    with pytest.raises(error, match="is damaged, cut short, or not what its name says"):
        scan_texts([path])


@pytest.mark.parametrize(("ending", "module"), [(".lz4", "lz4"), (".zst", "backports")])
def test_missing_decompressor_is_named(tmp_path, monkeypatch, ending, module):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"text{ending}"
    path.write_bytes(b"anything")
    with pytest.raises(
        ImportError, match=rf"text\{ending}: .*pip install .smart_open\[{ending[1:]}\]"
    ):
        scan_texts([path])


@pytest.mark.parametrize(("ending", "module"), [(".lz4", "lz4.frame"), (".zst", "backports.zstd")])
def test_lz4_and_zst_files_are_read_or_reported_as_damaged(tmp_path, ending, module):
    packed = pytest.importorskip(module).compress(TEXT)
    path = tmp_path / f"text{ending}"
    path.write_bytes(packed)
    with scan_texts([path]) as scan:
        assert scan.raw_vocab == {"a": 50, "b": 100, "c": 100}
    for damaged in packed[:-9], packed[:9] + b"\xff" * 20, b"anything":
        path.write_bytes(damaged)
        with pytest.raises((OSError, EOFError), match=f"text{ending} is damaged, cut short"):
            scan_texts([path])


def test_lz4_data_without_suffix_is_rejected(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\x04\x22\x4d\x18rest")
    with pytest.raises(ValueError, match="lz4 data, not text: name it ….lz4"):
        scan_texts([path])


@pytest.mark.parametrize("bad", [b"\xff", b"caf\xe9 x", b"\xed\xa0\x80", b"\xe2\x82\n"])
def test_invalid_utf8_is_reported_with_its_offset(tmp_path, reader_kind, bad):
    path = tmp_path / "latin.txt"
    text = TEXT * 200 + b"a \xc3\xa9 " + bad
    path.write_bytes(text + b"\n" + TEXT)
    with pytest.raises(CorpusDecodeError, match="is not UTF-8 text.*iconv") as caught:
        scan_texts([path])
    assert isinstance(caught.value, UnicodeDecodeError) and isinstance(caught.value, ValueError)
    with pytest.raises(UnicodeDecodeError) as expected:
        (text + b"\n").decode()
    assert caught.value.offset == expected.value.start
    assert f"byte {expected.value.start:,}" in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["words of ascii\n", "gr\u00f6\u00dfe\n", "\u0441\u043b\u043e\u0432\u0430\n"]
)
@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [
        ("utf-16", b"", "UTF-16"),
        ("utf-16-be", b"\xfe\xff", "UTF-16"),
        ("utf-32", b"", "UTF-32"),
        ("utf-16-le", b"", "UTF-16LE"),
        ("utf-16-be", b"", "UTF-16BE"),
        ("utf-32-le", b"", "UTF-32LE"),
        ("utf-32-be", b"", "UTF-32BE"),
    ],
)
def test_utf16_and_utf32_are_recognized(tmp_path, reader_kind, text, encoding, mark, name):
    path = tmp_path / "wide.txt"
    if not text.isascii() and not text.startswith("g") and encoding[-2:] in ("le", "be"):
        text = text.replace("\n", " \u00e9\n")  # otherwise every byte would be valid UTF-8
    path.write_bytes(mark + (text * 50).encode(encoding))
    with pytest.raises(
        ValueError, match=f"wide.txt is not UTF-8 text.* looks like {name}:.*iconv -f {name} -t"
    ):
        scan_texts([path])


def test_utf16_after_valid_text_is_recognized(tmp_path, reader_kind):
    path = tmp_path / "joined.txt"
    path.write_bytes(TEXT + "gr\u00f6\u00dfe\n".encode("utf-16-le"))
    with pytest.raises(CorpusDecodeError, match="looks like UTF-16LE: .*iconv -f UTF-16LE -t"):
        scan_texts([path])


def test_invalid_utf8_in_a_long_line_is_reported(tmp_path, reader_kind):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"a b " * 50_000 + b"\xe9")
    with pytest.raises(CorpusDecodeError, match="byte 200,000"):
        encode_texts([path], {"a": 0})


def test_missing_files_folders_and_unreadable_files_are_rejected(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such corpus file.*missing.txt") as caught:
        scan_texts([tmp_path / "missing.txt"])
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(IsADirectoryError, match="PathLineSentences"):
        encode_texts([tmp_path], {})
    if os.geteuid():
        path = tmp_path / "secret.txt"
        path.write_bytes(TEXT)
        path.chmod(0)
        with pytest.raises(PermissionError):
            scan_texts([path])


def test_pipe_is_read(tmp_path, reader_kind):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    feeder = threading.Thread(target=path.write_bytes, args=[TEXT])
    feeder.start()
    with scan_texts([path]) as scan:
        assert scan.raw_vocab == {"a": 50, "b": 100, "c": 100}
    feeder.join()


@pytest.mark.parametrize("sentences", [None, 5, [1, 2], [["a", ["unhashable"]]]])
def test_invalid_sentences_raise_type_error(sentences):
    with pytest.raises(TypeError):
        scan_sentences(sentences)
    with pytest.raises(TypeError):
        encode_sentences(sentences, {"a": 0})


def test_missing_target_folder_is_reported(tmp_path):
    missing = tmp_path / "missing"
    for call in (
        lambda: scan_sentences([["a"]], missing),
        lambda: encode_texts([LEE], {}, missing),
    ):
        with pytest.raises(FileNotFoundError, match="0 bytes of.*make the folder first") as caught:
            call()
        assert caught.value.errno == errno.ENOENT and caught.value.filename == str(missing)
    assert not missing.exists()
