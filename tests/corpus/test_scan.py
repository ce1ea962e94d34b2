"""Counts equal gensim's for every kind of corpus and of reader."""

import logging

import pytest
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence

from gensim_tfw2v.corpus import text_corpus
from gensim_tfw2v.corpus.text_corpus import cut_texts, whole_file
from gensim_tfw2v.processes import threads
from tests.corpus.reference import LEE, decoded, line_sentences, scan_sentences, scan_texts


def assert_as_gensim(scan, **corpus):
    model = Word2Vec(min_count=1)
    total_words, corpus_count = model.scan_vocab(**corpus)
    assert list(scan.raw_vocab.items()) == list(model.raw_vocab.items())  # in the same order
    assert (scan.total_words, scan.corpus_count) == (total_words, corpus_count)


def test_lee_is_counted_as_by_gensim(reader_kind):
    with scan_texts([LEE]) as scan:
        assert_as_gensim(scan, corpus_file=LEE)
    with scan_sentences(LineSentence(LEE)) as scan:
        assert_as_gensim(scan, corpus_iterable=LineSentence(LEE))


@pytest.mark.parametrize("min_count", [1, 5])
def test_vocabulary_of_lee_equals_gensims(min_count, reader_kind):
    model = Word2Vec(min_count=min_count)
    model.build_vocab(corpus_file=LEE)
    mine = Word2Vec(min_count=min_count)
    with scan_texts([LEE]) as scan:
        mine.raw_vocab = scan.raw_vocab
        mine.corpus_count, mine.corpus_total_words = scan.corpus_count, scan.total_words
        mine.prepare_vocab()
        mine.prepare_weights()
        assert mine.wv.index_to_key == model.wv.index_to_key
        assert (mine.wv.expandos["count"] == model.wv.expandos["count"]).all()
        with scan.encode(mine.wv.key_to_index) as corpus:
            sentences = decoded(corpus, mine.wv.index_to_key)
    assert sentences == line_sentences(LEE, model.wv.key_to_index)


def test_odd_files_are_counted_as_by_gensim(odd_file, reader_kind):
    with scan_texts([odd_file]) as scan:
        assert_as_gensim(scan, corpus_file=str(odd_file))
        words = list(scan.raw_vocab)
        with scan.encode({word: i for i, word in enumerate(words)}) as corpus:
            assert decoded(corpus, words) == line_sentences(odd_file)


def test_more_runs_than_lines_give_the_same_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 2)
    path = tmp_path / "tiny.txt"
    path.write_text("a b\nb\nc a d")
    with scan_texts([path]) as scan:
        assert_as_gensim(scan, corpus_file=str(path))


def test_ranges_cover_a_file_and_end_at_line_ends(odd_file, monkeypatch):
    for number in range(1, 9):
        monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", max(1, odd_file.stat().st_size // number))
        runs = cut_texts([whole_file(str(odd_file))])
        assert 1 <= len(runs) <= number + 1
        assert all(len(run) == 1 and run[0].path == str(odd_file) for run in runs)
        ranges = [(piece.start, piece.stop) for (piece,) in runs]
        assert [start for start, _ in ranges] == [0] + [stop for _, stop in ranges[:-1]]
        assert ranges[-1][1] == odd_file.stat().st_size
        content = odd_file.read_bytes()
        assert all(start < stop for start, stop in ranges)
        assert all(content[stop - 1 : stop] == b"\n" for _, stop in ranges[:-1])


def test_empty_file_has_no_words(tmp_path, reader_kind):
    path = tmp_path / "empty.txt"
    path.touch()
    with scan_texts([path]) as scan:
        assert (scan.raw_vocab, scan.total_words, scan.corpus_count) == ({}, 0, 0)
        with scan.encode({"a": 0}) as corpus:
            assert corpus.units(10) == [] and corpus.total_tokens == 0


ITERABLES = {
    "nothing": [],
    "empty sentences": [[], ["a"], [], ["b", "a"], []],
    "only empty sentences": [[], []],
    "numbers": [[1, 2, 1], [(3, 4), None]],
    "tuples and line ends": [("\n", "a b"), ("", "\n")],
    "long": [["a", "b"], [str(i % 7) for i in range(25_000)], ["c"]],
}


@pytest.mark.parametrize("name", ITERABLES)
def test_iterables_are_counted_as_by_gensim(name):
    sentences = ITERABLES[name]
    with scan_sentences(sentences) as scan:
        assert_as_gensim(scan, corpus_iterable=sentences)
        words = list(scan.raw_vocab)
        with scan.encode({word: i for i, word in enumerate(words)}) as corpus:
            pieces = [list(s[i : i + 10_000]) for s in sentences for i in range(0, len(s), 10_000)]
            assert decoded(corpus, words) == pieces
            assert corpus.total_sentences == len(sentences)
            if pieces:
                assert sum(u.sentences for u in corpus.units(1000)) == len(sentences)


def test_generators_are_read_once():
    sentences = ((word for word in text.split()) for text in ["a b", "b c"])
    with scan_sentences(sentences) as scan:
        assert scan.raw_vocab == {"a": 1, "b": 2, "c": 1}


def test_string_as_sentence_warns_as_gensim_does(caplog):
    with caplog.at_level(logging.WARNING), scan_sentences(["abc", "a"]) as scan:
        assert_as_gensim(scan, corpus_iterable=["abc", "a"])
    ours, gensims = [r.getMessage() for r in caplog.records if "instead plain" in r.getMessage()]
    assert ours == gensims


def test_pruning_raw_vocab_does_not_change_the_scan():
    with scan_sentences([["a", "b"]]) as scan:
        del scan.raw_vocab["a"]
        with scan.encode({"a": 0, "b": 1}) as corpus:
            assert decoded(corpus, ["a", "b"]) == [["a", "b"]]


def test_scan_can_be_encoded_twice():
    with scan_sentences([["a", "b"], ["b"]]) as scan:
        with scan.encode({"a": 0}) as one, scan.encode({"b": 0}) as other:
            assert decoded(one, ["a"]) == [["a"]]
            assert decoded(other, ["b"]) == [["b"], ["b"]]


def test_progress_rises_to_the_totals(tmp_path, reader_kind, monkeypatch):
    monkeypatch.setattr(
        text_corpus, "BYTES_PER_RUN", (1 << 20 if reader_kind == "several runs" else 1 << 30)
    )
    monkeypatch.setattr(threads, "REPORT_SECONDS", 0.001)
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b c d e f g\n" * 320_000)
    reports = []
    with scan_texts([path], progress=lambda *state: reports.append(state)):
        assert len(reports) > 2
        assert reports == sorted(reports)
        assert max(reports) == (2_240_000, 320_000, 7, path.stat().st_size)
