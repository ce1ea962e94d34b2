"""gensim's own tests of Word2Vec, run on TFWord2Vec.

Its module finds the class as ``word2vec.Word2Vec``: there a module stands in that gives
TFWord2Vec under that name, and everything else of gensim's.
"""

import tempfile
import types
from typing import Any

import gensim.test.test_word2vec as suite
import pytest
from gensim.models import word2vec

from gensim_tfw2v import TFWord2Vec


class StandIn(types.ModuleType):
    """gensim's module with another class."""

    Word2Vec = TFWord2Vec

    def __getattr__(self, name: str) -> Any:
        return getattr(word2vec, name)


suite.word2vec = StandIn("word2vec")


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Its tests write files of fixed names, and may run side by side."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


# pytest collects what it finds here
for name, found in vars(suite).items():
    if name.startswith("Test"):
        globals()[name] = found
del name, found
