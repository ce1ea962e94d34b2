"""Texts in several files are recognised, cut into runs, and read as one."""

import bz2
import functools
import gzip
import http.server
import lzma
import os
import pty
import threading
from pathlib import Path

import pytest
from gensim.models.word2vec import LineSentence, PathLineSentences
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v.corpus import text_corpus as module
from gensim_tfw2v.corpus.encode import scan_corpus
from gensim_tfw2v.corpus.scanner import bytes_of, library
from gensim_tfw2v.corpus.text_corpus import cut_texts, is_pipe, text_paths, whole_file
from tests.corpus.reference import decoded, encode_texts, line_sentences, scan_texts, text_of

LEE = datapath("lee_background.cor")

LINES = st.lists(st.sampled_from([b"", b"a b c", b"d" * 50, b"e  f", "é".encode()]), max_size=9)


@pytest.fixture
def folder(tmp_path):
    """Corpus in five files: one compressed, one empty, one without a final newline."""
    made = tmp_path / "texts"
    made.mkdir()
    lines = Path(LEE).read_bytes().splitlines(keepends=True)
    parts = [lines[:40], lines[40:140], [], lines[140:250], [*lines[250:], b"\none more"]]
    for number, part in enumerate(parts):
        text = b"".join(part)
        name, text = (f"{number}.gz", gzip.compress(text)) if number == 1 else (str(number), text)
        (made / name).write_bytes(text)
    return made


@given(files=st.lists(LINES, max_size=5), runs=st.integers(1, 7))
def test_runs_cover_all_lines_in_order(files, runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / str(number) for number in range(len(files))]
    for path, lines in zip(paths, files, strict=True):
        path.write_bytes(b"\n".join(lines))
    texts = [whole_file(str(path)) for path in paths]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BYTES_PER_RUN", max(1, -(-bytes_of(texts) // runs)))
        cut = cut_texts(texts)
    assert len(cut) <= runs and all(cut)
    pieces = [piece for run in cut for piece in run]
    for path in paths:
        of_file = [piece for piece in pieces if piece.path == str(path)]
        content = path.read_bytes()
        edges = [0, *(piece.stop for piece in of_file)]
        assert [piece.start for piece in of_file] == edges[:-1] and edges[-1] == len(content)
        assert all(content[edge - 1 : edge] == b"\n" for edge in edges[1:-1])
    assert [p.path for p in pieces] == sorted(
        (p.path for p in pieces), key=lambda p: int(Path(p).name)
    )


def test_runs_have_about_equal_sizes(folder, monkeypatch):
    texts = [whole_file(str(path)) for path in sorted(folder.iterdir())]
    assert [text.is_stream for text in texts] == [False, True, False, False, False]
    size = bytes_of(texts)
    monkeypatch.setattr(module, "BYTES_PER_RUN", size // 4)
    sizes = [bytes_of(run) for run in cut_texts(texts)]
    assert len(sizes) == 4 and sum(sizes) == size
    assert max(sizes) < 0.35 * size


def test_several_files_are_read_as_one(folder, reader_kind):
    paths, expected = sorted(folder.iterdir()), PathLineSentences(str(folder))
    with scan_texts(paths) as scan:
        counts: dict[str, int] = {}
        for sentence in expected:
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
        assert list(scan.raw_vocab.items()) == list(counts.items())
        assert (scan.corpus_count, scan.total_words) == (301, sum(counts.values()))
        known = {word: number for number, word in enumerate(counts) if number % 3}
        by_number = {number: word for word, number in known.items()}
        sentences = [[w for w in s if w in known] for s in expected]
        sentences = [sentence for sentence in sentences if sentence]
        for corpus in (
            scan.encode(known),
            encode_texts(paths, known | {5: 1, "a\nb": 2}),
        ):
            with corpus:
                assert corpus.total_raw_words == scan.total_words
                assert corpus.total_sentences == 301
                assert decoded(corpus, by_number) == sentences


def test_empty_vocabulary_encodes_no_tokens(folder, reader_kind):
    with encode_texts(sorted(folder.iterdir()), {}) as corpus:
        assert (corpus.total_tokens, corpus.total_sentences) == (0, 301)


def test_only_unmodified_gensim_readers_count_as_files(folder):
    path = str(folder / "0")
    assert text_paths(Path(path)) == text_paths(LineSentence(path)) == [path]
    assert text_paths(PathLineSentences(str(folder))) == [str(p) for p in sorted(folder.iterdir())]
    assert text_paths(LineSentence(path, limit=3)) is None
    assert text_paths(LineSentence(path, max_sentence_length=9)) is None
    assert text_paths([["a"]]) is None
    with open(path, "rb") as file:
        assert text_paths(LineSentence(file)) is None

    class Upper(LineSentence):
        def __iter__(self):
            return ([word.upper() for word in sentence] for sentence in super().__iter__())

    assert text_paths(Upper(path)) is None


def test_damaged_files_are_reported_from_threads(folder, reader_kind):
    (folder / "1.gz").write_bytes((folder / "1.gz").read_bytes()[:-20])
    with pytest.raises(EOFError, match="1.gz is damaged, cut short, or not what its name says"):
        scan_texts(sorted(folder.iterdir()))
    (folder / "1.gz").write_bytes(b"text")
    with pytest.raises(gzip.BadGzipFile, match="1.gz is damaged"):
        scan_texts(sorted(folder.iterdir()))


def test_file_listed_twice_is_read_twice(tmp_path, reader_kind):
    with encode_texts([LEE, LEE], {"the": 0, "of": 1}) as corpus:
        assert decoded(corpus, ["the", "of"]) == 2 * line_sentences(LEE, {"the": 0, "of": 1})


@pytest.mark.parametrize("n_lines", [0, 5000])
def test_last_line_of_a_growing_file_is_read_to_its_end(tmp_path, reader_kind, n_lines):
    paths = [tmp_path / "1.txt", tmp_path / "2.txt"]
    character = "é".encode()
    paths[0].write_bytes(b"a b\n" * n_lines + b"c " + character[:1])
    paths[1].write_text("x y\n")
    corpus = text_of(paths)
    text = corpus.ranges[0]
    assert not text.ends_in_line()
    with paths[0].open("ab") as file:
        file.write(character[1:] + b"d e\nf g\n")
    assert text.ends_in_line()
    with scan_corpus(corpus) as scan, scan.encode({"c": 0, "éd": 1, "e": 2, "x": 3}) as encoded:
        assert decoded(encoded, ["c", "éd", "e", "x"]) == [["c", "éd", "e"], ["x"]]
        assert (scan.corpus_count, scan.total_words) == (n_lines + 2, 2 * n_lines + 5)
        assert "f" not in scan.raw_vocab


def test_file_that_grows_by_lines_ends_at_a_line(tmp_path, reader_kind):
    path = tmp_path / "log.txt"
    path.write_text("a b\n")
    corpus = text_of([path])
    with path.open("a") as file:
        file.write("c d\n")
    assert not corpus.ranges[0].ends_in_line()
    with scan_corpus(corpus) as scan:
        assert scan.raw_vocab == {"a": 1, "b": 1}


@pytest.mark.parametrize("pack", [None, gzip, bz2, lzma])
def test_progress_counts_bytes_on_disk(tmp_path, pack):
    ending = {None: ".txt", gzip: ".gz", bz2: ".bz2", lzma: ".xz"}[pack]
    path = tmp_path / f"text{ending}"
    text = b"".join(b"%i " % (number * 7919) + b"\n" for number in range(50_000))
    path.write_bytes(pack.compress(text) if pack else text)
    reports = []
    scan_texts([path] * 2, progress=lambda *state: reports.append(state[3]))
    size = path.stat().st_size
    assert reports == sorted(reports) and reports[-1] == 2 * size
    if library() is not None:  # pure Python reports only at the end of each shard
        assert 0 < reports[0] <= size


def test_pipes_and_terminals_can_be_read_only_once(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    terminals = pty.openpty()
    try:
        streams = [tmp_path / "pipe", os.ttyname(terminals[1]), "/dev/null"]
        assert [is_pipe(path) for path in streams] == [True] * 3
    finally:
        for descriptor in terminals:
            os.close(descriptor)
    for path in (tmp_path / "file", tmp_path, tmp_path / "missing", "null\0byte"):
        assert is_pipe(path) is False


def test_missing_remote_file_is_not_called_damaged(tmp_path):
    requests = pytest.importorskip("requests")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(requests.HTTPError, match="404 Client Error"):
                scan_texts([f"http://127.0.0.1:{server.server_port}/missing.txt"])
        finally:
            server.shutdown()
