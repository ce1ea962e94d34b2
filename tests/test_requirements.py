"""Packages that are too old are named with the cure."""

import importlib.metadata

import pytest

from gensim_tfw2v import _tensorflow


@pytest.mark.parametrize(
    ("package", "found"), [("tensorflow", "2.19.1"), ("gensim", "4.3.3"), ("gensim", "3.8")]
)
def test_old_packages_are_refused_with_the_cure(package, found, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    with pytest.raises(ImportError, match=rf"{found} is installed. Run: pip install --upgrade"):
        _tensorflow.require(package)


@pytest.mark.parametrize(("package", "found"), [("tensorflow", "2.20.0"), ("gensim", "10.0")])
def test_new_ones_are_fine(package, found, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    _tensorflow.require(package)
