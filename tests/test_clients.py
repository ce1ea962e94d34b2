"""The benchmark of client programs, tested without those programs."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from gensim.models import Word2Vec
from gensim.test.utils import common_texts

from benchmarks.clients import __main__ as command
from benchmarks.clients.client import (
    Client,
    Measured,
    agreement,
    nearest,
    replace_classes,
    with_agreement,
)
from benchmarks.clients.page import cell, markdown, verdict
from gensim_tfw2v import TFWord2Vec


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Module of a client program that has imported gensim's class."""
    module = types.ModuleType("another_program")
    module.Word2Vec = Word2Vec  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def client(run=None, **kwargs) -> Client:
    def train(word2vec: type, seed: int) -> Measured:
        module = sys.modules["another_program"]
        model = module.Word2Vec(common_texts, min_count=1, vector_size=4, seed=seed)
        assert type(model) is word2vec
        return Measured({"words": len(model.wv)}, nearest(model.wv, ["trees", "graph"], 3))

    options = {"packages": ("gensim",), "targets": ("another_program.Word2Vec",)} | kwargs
    return Client(name="another", run=run or train, about="a task", **options)


def test_replaced_class_is_restored_after_an_error(program) -> None:
    with (
        pytest.raises(KeyError, match="raised inside"),
        replace_classes(["another_program.Word2Vec"], TFWord2Vec),
    ):
        assert program.Word2Vec is TFWord2Vec
        raise KeyError("raised inside")
    assert program.Word2Vec is Word2Vec


def test_missing_name_raises_and_replaces_nothing(program) -> None:
    names = ["another_program.Word2Vec", "another_program.Doc2Vec"]
    with pytest.raises(AttributeError, match="Doc2Vec"), replace_classes(names, TFWord2Vec):
        pass
    assert program.Word2Vec is Word2Vec


def test_agreement_compares_with_gensims_other_seeds() -> None:
    assert agreement({"a": ["b", "c"]}, [{"a": ["c", "d"]}, {"a": ["b", "c"]}]) == 0.75
    gensims = {
        1: Measured({}, {"a": ["b", "c"]}),
        2: Measured({}, {"a": ["b", "d"]}),
        3: Measured({}, {"a": ["d", "e"]}),
    }
    ours = {1: Measured({"x": 1.0}, {"a": ["b", "c"]})}
    assert with_agreement("shared", ours, gensims) == {1: {"x": 1.0, "shared": 0.25}}
    assert with_agreement("shared", gensims, gensims)[2] == {"shared": 0.5}
    assert with_agreement("shared", ours, {1: gensims[1]}) == {1: {"x": 1.0}}


def test_cell_shows_mean_and_verdict_compares_ranges() -> None:
    assert cell([0.5]) == ".500" and cell([0.4, 0.6, 0.5]) == ".500 ± .100"
    base = [0.4, 0.5, 0.6]
    assert verdict(base, [0.5, 0.6, 0.6]) == "within"
    assert verdict(base, [0.7, 0.7, 0.7]) == "above"
    assert verdict(base, [0.1, 0.2, 0.3]) == "below"
    assert verdict(base, [0.5]) == "–"


def test_page_lists_results_failed_and_missing_clients(
    program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(word2vec: type, seed: int) -> Measured:
        raise RuntimeError("no graph")

    clients = (
        client(),
        Client("absent", ("no-such-package",), (), fails, ""),
        Client("broken", (), (), fails, ""),
    )
    monkeypatch.setattr(command, "CLIENTS", clients)
    with pytest.raises(SystemExit, match="failed: broken"):
        command.main(["--seeds", "2", "--out", str(tmp_path)])
    assert program.Word2Vec is Word2Vec
    document = json.loads((tmp_path / "clients.json").read_text())
    page = (tmp_path / "clients.md").read_text()
    assert page == markdown(document)
    assert "| another | words | 12.000 ± .000 | 12.000 ± .000 | +.000 | within |" in page
    assert f"| another | {command.AGREEMENT} |" in page
    assert "- absent: not installed: no-such-package; see --help" in page
    assert "- broken: RuntimeError: no graph" in page

    with pytest.raises(SystemExit, match="failed: broken"):
        command.main(["broken", "--seeds", "2", "--out", str(tmp_path)])
    again = json.loads((tmp_path / "clients.json").read_text())
    assert again["clients"] == document["clients"]
    with pytest.raises(SystemExit, match="failed: broken"):
        command.main(["broken", "--seeds", "1", "--out", str(tmp_path)])
    assert json.loads((tmp_path / "clients.json").read_text())["clients"] == {}


def test_bad_arguments_exit_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="no such client: word2vec"):
        command.main(["word2vec"])
    with pytest.raises(SystemExit, match="2"):
        command.main(["--seeds", "0"])
    assert "0 is too small" in capsys.readouterr().err
