"""Tagged documents are counted as by gensim, and encoded uncut, each after its tags."""

import gzip
import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.doc2vec import Doc2Vec, TaggedDocument, TaggedLineDocument
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v import TFDoc2Vec
from gensim_tfw2v.corpus import scanner, shard_files, text_corpus
from gensim_tfw2v.corpus.entry_ranges import unit_edges
from gensim_tfw2v.corpus.sampling import Sampling
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.training.corpus_reader import CorpusReader
from gensim_tfw2v.training.documents import KnownTags, Tags, take_tags
from tests.corpus.reference import LEE, scan_texts

MIXED = [
    TaggedDocument(["a", "b", "a"], ["x", 2]),
    TaggedDocument([], ["empty"]),
    TaggedDocument(["b", "c"], ["x", "x", np.int64(4), "y"]),
    TaggedDocument(("c",), "xy"),  # its tags are "x" and "y"
    TaggedDocument(["d"], []),
    TaggedDocument("word", [np.uint8(1), -1, True]),
]


def config():
    return TFDoc2Vec(vector_size=4)._current_config()


def gensims(source, **options):
    """Return a gensim model that has scanned the documents, and its counts."""
    model = Doc2Vec(vector_size=4, **options)
    counted = model.scan_vocab(**source)
    return model, counted


def assert_same_keys(vectors, other):
    assert list(vectors.index_to_key) == other.index_to_key
    assert list(vectors.key_to_index.items()) == list(other.key_to_index.items())
    assert list(vectors.expandos) == list(other.expandos)
    for name, values in other.expandos.items():
        assert vectors.expandos[name].dtype == values.dtype
        assert vectors.expandos[name].tolist() == values.tolist()


class Reader(CorpusReader):
    """Reader that encodes with the tags of `dv`."""

    keeps_scan = True
    dv: KeyedVectors

    def encode(self, source, key_to_index):
        return super().encode(source, key_to_index, config(), KnownTags(self.dv))


def scanned(source, update=None):
    """Return a reader that has scanned documents, and the scan."""
    reader = Reader()
    scan = reader.scan(source, config(), tags := Tags())
    reader.dv = KeyedVectors(4) if update is None else update
    take_tags(reader.dv, tags, scan.corpus_count, update is not None)
    return reader, scan


def decoded(corpus, words, size=1 << 20):
    """Return (rows of tags, words) of each document, read through units."""
    found = []
    for unit in corpus.units(size):
        entries = unit.read()
        assert entries[-1] == END
        assert unit.tokens == np.count_nonzero(entries >= 0)
        for document in np.split(entries, np.flatnonzero(entries == END) + 1)[:-1]:
            tags = FIRST_TAG - document[document <= FIRST_TAG]
            assert (document[: len(tags)] <= FIRST_TAG).all()  # all tags come before the words
            found.append((tags.tolist(), [words[n] for n in document[len(tags) : -1]]))
    return found


def expected(documents, vectors, known):
    """Return (rows of tags, known words) of each document, as gensim trains them."""
    found = []
    for document in documents:
        rows = [vectors.get_index(tag) for tag in document.tags if tag in vectors]
        words = [word for word in document.words if word in known]
        for first in range(0, len(words), shard_files.MAX_SENTENCE):
            found.append((rows, words[first : first + shard_files.MAX_SENTENCE]))
    return found


def assert_encoded(reader, scan, source, items, known=None):
    """Check that documents equal gensim's, both kept by the scan and read again."""
    known = list(scan.raw_vocab) if known is None else known
    key_to_index = {word: place for place, word in enumerate(known)}
    should = expected(items, reader.dv, known)
    for _ in range(2):  # first from the scan's files, then read again
        with reader.encode(source, key_to_index) as corpus:
            assert decoded(corpus, known) == should
            assert corpus.total_tokens == sum(len(words) for _, words in should)
            assert corpus.total_sentences == len(items)
            assert corpus.longest_sentence == max((len(words) for _, words in should), default=0)


@pytest.fixture
def long_lines(monkeypatch):
    """Cut documents after 7 words instead of 10,000."""
    monkeypatch.setattr(shard_files, "MAX_SENTENCE", 7)


def lines_of(path):
    return list(TaggedLineDocument(str(path)))


def test_file_is_scanned_and_encoded_as_by_gensim(reader_kind, tmp_path):
    model, counted = gensims({"corpus_file": LEE})
    reader, scan = scanned(Path(LEE))
    assert (scan.total_words, scan.corpus_count) == counted
    assert list(scan.raw_vocab.items()) == list(model.raw_vocab.items())
    assert_same_keys(reader.dv, model.dv)
    known = [word for word, count in scan.raw_vocab.items() if count > 4]
    assert_encoded(reader, scan, Path(LEE), lines_of(LEE), known)


def test_odd_files_are_scanned_and_encoded_as_by_gensim(odd_file, reader_kind):
    model, counted = gensims({"corpus_file": str(odd_file)})
    reader, scan = scanned(odd_file)
    assert (scan.total_words, scan.corpus_count) == counted
    assert list(scan.raw_vocab.items()) == list(model.raw_vocab.items())
    assert_same_keys(reader.dv, model.dv)
    assert_encoded(reader, scan, odd_file, lines_of(odd_file))


LINES = st.lists(
    st.sampled_from(["a ", "b ", "\n", "\n", " ", "\t", "c" * 9 + " ", "\u3000"]),
    min_size=6,
    max_size=40,
)


@settings(max_examples=60)
@given(LINES, st.integers(1, 12))
def test_line_numbers_do_not_depend_on_how_files_are_cut(
    tmp_path, monkeypatch, long_lines, pieces, size
):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", size)
    monkeypatch.setattr(scanner, "BLOCK_BYTES", size % 9 + 1)
    monkeypatch.setattr(shard_files, "SHARD_ENTRIES", size)
    path = tmp_path / "text"
    path.write_text("".join(pieces), "utf-8", newline="")
    items = lines_of(path)
    reader, scan = scanned(path)
    assert scan.corpus_count == len(items) == len(reader.dv)
    assert_encoded(reader, scan, path, items)


def test_lines_of_compressed_and_several_files_are_numbered(tmp_path, reader_kind):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a b\n\nb\n\nc"))
    reader, scan = scanned(path)
    assert (scan.corpus_count, len(reader.dv)) == (5, 5)
    assert_encoded(reader, scan, path, lines_of(path))
    (other := tmp_path / "other").write_text("d\n \n")
    with scan_texts([path, other, path], tagged=True) as scan:
        assert scan.corpus_count == 12
        with scan.encode({"a": 0, "b": 1, "d": 2}, lambda rows: rows) as corpus:
            found = decoded(corpus, ["a", "b", "d"])
    a_b, b, d = ["a", "b"], ["b"], ["d"]
    assert found == [([0], a_b), ([2], b), ([5], d), ([7], a_b), ([9], b)]


def test_lines_without_rows_are_trained_without_tags(tmp_path, reader_kind):
    path = tmp_path / "text"
    path.write_text("a\nb\na b\n")
    reader = Reader()
    reader.dv = KeyedVectors(4, count=2)
    with reader.encode(path, {"a": 0, "b": 1}) as corpus:
        assert decoded(corpus, "ab") == [([0], ["a"]), ([1], ["b"]), ([], ["a", "b"])]


def test_tagged_line_documents_are_read_as_files(monkeypatch):
    monkeypatch.setattr(Tags, "encode_documents", None)  # used only for other iterables
    source = TaggedLineDocument(LEE)
    reader, scan = scanned(source)
    assert scan.corpus_count == len(reader.dv) == 300
    assert_encoded(reader, scan, source, lines_of(LEE))


def test_mixed_tags_are_scanned_as_by_gensim(caplog):
    model, counted = gensims({"corpus_iterable": MIXED})
    reader, scan = scanned(MIXED)
    assert (scan.total_words, scan.corpus_count) == counted
    assert list(scan.raw_vocab.items()) == list(model.raw_vocab.items())
    assert_same_keys(reader.dv, model.dv)
    assert_encoded(reader, scan, MIXED, MIXED)
    assert_encoded(reader, scan, MIXED, MIXED, ["c", "d"])


WARNED = {
    "words": [TaggedDocument("word", [0])],
    "more tags": [TaggedDocument(["a"], ["x", "y"])],
    "excess": [TaggedDocument(["a"], [30])],
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_equal_gensims(name, caplog):
    with caplog.at_level(logging.WARNING):
        gensims({"corpus_iterable": WARNED[name]})
        scanned(WARNED[name])
    gensims_own, ours = [
        r.getMessage() for r in caplog.records if "documents" in r.name or "doc2vec" in r.name
    ]
    assert gensims_own == ours


TAGS = st.one_of(
    st.integers(-2, 9),
    st.sampled_from(["x", "y", "z", "3"]),
    st.builds(np.int32, st.integers(0, 5)),
)
DOCUMENTS = st.lists(
    st.builds(TaggedDocument, st.lists(st.sampled_from("abcd"), max_size=9), st.lists(TAGS))
)


@settings(max_examples=30)
@given(DOCUMENTS, DOCUMENTS)
def test_random_tags_are_scanned_as_by_gensim(long_lines, items, more):
    model, counted = gensims({"corpus_iterable": items})
    reader, scan = scanned(items)
    assert (scan.total_words, scan.corpus_count) == counted
    assert_same_keys(reader.dv, model.dv)
    assert_encoded(reader, scan, items, items)
    assert_encoded(reader, scan, more, more, list("abcd"))  # some tags are unknown

    # more documents: known tags keep their rows, new tags get one
    before = list(reader.dv.index_to_key)
    rows = {tag: reader.dv.get_index(tag) for tag in before}
    counts = {
        tag: [item.tags.count(tag) for item in items + more] for tag in reader.dv.key_to_index
    }
    reader, scan = scanned(more, update=reader.dv)
    dv = reader.dv
    assert list(dv.index_to_key)[: len(before)] == before
    assert {tag: dv.get_index(tag) for tag in before} == rows
    assert len(set(dv.index_to_key)) == len(dv) and None not in dv.index_to_key
    assert all(dv.index_to_key[row] == tag for tag, row in dv.key_to_index.items())
    for document in more:
        for tag in document.tags:
            if isinstance(tag, str) or tag >= 0:
                assert dv.index_to_key[dv.get_index(tag)] == tag
    assert {tag: dv.get_vecattr(tag, "doc_count") for tag in counts} == {
        tag: sum(of) for tag, of in counts.items()
    }
    assert_encoded(reader, scan, more, more)


def test_updated_vectors_keep_their_rows():
    reader, _ = scanned(MIXED)
    dv = reader.dv
    dv.resize_vectors(seed=3)
    before = dv.vectors.copy()
    more = [TaggedDocument(["a"], ["new", "x", 6])]
    scanned(more, update=dv)
    dv.resize_vectors(seed=3)
    assert (dv.vectors[: len(before)] == before).all() and len(dv) > len(before)
    assert dv.get_index("new") >= len(before) and dv.get_index(6) >= len(before)
    assert (dv.vectors != 0).all() and (abs(dv.vectors) <= 1 / 4).all()
    assert dv.get_vecattr("x", "doc_count") == 5 and dv.get_vecattr("new", "word_count") == 1


def test_tags_counted_by_gensim_are_adopted():
    """With max_vocab_size, gensim's code counts the tags."""
    model, _ = gensims({"corpus_iterable": MIXED}, max_vocab_size=1)
    dv = KeyedVectors(4)
    take_tags(dv, Tags.of(model.dv), len(MIXED))
    assert_same_keys(dv, model.dv)


def test_units_hold_whole_documents(tmp_path, reader_kind):
    generator = np.random.default_rng(3)
    path = tmp_path / "text"
    path.write_text("".join("w " * size + "\n" for size in generator.integers(0, 300, 200)))
    reader, scan = scanned(path)
    items = [([n], item.words) for n, item in enumerate(lines_of(path)) if item.words]
    with reader.encode(path, {"w": 0}) as corpus:
        for size in (1, 50, 1000, 1 << 20):
            units = corpus.units(size)
            assert decoded(corpus, ["w"], size) == items
            assert sum(unit.tokens for unit in units) == scan.total_words
            assert sum(unit.sentences for unit in units) == 200
            assert all(unit.stop - unit.start <= max(size, 301) for unit in units)
            runs = len({unit.shard for unit in units})  # no unit crosses a file
            assert len(units) <= 2 * sum(len(w) + 2 for _, w in items) // size + runs


def test_unit_edges_do_not_cut_documents():
    assert unit_edges(np.array([1000]), 1000, 300, whole=True) == [0, 1000]
    assert unit_edges(np.array([10, 20, 500, 510]), 510, 100, whole=True) == [0, 20, 500, 510]


def test_samples_hold_whole_documents():
    items = [TaggedDocument(["a", "b"], [number, "x"]) for number in range(50)]
    reader, _ = scanned(items)
    with reader.encode(items, {"a": 0, "b": 1}) as corpus:
        (unit,) = corpus.units(1000)
        sample = Sampling("random", 2, 0.5, 1).select(unit.read(), 0, 0, 0).reshape(-1, 5)
    assert 10 < len(sample) < 40
    assert (sample[:, 1:] == [FIRST_TAG - 50, 0, 1, END]).all()


def test_documents_trained_immediately_are_read_once():
    source = (item for item in MIXED)
    reader, scan = scanned(source)
    words = list(scan.raw_vocab)
    with reader.encode(source, {word: i for i, word in enumerate(words)}) as corpus:
        assert decoded(corpus, words) == expected(MIXED, reader.dv, words)


def test_documents_need_words_and_tags():
    with pytest.raises(TypeError, match=r"document 0 .* list: pass TaggedDocument\(words, tags\)"):
        scanned([["a", "b"]])
    other = [SimpleNamespace(words=["a"], tags=(0,), more=1)]
    reader, scan = scanned(other)
    assert_encoded(reader, scan, other, other)
