"""gensim's own tests of FastText, run on TFFastText."""

import tempfile
import unittest

import gensim.test.test_fasttext as suite
import pytest
from gensim.models import fasttext

from gensim_tfw2v import TFFastText

suite.FT_gensim = TFFastText
load_facebook_model = fasttext.load_facebook_model


def loaded(*args, **kwargs):
    """What gensim has loaded, as a TFFastText."""
    model = load_facebook_model(*args, **kwargs)
    model.__class__ = TFFastText
    return model


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Its tests write files of fixed names, and may run side by side."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fasttext, "load_facebook_model", loaded)


# pytest collects what it finds here
for name, found in vars(suite).items():
    is_case = isinstance(found, type) and issubclass(found, unittest.TestCase)
    if name.startswith("test_") or (is_case and name != "TestWord2VecModel"):  # which is Word2Vec's
        globals()[name] = found
del name, found, is_case
