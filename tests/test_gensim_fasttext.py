"""gensim's own tests of FastText, run on TFFastText."""

import tempfile
import unittest

import gensim.test.test_fasttext as suite
import pytest

from gensim_tfw2v import TFFastText, patch_gensim

suite.FT_gensim = TFFastText


class FewBuckets(TFFastText):
    """TFFastText for a test that saves a model, which by default has two million rows."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{"bucket": 1000} | options)


@pytest.fixture(autouse=True)
def in_place(tmp_path, monkeypatch, request):
    """Run gensim's tests, which write files of fixed names, in a folder per test."""
    if request.node.name == "test_negative_ns_exp":
        monkeypatch.setattr(suite, "FT_gensim", FewBuckets)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with patch_gensim():  # loading functions look up the class
        yield


# pytest collects the classes and functions of this module
for name, found in vars(suite).items():
    is_case = isinstance(found, type) and issubclass(found, unittest.TestCase)
    if name.startswith("test_") or (is_case and name != "TestWord2VecModel"):  # Word2Vec's own
        globals()[name] = found
del name, found, is_case
