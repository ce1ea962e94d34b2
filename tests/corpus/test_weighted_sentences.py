"""Pairs and tables with weights: counts, order of words, entries, and errors."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, orc, parquet

from gensim_tfw2v import TableDocuments, TableSentences, WeightedSentences
from gensim_tfw2v.corpus import shard_files, text_corpus
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.corpus.sentence_corpus import SentenceCorpus
from gensim_tfw2v.corpus.tables import table_streams
from tests.corpus.reference import decoded, open_corpus

TEXTS = ["b a", None, "c", "a  b c", "", "d d", "e"]
WEIGHTS = [2.0, 3.5, 0.0, 1.0, 1.0, 2.75, 0.25]


def write_parquet(table, path):
    parquet.write_table(table, path, row_group_size=2)


def write_json(table, path):
    path.write_text(json.dumps(table.to_pylist()))


def write_json_lines(table, path):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))


WRITERS = {
    ".parquet": write_parquet,
    ".arrow": feather.write_feather,
    ".orc": orc.write_table,
    ".csv": csv.write_csv,
    ".json": write_json,
    ".jsonl": write_json_lines,
}


def write(folder, columns, suffix=".parquet", name="table"):
    path = folder / f"{name}{suffix}"
    WRITERS[suffix](pa.table(columns), path)
    return path


def slow_counts(pairs):
    """Return the words and their counts, in order of first occurrence."""
    counts = {}
    for words, weight in pairs:
        for word in words if weight else ():
            counts[word] = counts.get(word, 0) + weight
    return {word: round(count) for word, count in counts.items()}


def whole_pairs(pairs):
    """Return sentences as often as their weights, which are integers."""
    return [words for words, weight in pairs for _ in range(int(weight))]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcdefgh"), max_size=6),
            st.sampled_from([0, 1, 2, 5, 0.5, 0.25, 1.5, 3.75]),
        ),
        max_size=20,
    )
)
def test_counts_are_sums_of_weights(pairs):
    with scan_corpus(open_corpus(WeightedSentences(pairs))) as scan:
        assert list(scan.raw_vocab.items()) == list(slow_counts(pairs).items())
        assert scan.corpus_count == round(sum(weight for _, weight in pairs))
        assert scan.total_words == round(sum(len(words) * weight for words, weight in pairs))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(-3, 9), max_size=6), st.integers(0, 4)),
        max_size=20,
    )
)
def test_integer_weights_give_the_corpus_of_repeated_sentences(pairs):
    weighted = open_corpus(WeightedSentences(pairs))
    plain = SentenceCorpus(whole_pairs(pairs))
    with scan_corpus(weighted) as scan, scan_corpus(plain) as plain_scan:
        assert list(scan.raw_vocab.items()) == list(plain_scan.raw_vocab.items())
        assert scan.corpus_count == plain_scan.corpus_count
        assert scan.total_words == plain_scan.total_words
        known = {word: index for index, word in enumerate(list(scan.raw_vocab)[1:])}
        encoded = scan.encode(known)
        directly_encoded = encode_corpus(open_corpus(WeightedSentences(pairs)), known)
        expected = plain_scan.encode(known)
    with encoded, directly_encoded, expected:
        for corpus in encoded, directly_encoded:
            assert decoded(corpus, list(known), 9) == decoded(expected, list(known), 9)
            assert corpus.total_tokens == expected.total_tokens
            assert corpus.total_raw_words == expected.total_raw_words
            assert corpus.total_sentences == expected.total_sentences


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("kind", ["texts", "strings", "integers"])
def test_rows_are_weighted(suffix, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(table_streams, "BATCH_ROWS", 3)
    words = [(text or "").split() for text in TEXTS]
    column = TEXTS
    options = {}
    if kind != "texts":
        column = words = [
            [ord(word) if kind == "integers" else word for word in row] for row in words
        ]
        if suffix == ".csv":
            column = [json.dumps(row) for row in words]
            options["lists"] = "json"
    path = write(tmp_path, {"other": list("1234567"), "w": WEIGHTS, "words": column}, suffix)
    sentences = TableSentences(path, "words", weight="w", **options)
    pairs = list(zip(words, WEIGHTS, strict=True))
    with scan_corpus(open_corpus(sentences)) as scan:
        assert list(scan.raw_vocab.items()) == list(slow_counts(pairs).items())
        assert scan.total_words == round(4 + 3 + 5.5 + 0.25)
        n_empty = 0 if kind != "integers" else 3.5 + 1  # rows without words are skipped
        assert scan.corpus_count == round(2 + 1 + 2.75 + 0.25 + n_empty)
        known = {word: index for index, word in enumerate(scan.raw_vocab)}
        with scan.encode(known) as encoded:
            kept = {tuple(sentence) for sentence in decoded(encoded, list(known))}
    non_empty = {tuple(row) for row, weight in pairs if row and weight}
    assert kept | {tuple(words[-1])} == non_empty


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(21, 2)])
def test_weights_may_be_of_any_numeric_type(kind, tmp_path):
    weights = pa.array([1, 2, 3]).cast(kind, safe=False)
    path = write(tmp_path, {"text": ["a", "b", "c"], "w": weights})
    with scan_corpus(open_corpus(TableSentences(path, "text", weight="w"))) as scan:
        assert scan.raw_vocab == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize("run_bytes", [1, 1 << 20])
def test_files_of_a_folder_have_their_own_weights(tmp_path, monkeypatch, run_bytes):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", run_bytes)
    for name, weight in ("a", 2.5), ("b", 5), ("c", 0.75):
        write(tmp_path, {"text": [f"{name} x", None, name], "w": [weight, 3, 1]}, name=name)
    with scan_corpus(open_corpus(TableSentences(tmp_path, "text", weight="w"))) as scan:
        assert scan.raw_vocab == {"a": 4, "x": 8, "b": 6, "c": 2}  # 3.5, 8.25, 6 and 1.75
        assert len(scan.parts) == (3 if run_bytes == 1 else 1)
        assert scan.total_words == 20 and scan.corpus_count == 11  # 19.5 and 11.25
        assert sum(part.n_sentences for part, _ in scan.parts) == 11
        with scan.encode({"a": 0, "b": 1, "c": 2}) as corpus:
            assert corpus.total_raw_words == 20 and corpus.total_sentences == 11
            assert sum(unit.raw_words for unit in corpus.units(2)) == 20


def test_weights_of_a_text_in_several_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_files, "SHARD_ENTRIES", 32)
    monkeypatch.setattr(shard_files, "MAX_SENTENCE", 7)
    draws = np.random.default_rng(1)
    rows = [[f"w{word}" for word in draws.integers(9, size=size)] for size in range(30)]
    weights = draws.integers(4, size=30)
    columns = {"text": [" ".join(row) for row in rows], "list": rows, "w": weights}
    path = write(tmp_path, columns)
    expected = slow_counts(zip(rows, weights.tolist(), strict=True))
    for source in (
        TableSentences(path, "text", weight="w"),
        TableSentences(path, "list", weight="w"),
        WeightedSentences(zip(rows, weights, strict=True)),
    ):
        with scan_corpus(open_corpus(source)) as scan:
            assert scan.raw_vocab == expected
            assert scan.total_words == sum(expected.values())
            known = {word: index for index, word in enumerate(scan.raw_vocab)}
            with scan.encode(known) as encoded:
                sentences = decoded(encoded, list(known))
                assert len(encoded._shards) > 3
        counts = {}
        for sentence in sentences:
            assert len(sentence) <= 7
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
        assert counts == expected


def test_iterating_repeats_sentences_with_new_draws(tmp_path):
    pairs = [([f"w{index}"] * 3, 1.5) for index in range(3000)]
    path = write(tmp_path, {"list": [words for words, _ in pairs], "w": [1.5] * 3000})
    for source in WeightedSentences(pairs), TableSentences(path, "list", weight="w"):
        one, other = list(source), list(source)
        for sentences in one, other:
            assert 4500 - 5 * 28 < len(sentences) < 4500 + 5 * 28
            assert [words for words, _ in pairs] == [
                words
                for index, words in enumerate(sentences)
                if not index or words != sentences[index - 1]
            ]
        assert one != other
    whole = WeightedSentences([(["a"], 2), (["b"], 0), (["c", "d"], 1)])
    assert list(whole) == [["a"], ["a"], ["c", "d"]] == list(whole)


def test_words_of_a_pair_may_be_an_iterator():
    source = WeightedSentences([(iter("ab"), 2), (("c",), np.float32(1)), (np.array([7]), 1)])
    with scan_corpus(open_corpus(source)) as scan:
        assert scan.raw_vocab == {"a": 2, "b": 2, "c": 1, 7: 1}


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, -math.inf, 2**31 + 1])
def test_invalid_weight_is_an_error_with_its_place(weight, tmp_path, monkeypatch):
    monkeypatch.setattr(table_streams, "BATCH_ROWS", 2)
    source = WeightedSentences([(["a"], 1), (["b"], weight)])
    with pytest.raises(ValueError, match=r"^item 2: the weight is .* from 0 to 2,147,483,648"):
        scan_corpus(open_corpus(source))
    with pytest.raises(ValueError, match="item 2"):
        list(source)
    for suffix in ".parquet", ".csv", ".jsonl", ".json":
        columns = {"text": ["a", "b"] * 3, "w": [1.0] * 4 + [float(weight), 1.0]}
        path = write(tmp_path, columns, suffix)
        sentences = TableSentences(path, "text", weight="w")
        match = rf"^{path}: row 5, column 'w': the weight is "
        with pytest.raises(ValueError, match=match):
            scan_corpus(open_corpus(sentences))
        with pytest.raises(ValueError, match=match):
            list(sentences)


def test_weight_of_many_digits_is_an_error_with_its_row(tmp_path):
    path = write(tmp_path, {"text": ["a", "b"], "w": [1, 2**62 + 1]})
    with pytest.raises(ValueError, match="row 2, column 'w': the weight is 4611686018427387905"):
        scan_corpus(open_corpus(TableSentences(path, "text", weight="w")))


@pytest.mark.parametrize("suffix", WRITERS)
def test_missing_weight_is_an_error_with_its_row(suffix, tmp_path):
    path = write(tmp_path, {"text": ["a", "b", "c"], "w": [1.0, None, 2.0]}, suffix)
    cell = "''" if suffix == ".csv" else "null"
    with pytest.raises(ValueError, match=f"row 2, column 'w': the weight is {cell}"):
        scan_corpus(open_corpus(TableSentences(path, "text", weight="w")))


def test_cells_that_are_no_numbers_are_errors(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("text,w\na b, +2\nc,1e0\nd,two\n")
    with pytest.raises(ValueError, match="row 3, column 'w': the weight is 'two', but must be"):
        scan_corpus(open_corpus(TableSentences(path, "text", weight="w")))
    path = tmp_path / "table.jsonl"
    path.write_text('{"text": "a", "w": 2}\n{"text": "b", "w": "two"}\n')
    with pytest.raises(ValueError, match="line 2: column 'w' is 'two', but must be a number"):
        scan_corpus(open_corpus(TableSentences(path, "text", weight="w")))
    path.write_text('{"text": "a", "w": 2}\n{"text": "b", "w": 1' + "0" * 400 + "}\n")
    with pytest.raises(ValueError, match="row 2, column 'w': the weight is inf"):
        scan_corpus(open_corpus(TableSentences(path, "text", weight="w")))
    path.write_text('{"text": "a", "w": 2}\n{"text": "b", "w": 0.5}\n{"text": "c", "w": 3}\n')
    with scan_corpus(open_corpus(TableSentences(path, "text", weight="w"))) as scan:
        assert scan.raw_vocab == {"a": 2, "b": 0, "c": 3}


def test_columns_that_are_no_weights_are_refused(tmp_path):
    columns = {"text": ["a b"], "w": [True], "list": [[1.5]], "day": pa.array([1], pa.date32())}
    path = write(tmp_path, columns)
    for column, kind in ("text", "string"), ("w", "bool"), ("list", "list"), ("day", "date32"):
        with pytest.raises(ValueError, match=rf"column '{column}' is of type {kind}.*, but weigh"):
            TableSentences(path, "text", weight=column)
    with pytest.raises(ValueError, match="has no column 'weight'; its columns are: text, w, list"):
        TableSentences(path, "text", weight="weight")
    with pytest.raises(TypeError, match="weight must be the name of a column, a string, got 2"):
        TableSentences(path, "text", weight=2)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (["the", "cat"], r"item 2: the words are 'the', but must be a list"),
        (["the", "black", "cat"], r"item 2 is \['the', 'black', 'cat'\], but must be a pair"),
        ("ab", "item 2 is 'ab', but must be a pair"),
        (2.5, "item 2 is 2.5, but must be a pair"),
        ((2.5, ["a"]), "item 2: the words are 2.5, but must be a list"),
        ((["a"], "2.5"), "item 2: the weight is '2.5', but must be a number"),
        ((["a"], True), "item 2: the weight is True, but must be a number"),
        ((["a"], None), "item 2: the weight is None, but must be a number"),
    ],
)
def test_items_that_are_no_pairs_are_refused(item, message):
    with pytest.raises(TypeError, match=message):
        scan_corpus(open_corpus(WeightedSentences([(["a"], 1), item])))


def test_documents_have_no_weights(tmp_path):
    path = write(tmp_path, {"text": ["a"], "w": [2]})
    with pytest.raises(ValueError, match="has no effect on documents"):
        TableDocuments(path, "text", weight="w")
    with pytest.raises(ValueError, match="has no effect on documents"):
        TableSentences(path, "text", weight="w").documents()
    with pytest.raises(ValueError, match="has no effect on documents"):
        TableSentences(path, "text", weight="w").open_corpus(True)
    with pytest.raises(TypeError, match="WeightedSentences are no documents"):
        WeightedSentences([(["a"], 2)]).open_corpus(True)
    for source in "a b", 3, b"a":
        with pytest.raises(TypeError, match="pairs is .* but must be an iterable of pairs"):
            WeightedSentences(source)
