"""Each mistake prints one line: what was typed, what is allowed, and what to do."""

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gensim_tfw2v.cli.main import app
from tests.cli.mistakes.table import MISTAKES

#: Words in messages that only programs in Python can follow.
OF_PYTHON = re.compile(r"gensim_tfw2v\.|=(True|False|None)\b|Traceback|<class|0x[0-9a-f]{8}")


def paths_below(*folders):
    return {path for folder in folders for path in Path(folder).rglob("*")}


@pytest.fixture
def typed(files, tmp_path, monkeypatch):
    """Return a function that runs a mistake, and checks its status and all that it prints."""
    monkeypatch.chdir(tmp_path)
    for name in ("TF_CONFIG", "TFW2V_LOG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path.parent))

    def run(mistake):
        arguments, text, variables = mistake.command(files)
        before = paths_below(files["f"], tmp_path)
        result = CliRunner().invoke(app, arguments, input=text, env=variables)
        assert result.exit_code == mistake.status, result.output
        assert re.fullmatch(mistake.pattern(files), result.stderr), result.stderr
        assert not OF_PYTHON.search(result.stderr)
        if mistake.status:
            assert paths_below(files["f"], tmp_path) == before

    return run


def rows(table):
    """Return the rows of a table as parameters; their ids are what is typed."""
    return [pytest.param(mistake, id=mistake.typed) for mistake in MISTAKES[table]]


@pytest.mark.parametrize("mistake", rows("names"))
def test_mistyped_name_is_repeated_with_what_exists(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("values"))
def test_wrong_value_is_repeated_with_what_is_allowed(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("files"))
def test_wrong_file_is_named_with_what_to_do(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("options"))
def test_option_that_cannot_be_used_is_named_with_what_to_do(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("words"))
def test_unknown_word_is_repeated(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("regimes"))
def test_wrong_regime_is_repeated_with_what_is_allowed(typed, mistake):
    typed(mistake)


@pytest.mark.parametrize("mistake", rows("clusters"))
def test_wrong_cluster_is_repeated_with_an_example(typed, mistake):
    typed(mistake)


def test_tables_have_over_600_different_mistakes():
    every = [mistake.typed for table in MISTAKES.values() for mistake in table]
    assert len(every) == len(set(every)) > 600


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can read every file")
def test_unreadable_file_is_named(tmp_path, tfw2v):
    path = tmp_path / "model"
    path.touch(mode=0)
    assert "Permission denied" in tfw2v("info", path, status=2).stderr
