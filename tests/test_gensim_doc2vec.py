"""gensim's own tests of Doc2Vec, run on TFDoc2Vec."""

import tempfile
import unittest

import gensim.test.test_doc2vec as suite
import pytest

from gensim_tfw2v import patch_gensim


@pytest.fixture(autouse=True)
def in_place(tmp_path, monkeypatch, split_once):
    """Run gensim's tests, which write files of fixed names, in a folder per test.

    They split the same texts in each iteration of each training run.
    """
    monkeypatch.setattr(suite.utils, "simple_preprocess", split_once)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with patch_gensim():
        yield


# pytest collects the classes of this module
for name, found in vars(suite).items():
    if isinstance(found, type) and issubclass(found, unittest.TestCase):
        globals()[name] = found
del name, found
