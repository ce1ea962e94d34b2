"""``tfw2v index`` and ``neighbours --index``."""

import inspect
import json

import numpy as np
import pytest

from gensim_tfw2v import NeighbourIndex
from gensim_tfw2v.cli import merge
from gensim_tfw2v.keyed import keyed

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


def test_keys_that_files_cannot_hold_are_refused_before_building(tfw2v, tmp_path, monkeypatch):
    keyed(["x", 1.5], np.eye(2, dtype=np.float32)).save(str(tmp_path / "x.kv"))
    monkeypatch.setattr(NeighbourIndex, "__init__", lambda *_: pytest.fail("was built"))
    said = tfw2v("index", tmp_path / "x.kv", tmp_path / "x", status=2).stderr
    assert "x.kv: key 1.5 is of type float; files of indexes hold only strings and integers" in said
    assert not (tmp_path / "x").exists()


def test_words_without_vectors_are_found_last(tfw2v, tmp_path):
    rows = np.random.default_rng(0).standard_normal((900, 8)).astype(np.float32)
    rows[300:] = 0
    keyed([f"w{row}" for row in range(900)], rows).save(str(tmp_path / "x.kv"))
    tfw2v("index", tmp_path / "x.kv", tmp_path / "x")
    arguments = ["neighbours", tmp_path / "x.kv", "w3", "-n", 899, "--json"]
    nearest = json.loads(tfw2v(*arguments, "--index", tmp_path / "x").stdout)["w3"]
    assert len(nearest) == 899
    unit = rows[:300] / np.linalg.norm(rows[:300], axis=1)[:, None]
    expected = {f"w{row}": cosine for row, cosine in enumerate(unit @ unit[3]) if row != 3}
    expected |= {f"w{row}": 0 for row in range(300, 900)}
    assert nearest == pytest.approx(expected, abs=1e-6)
    arguments = ["neighbours", tmp_path / "x.kv", "w400", "--index", tmp_path / "x"]
    said = tfw2v(*arguments, status=2).stderr
    assert "'w400' has a vector of length 0, so it has no neighbours" in said


def test_a_missing_index_is_named(tfw2v, models, tmp_path):
    arguments = ["neighbours", models["text.txt"], "the", "--index", tmp_path / "none"]
    said = tfw2v(*arguments, status=2).stderr
    assert said == f"tfw2v: {arguments[-1]}: No such file or directory; check the path\n"


def test_defaults_equal_those_of_the_class():
    given, of_class = (inspect.signature(each).parameters for each in (merge.index, NeighbourIndex))
    names = (given.keys() & of_class.keys()) - {"vectors"}
    assert names >= {"dtype", "connectivity", "expansion_add", "expansion_search", "workers"}
    assert {name: given[name].default for name in names} == {
        name: of_class[name].default for name in names
    }
