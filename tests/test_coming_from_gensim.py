"""The page coming-from-gensim.md names every parameter, method and attribute of gensim."""

import inspect
import re
from pathlib import Path

import pytest
from gensim.models import Word2Vec
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.model import OWN, RUNNING
from gensim_tfw2v.options.contents import PARTS

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-gensim.md"


def named(section: str) -> set[str]:
    """Names in the first column of a section's table."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def parameters(function) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_page_names_every_parameter():
    new = {*OWN, *RUNNING}
    assert named("Constructor") == parameters(Word2Vec) | new
    assert parameters(TFWord2Vec) == parameters(Word2Vec) | new
    assert named("train") == parameters(Word2Vec.train) == parameters(TFWord2Vec.train)


def test_page_names_every_method():
    members = [*inspect.getmembers(Word2Vec, callable), *inspect.getmembers(TFWord2Vec, callable)]
    methods = public(name for name, _ in members)
    assert named("Methods") == methods - {"take_over"}  # for this package's loaders


def test_page_says_what_becomes_of_attributes():
    text = PAGE.read_text(encoding="utf-8").split("## Copies, files and new models\n")[1]
    text = text.split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    ways = ("copy", "file", "folder", "gensim", "merged", "slice")
    for names, *fates in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            (part,) = (part for part in PARTS if name in part.names)
            assert [getattr(part, way) for way in ways] == fates, name


@pytest.mark.parametrize("model_class", [Word2Vec, TFWord2Vec])
def test_page_names_every_attribute(model_class):
    model = model_class(common_texts, min_count=1, hs=1, compute_loss=True)
    known = named("Attributes") | named("Constructor") | named("Methods")
    assert public(vars(model)) - known == set()
