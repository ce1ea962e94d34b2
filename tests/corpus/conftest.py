import tempfile
from pathlib import Path

import pytest

from tests.corpus.reference import ODD


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder for temporary files, which must be empty again at the end of a test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=list(ODD))
def odd_file(request, tmp_path) -> Path:
    path = tmp_path / "odd.txt"
    path.write_bytes(ODD[request.param])
    return path
