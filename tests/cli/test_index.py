"""``tfw2v index`` and ``neighbours --index``."""

import inspect
import json

import pytest

from gensim_tfw2v import NeighbourIndex
from gensim_tfw2v.cli import merge

pytest.importorskip("usearch")


@pytest.fixture
def index(tfw2v, models, tmp_path):
    shown = tfw2v("index", models["model"], tmp_path / "x", "--workers", 1).stdout
    assert "words x 8 dimensions as int8" in shown
    assert shown.endswith(f"saved      {tmp_path / 'x.json'}\nsaved      {tmp_path / 'x'}\n")
    return tmp_path / "x"


def test_neighbours_by_an_index_equal_the_exact_ones(tfw2v, models, index):
    for words in (["the", "of"], ["the", "of", "--minus", "in"]):
        arguments = ["neighbours", models["text.txt"], *words, "-n", 5, "--json"]
        exact = json.loads(tfw2v(*arguments).stdout)
        found = json.loads(tfw2v(*arguments, "--index", index).stdout)
        assert found == {query: pytest.approx(nearest) for query, nearest in exact.items()}


def test_indexes_of_other_vectors_are_refused(tfw2v, models, index, tmp_path):
    tfw2v("convert", models["model"], tmp_path / "few.txt", "--words", 9)
    said = tfw2v("neighbours", tmp_path / "few.txt", "the", "--index", index, status=2).stderr
    assert "expected 9; build one of these, with: tfw2v index" in said


def test_an_index_is_written_to_files_only(tfw2v, models, tmp_path):
    assert "is the input" in tfw2v("index", models["model"], models["model"], status=2).stderr
    assert "is no file" in tfw2v("index", models["model"], "/dev/null", status=2).stderr
    said = tfw2v("index", models["model"], tmp_path / "x", "--dtype", "int4", status=2).stderr
    assert "--dtype is 'int4': use 'float32' or" in said
    assert not list(tmp_path.iterdir())


def test_defaults_equal_those_of_the_class():
    given, of_class = (inspect.signature(each).parameters for each in (merge.index, NeighbourIndex))
    names = (given.keys() & of_class.keys()) - {"vectors"}
    assert names >= {"dtype", "connectivity", "expansion_add", "expansion_search", "workers"}
    assert {name: given[name].default for name in names} == {
        name: of_class[name].default for name in names
    }
