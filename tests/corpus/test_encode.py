"""Encoded corpora hold what gensim would train on, however they are read."""

import enum

import numpy as np
import pytest
from gensim.models.word2vec import LineSentence
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.corpus import scanner, sentences, shard_files, text_corpus
from tests.corpus.reference import (
    LEE,
    decoded,
    encode_sentences,
    encode_texts,
    line_sentences,
    scan_sentences,
    scan_texts,
)

WORDS = ["the", "of", "a", "said", "Australia", "not in the corpus"]
KNOWN = {word: index for index, word in enumerate(WORDS)}


def test_lee_is_encoded_as_gensim_reads_it(reader_kind):
    with encode_texts([LEE], KNOWN) as corpus:
        expected = line_sentences(LEE, KNOWN)
        assert decoded(corpus, WORDS) == expected
        assert corpus.total_tokens == sum(map(len, expected))
        assert corpus.total_raw_words == sum(map(len, LineSentence(LEE)))
        assert corpus.total_sentences == 300


def test_file_iterable_and_scan_give_the_same_corpus(odd_file, reader_kind):
    with scan_texts([odd_file]) as scan:
        words = list(scan.raw_vocab)[::2]
        known = {word: index for index, word in enumerate(words)}
        corpora = [
            scan.encode(known),
            encode_texts([odd_file], known),
            encode_sentences(LineSentence(str(odd_file)), known),
        ]
    expected = line_sentences(odd_file, known)
    for corpus in corpora:
        with corpus:
            assert decoded(corpus, words) == expected
            assert corpus.total_raw_words == scan.total_words
            assert corpus.total_sentences == scan.corpus_count


@pytest.mark.parametrize("shard", [10_000, 100_000, 1 << 22])
def test_shards_that_are_written_and_read_in_pieces_hold_whole_sentences(
    shard, tmp_path, monkeypatch, reader_kind
):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 1 << 30)
    monkeypatch.setattr(shard_files, "SHARD_ENTRIES", shard)
    path = tmp_path / "long.txt"
    words = [f"w{n * n % 97}" for n in range(150_000)]
    path.write_text("\n".join(" ".join(words[n : n + 50]) for n in range(0, len(words), 50)))
    known = {word: index for index, word in enumerate(dict.fromkeys(words[::3]))}
    with scan_texts([path]) as scan:
        corpora = [scan.encode(known), encode_texts([path], known)]
    assert scan.total_words == len(words) and scan.corpus_count == len(words) // 50
    expected = line_sentences(path, known)
    for corpus in corpora:
        with corpus:
            assert decoded(corpus, list(known), 1000) == expected
            assert all(part.n_entries <= shard for part in corpus._shards)
            assert len(corpus._shards) == -(-51 * scan.corpus_count // (shard // 51 * 51))
            assert corpus.longest_sentence == max(map(len, expected))
            assert corpus.total_tokens == sum(map(len, expected))
            assert corpus.total_raw_words == len(words)


def test_words_of_any_type_are_encoded():
    with encode_sentences([[1, 2, 3], [("x", 2), 1]], {1: 0, ("x", 2): 1}) as corpus:
        assert decoded(corpus, [1, ("x", 2)]) == [[1], [("x", 2), 1]]


def test_iterables_may_yield_the_same_list_again():
    def sentences():
        words = []
        for word in "abca":
            words[:] = [word, "b"]
            yield words

    known = {"a": 0, "b": 1, "c": 2}
    expected = [["a", "b"], ["b", "b"], ["c", "b"], ["a", "b"]]
    with encode_sentences(sentences(), known) as corpus:
        assert decoded(corpus, "abc") == expected
    with scan_sentences(sentences()) as scan, scan.encode(known) as corpus:
        assert scan.raw_vocab == {"a": 2, "b": 5, "c": 1}
        assert decoded(corpus, "abc") == expected


def test_files_match_only_string_words(tmp_path, reader_kind):
    path = tmp_path / "numbers.txt"
    path.write_text("1 2\n3 1\n")
    with encode_texts([path], {1: 0, "1": 1, "": 2, "a\nb": 3, "\ud800": 4}) as corpus:
        assert decoded(corpus, [1, "1"]) == [["1"], ["1"]]


text = st.lists(st.text(st.sampled_from("ab ж\u3000\t\r\n\n🧬\x85"), max_size=40), max_size=8).map(
    "\n".join
)


@given(
    text=text,
    drop=st.sets(st.sampled_from(["a", "b", "ab", "ж"])),
    block=st.integers(1, 40),
    longest=st.integers(1, 5),
    shard=st.integers(1, 20),
    size=st.integers(1, 30),
)
@settings(max_examples=150)
def test_random_texts_are_decoded_unchanged(
    tmp_path_factory, reader_kind, text, drop, block, longest, shard, size
):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(text.encode())
    expected = list(LineSentence(str(path), max_sentence_length=longest))
    words = sorted({word for sentence in expected for word in sentence} - drop)
    known = {word: index for index, word in enumerate(words)}
    kept = [[w for w in sentence if w in known] for sentence in expected]
    kept = [sentence for sentence in kept if sentence]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "BLOCK_BYTES", block)
        if reader_kind == "several runs":
            patch.setattr(text_corpus, "BYTES_PER_RUN", block)
        patch.setattr(shard_files, "MAX_SENTENCE", longest)
        patch.setattr(shard_files, "SHARD_ENTRIES", shard)
        with encode_texts([path], known) as corpus:
            units = corpus.units(size)
            assert decoded(corpus, words, size) == kept
    assert all(0 < unit.stop - unit.start <= size for unit in units)
    assert [unit.index for unit in units] == list(range(len(units)))
    assert sum(unit.tokens for unit in units) == corpus.total_tokens == sum(map(len, kept))
    assert corpus.total_raw_words == sum(map(len, expected))
    assert corpus.total_sentences == len(expected)
    if units:
        assert sum(unit.raw_words for unit in units) == corpus.total_raw_words
        assert sum(unit.sentences for unit in units) == corpus.total_sentences


@given(st.lists(st.lists(st.sampled_from("abc\n"), max_size=9), max_size=12), st.integers(1, 20))
@settings(max_examples=60)
def test_random_iterables_are_decoded_unchanged(sentences, shard):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_files, "MAX_SENTENCE", 4)
        patch.setattr(shard_files, "SHARD_ENTRIES", shard)
        with encode_sentences(sentences, {"a": 0, "b": 1, "\n": 2}) as corpus:
            pieces = [s[i : i + 4] for s in sentences for i in range(0, len(s), 4)]
            kept = [[w for w in piece if w != "c"] for piece in pieces]
            assert decoded(corpus, ["a", "b", "\n"], 7) == [piece for piece in kept if piece]
            assert corpus.total_sentences == len(sentences)


class Colour(str, enum.Enum):
    """Strings whose hash is not that of their text."""

    RED = "#f00"
    BLUE = "#00f"


STRINGS = ["a", "b", "", "\n", "a b", " ", "\ud800", "生命", "eight by", "nine bytes"]
OTHERS = ["\0", "a\0b", 1, True, 2.5, None, ("a", 1), np.str_("a"), np.str_("c"), *Colour]


@given(
    data=st.data(),
    odd=st.sampled_from([[], ["\0", "a\0b"], OTHERS]),
    batch=st.integers(1, 30),
    arrays=st.booleans(),
)
@settings(max_examples=150)
def test_any_words_are_counted_and_encoded_as_by_dictionaries(data, odd, batch, arrays):
    sentence = st.lists(st.sampled_from(STRINGS) if arrays else st.sampled_from(STRINGS + odd))
    corpus = data.draw(st.lists(sentence, max_size=9))
    counts = {}
    for word in (word for words in corpus for word in words):
        counts[word] = counts.get(word, 0) + 1
    known = {word: number for number, word in enumerate(list(counts)[::2])}
    kept = [[word for word in words if word in known] for words in corpus]
    given = [np.array(words, object) for words in corpus] if arrays else corpus
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "BATCH_WORDS", batch)
        patch.setattr(sentences, "SLICE_ITEMS", 2)
        with scan_sentences(given) as scan, scan.encode(known) as encoded:
            assert list(scan.raw_vocab.items()) == list(counts.items())
            assert list(map(type, scan.raw_vocab)) == list(map(type, counts))
            assert decoded(encoded, list(known)) == list(filter(None, kept))
        with encode_sentences(given, known) as encoded:
            assert decoded(encoded, list(known)) == list(filter(None, kept))


def test_list_that_changes_between_items_is_read_before_each_change(monkeypatch):
    monkeypatch.setattr(sentences, "BATCH_WORDS", 3)
    words = []

    def changing():
        for number in range(5):
            words[:] = [f"word {number}"] * number
            yield words

    expected = [[f"word {number}"] * number for number in range(1, 5)]
    known = {f"word {number}": number - 1 for number in range(1, 5)}
    with scan_sentences(changing()) as scan, scan.encode(known) as encoded:
        assert decoded(encoded, list(known)) == expected
    with encode_sentences(changing(), known) as encoded:
        assert decoded(encoded, list(known)) == expected


def test_batches_grow_only_if_the_words_are_in_a_list(monkeypatch):
    monkeypatch.setattr(sentences, "BATCH_WORDS", 80)
    corpus = [["a", "b"]] * 200
    growing = [10, 20, 40, 80, 80, 80, 80, 10]
    for documents, expected in ((corpus, growing), (iter(corpus), [10] * 40 + [0])):
        batches = sentences.batch_objects(documents, False, lambda _: None)
        assert [batch.n_words for batch in batches] == expected


@pytest.mark.parametrize("read", [scan_sentences, lambda read: encode_sentences(read, {"a": 0})])
def test_errors_of_words_and_of_generators_are_raised(read, monkeypatch, temporary):
    monkeypatch.setattr(sentences, "BATCH_WORDS", 2)
    with pytest.raises(TypeError, match="unhashable|dict key"):
        read([["a", "b"], ["c", ["d"]]])
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        read([["a", "b"], 5])

    def failing():
        yield ["a"] * 5
        raise OSError("of the generator")

    with pytest.raises(OSError, match="of the generator"):
        read(failing())
    assert not list(temporary.iterdir())


def test_words_of_numpy_may_follow_strings(monkeypatch):
    monkeypatch.setattr(sentences, "BATCH_WORDS", 2)
    with scan_sentences([["a", "b"], [np.str_("a")], ["b", np.str_("b")]]) as scan:
        assert dict(scan.raw_vocab) == {"a": 2, "b": 3}
