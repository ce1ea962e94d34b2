"""Tokenizers of compact vocabularies: the same files as of dicts, written and read in blocks."""

import json

import numpy as np
import pytest

from gensim_tfw2v import TFDoc2Vec, TFWord2Vec
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_list import KeyList
from gensim_tfw2v.training import pretrained, token_rows
from gensim_tfw2v.training.token_rows import TokenRows, encode_tokenizer, read_tokenizer
from tests.keys.examples import make_keys

pytestmark = [
    pytest.mark.usefixtures("compact_keys"),
    pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys"),
]

WORDS = [
    *("a", "", '"', "\\", 'a": 5, ', "\n", "\0", "\u2028", "漢字", "é", "\U0001f9ec", "}", "{}"),
    *(f"word {number}" for number in range(500)),
]


def document_of(words):
    rows = {"[UNK]": 0} | {str(word): row for row, word in enumerate(words, 1)}
    return token_rows.describe_tokenizer(rows)


@pytest.mark.parametrize("words", [WORDS, ["one"], [5, -3, 0], [*range(300)]])
def test_blocks_are_the_bytes_of_a_dict(words, monkeypatch):
    rows = TokenRows(make_keys(words))
    expected = json.dumps(document_of(words), ensure_ascii=False).encode()
    assert b"".join(encode_tokenizer(rows)) == expected
    assert rows == document_of(words)["model"]["vocab"]
    assert document_of(words)["model"]["vocab"] == rows
    assert rows == TokenRows(make_keys([str(word) for word in words]))
    assert rows != TokenRows(make_keys([*words[1:], 777 if words[0] in (0, 5) else "new"]))
    assert dict(rows) == document_of(words)["model"]["vocab"]


@pytest.mark.parametrize("chunk", [1, 7, 100, 1 << 20])
def test_file_is_read_in_chunks_of_any_size(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(token_rows, "CHUNK_BYTES", chunk)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"".join(encode_tokenizer(TokenRows(make_keys(WORDS)))))
    rows, _ = read_tokenizer(path)
    assert list(rows.words) == WORDS


def test_other_files_are_left_to_the_reader_of_any_json(tmp_path):
    path = tmp_path / "tokenizer.json"
    content = b"".join(encode_tokenizer(TokenRows(make_keys(WORDS))))
    path.write_bytes(content)
    assert read_tokenizer(path) is not None
    for other in (
        b"",
        b"{}",
        content[:-1],
        content + b" ",
        content.replace(b'"a": 1,', b'"a":  1,'),
        content.replace(b'"a": 1,', b'"a": 2,'),
        content.replace(b'"a": 1,', b'"\\u0061": 1,'),
        content.replace(b'"a": 1,', b'"word 1": 1,'),
        content.replace(b'"a": 1,', b'"\xff": 1,'),
        content.replace(b'"a": 1,', b'"\\q": 1,'),
        content.replace(b'"a": 1,', b'"a": 1'),
        content.replace(b"[UNK]", b"[unk]"),
    ):
        assert other != content
        path.write_bytes(other)
        assert read_tokenizer(path) is None


def test_small_file_is_left_to_the_reader_of_any_json(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"".join(encode_tokenizer(TokenRows(make_keys(WORDS)))))
    monkeypatch.setattr("gensim_tfw2v.keys.MIN_WORDS", len(WORDS) + 1)
    assert read_tokenizer(path) is None
    monkeypatch.setattr("gensim_tfw2v.keys.MIN_WORDS", len(WORDS))
    assert read_tokenizer(path) is not None


@pytest.mark.parametrize(
    "sentences",
    [
        [["a", "b", '"']] * 3,
        [[1, 2, -7]] * 3,
        [[0, 1, 2]] * 3,
    ],
)
def test_model_is_saved_and_read_without_a_dict_of_its_tokens(sentences, tmp_path, monkeypatch):
    model = TFWord2Vec(sentences, vector_size=4, min_count=1, epochs=1, seed=1)
    assert model.wv.index_to_key.compact_keys is not None
    model.save_pretrained(tmp_path / "folder")
    vocabulary = json.loads((tmp_path / "folder/tokenizer.json").read_bytes())["model"]["vocab"]
    assert vocabulary == document_of(model.wv.index_to_key)["model"]["vocab"]

    def refuse(*_):
        raise AssertionError("the tokens were read as any JSON")

    monkeypatch.setattr(pretrained, "read_words", refuse)
    loaded = TFWord2Vec.from_pretrained(tmp_path / "folder")
    assert isinstance(loaded.wv.index_to_key, KeyList)
    assert (
        loaded.wv.index_to_key
        == model.wv.index_to_key
        == sorted({*sentences[0]}, key=model.wv.key_to_index.get)
    )
    assert loaded.wv.key_to_index == model.wv.key_to_index
    assert np.array_equal(loaded.wv.vectors, model.wv.vectors)


def test_words_that_a_folder_cannot_contain_are_refused(tmp_path):
    for word, reason in (
        ("\ud800", "UTF-8 cannot encode"),
        ("[UNK]", "the token of unknown words"),
    ):
        model = TFWord2Vec([["a", word]] * 3, vector_size=4, min_count=1, epochs=1)
        with pytest.raises(ValueError, match=reason):
            model.save_pretrained(tmp_path / "folder")


def test_integers_of_other_digits_are_refused(tmp_path):
    model = TFWord2Vec([[5, 7]] * 3, vector_size=4, min_count=1, epochs=1)
    model.save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(path.read_bytes().replace(b'"5"', b'"05"'))
    with pytest.raises(ValueError, match="not of the same save|is not what save_pretrained writes"):
        TFWord2Vec.from_pretrained(tmp_path)


@pytest.mark.parametrize("tags", [["x", "y"], [0, 1]])
def test_documents_keep_their_tags(tags, tmp_path):
    from gensim.models.doc2vec import TaggedDocument

    documents = [TaggedDocument(["a", "b"], [tag]) for tag in tags]
    model = TFDoc2Vec(documents, vector_size=4, min_count=1, epochs=1)
    assert isinstance(model.dv.index_to_key, KeyList)
    model.save_pretrained(tmp_path)
    loaded = TFDoc2Vec.from_pretrained(tmp_path)
    assert isinstance(loaded.dv.index_to_key, KeyList)
    assert loaded.dv.index_to_key == model.dv.index_to_key == tags
    assert loaded.dv.key_to_index == model.dv.key_to_index
    assert np.array_equal(loaded.dv[tags[1]], model.dv[tags[1]])
