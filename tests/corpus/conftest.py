import tempfile
from pathlib import Path

import pytest

from gensim_tfw2v.corpus import encode, scanner, text_files
from tests.corpus.reference import ODD


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Folder for temporary files; tests check that it is empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=["whole", "cut", "python"])
def way(request, monkeypatch) -> str:
    """How texts are read: in one run, in runs of 10 kB by threads, or by pure Python."""
    if request.param == "cut":
        monkeypatch.setattr(text_files, "BYTES_A_RUN", 10_000)
    if request.param == "python":
        for module in (encode, scanner):
            monkeypatch.setattr(module, "library", lambda: None)
    elif scanner.library() is None:
        pytest.skip("compiled nowhere here")
    return request.param


@pytest.fixture(params=list(ODD))
def odd_file(request, tmp_path) -> Path:
    path = tmp_path / "odd.txt"
    path.write_bytes(ODD[request.param])
    return path
