"""Arguments of TFDoc2Vec and its inference."""

import gzip

import numpy as np
import pytest
from gensim.models import Doc2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.models.word2vec import LineSentence, PathLineSentences
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec

SMALL = {"vector_size": 8, "min_count": 1, "epochs": 2, "workers": 1}
TEXT = "".join(" ".join(words) + "\n" for words in common_texts)
DOCUMENTS = [TaggedDocument(words, [number]) for number, words in enumerate(common_texts)]


@pytest.fixture(scope="module")
def model():
    return TFDoc2Vec(DOCUMENTS, **SMALL)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"dm": "dbow"}, TypeError, "dm must be a whole number"),
        ({"dm": 2}, ValueError, "dm must be at most 1"),
        ({"sg": 1}, TypeError, "unexpected keyword argument 'sg'"),
    ],
)
def test_bad_constructor_option_raises(options, error, said):
    with pytest.raises(error, match=said):
        TFDoc2Vec(DOCUMENTS, **SMALL, **options)


def test_build_vocab_without_a_corpus_raises():
    with pytest.raises(TypeError, match="pass corpus_iterable or corpus_file"):
        TFDoc2Vec().build_vocab(documents=DOCUMENTS)  # a name that gensim, too, takes for an option


def test_from_vectors_raises(model):
    with pytest.raises(TypeError, match=r"TFWord2Vec\.from_vectors"):
        TFDoc2Vec.from_vectors(model.wv)


def test_dm_mean_sets_cbow_mean_with_own_options(tmp_path):
    """In gensim, the default of cbow_mean overwrites dm_mean."""
    given = {"progress": False, "encoded_dir": tmp_path}
    for dm_mean, cbow_mean in ((0, 0), (1, 1), (None, 1)):
        model = TFDoc2Vec(DOCUMENTS, None, 8, dm_mean, min_count=1, epochs=1, **given)
        assert (model.cbow_mean, model.progress) == (cbow_mean, False)
    assert TFDoc2Vec(cbow_mean=0).cbow_mean == 0 and Doc2Vec(dm_mean=0).cbow_mean == 1


def test_lines_of_files_are_documents(model, tmp_path):
    first, second = TEXT[: TEXT.index("\n") + 1], TEXT[TEXT.index("\n") + 1 :]
    (tmp_path / "a").write_text(first)
    (tmp_path / "b.gz").write_bytes(gzip.compress(second.encode()))
    (tmp_path / "whole").write_text(TEXT)
    of_file = TFDoc2Vec(LineSentence(str(tmp_path / "whole")), **SMALL)
    (tmp_path / "whole").unlink()
    for other in (of_file, TFDoc2Vec(PathLineSentences(str(tmp_path)), **SMALL)):
        assert other.dv.index_to_key == [*range(len(DOCUMENTS))]
        np.testing.assert_array_equal(other.dv.vectors, model.dv.vectors)


def test_infer_vectors_accepts_tagged_documents(model):
    found = model.infer_vectors(iter(DOCUMENTS))
    np.testing.assert_array_equal(found, model.infer_vectors(common_texts))
    assert model.infer_vectors([]).shape == (0, 8)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"alpha": "0.1"}, TypeError, "alpha must be a finite number or None, got '0.1'"),
        ({"min_alpha": float("nan")}, ValueError, "min_alpha must be a finite number"),
        ({"epochs": 2.5}, TypeError, "epochs must be a whole number or None, got 2.5"),
        ({"epochs": -1}, ValueError, "epochs must be at least 0, got -1"),
    ],
)
def test_bad_option_of_inference_raises(model, options, error, said):
    with pytest.raises(error, match=said):
        model.infer_vector(["human"], **options)


@pytest.mark.parametrize("text", ["human interface", TaggedDocument("human", [0])])
def test_string_as_a_document_raises(model, text):
    with pytest.raises(TypeError, match=r"a list of words, got 'human.*text\.split\(\)"):
        model.infer_vectors([text])


def test_inference_without_a_vocabulary_raises():
    with pytest.raises(RuntimeError, match="first build vocabulary"):
        TFDoc2Vec().infer_vector(["human"])
