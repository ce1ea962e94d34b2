"""Folders of models that model2vec or sentence-transformers has saved again: read as vectors."""

import json

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.model_files import load_saved

OPTIONS = {"vector_size": 4, "min_count": 1, "workers": 1, "seed": 3, "epochs": 1}


@pytest.mark.parametrize("quantized", [None, "float16", "int8"])
def test_vectors_are_read_from_what_model2vec_has_saved(tfw2v, tmp_path, quantized):
    model2vec = pytest.importorskip("model2vec")
    model = TFWord2Vec([*common_texts, [101, 7]], **OPTIONS)
    model.save_pretrained(tmp_path / "ours")
    loaded = model2vec.StaticModel.from_pretrained(str(tmp_path / "ours"), quantize_to=quantized)
    loaded.save_pretrained(tmp_path / "theirs")
    with pytest.raises(ValueError, match="saved by a different library, such as model2vec") as no:
        TFWord2Vec.from_pretrained(tmp_path / "theirs")
    assert f"tfw2v convert {tmp_path / 'theirs'} vectors.kv" in str(no.value)
    tfw2v("convert", tmp_path / "theirs", tmp_path / "vectors.kv")
    found = KeyedVectors.load(str(tmp_path / "vectors.kv"))
    assert found.index_to_key == model.wv.index_to_key
    if quantized is None:
        np.testing.assert_array_equal(found.vectors, model.wv.vectors)
    expected = model.wv.similarity("graph", "trees")
    assert found.similarity("graph", "trees") == pytest.approx(expected, abs=0.02)


def test_vectors_are_read_from_what_sentence_transformers_has_saved(tmp_path):
    """sentence-transformers names the tensor differently, and writes no config.json."""
    model = TFWord2Vec(common_texts, **OPTIONS)
    model.save_pretrained(tmp_path)
    (tmp_path / "config_sentence_transformers.json").write_text("{}")
    (tmp_path / "config.json").unlink()
    path = tmp_path / "model.safetensors"
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    start, stop = header["embeddings"]["data_offsets"]
    entry = header["embeddings"] | {"data_offsets": [0, stop - start]}
    text = json.dumps({"embedding.weight": entry}).encode()
    rows = content[end + start : end + stop]
    path.write_bytes(len(text).to_bytes(8, "little") + text + rows)
    with pytest.raises(ValueError, match="was saved by a different library"):
        TFWord2Vec.from_pretrained(tmp_path)
    found = load_saved(tmp_path)
    assert found.index_to_key == model.wv.index_to_key
    np.testing.assert_array_equal(found.vectors, model.wv.vectors)


def test_folders_of_tokens_that_are_no_words_are_refused(tfw2v, tmp_path):
    TFWord2Vec(common_texts, **OPTIONS).save_pretrained(tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer |= {"version": "1.0", "model": tokenizer["model"] | {"type": "WordPiece"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    said = tfw2v("info", tmp_path, status=2).stderr
    assert "its words and vectors cannot be read" in said
