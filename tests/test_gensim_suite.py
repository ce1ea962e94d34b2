"""gensim's own tests of Word2Vec and of classes that use it, run on TFWord2Vec."""

import tempfile

import gensim.test.test_keyedvectors as keyedvectors
import gensim.test.test_similarities as similarities
import gensim.test.test_word2vec as suite
import pytest

from gensim_tfw2v import TFWord2Vec, patch_gensim


@pytest.fixture(autouse=True)
def in_place():
    """Patch the class, which gensim's tests use as ``word2vec.Word2Vec`` or ``Word2Vec``."""
    with patch_gensim():
        assert suite.word2vec.Word2Vec is similarities.Word2Vec is TFWord2Vec
        yield


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch, split_once):
    """Run gensim's tests, which write files of fixed names, in a folder per test.

    They split the same texts in each iteration of each training run.
    """
    monkeypatch.setattr("gensim.test.utils.simple_preprocess", split_once)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class TestKeyedVectors(keyedvectors.TestKeyedVectors):
    """gensim's tests, run on vectors that have gone through `TFWord2Vec.from_vectors`."""

    def setUp(self) -> None:
        super().setUp()
        self.vectors = TFWord2Vec.from_vectors(self.vectors).wv


# pytest collects the classes of this module
for name, found in vars(suite).items():
    if name.startswith("Test"):
        globals()[name] = found
Gensim320Test = keyedvectors.Gensim320Test
LoadWord2VecFormatTest = keyedvectors.LoadWord2VecFormatTest
#: gensim's tests of similarities that train a Word2Vec.
TestWmdSimilarity = similarities.TestWmdSimilarity
TestWord2VecAnnoyIndexer = similarities.TestWord2VecAnnoyIndexer
TestWord2VecNmslibIndexer = similarities.TestWord2VecNmslibIndexer
del name, found
