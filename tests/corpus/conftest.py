import tempfile
from pathlib import Path

import pytest

from gensim_tfw2v.corpus import scanner, text_corpus, word_ids
from tests.corpus.reference import ODD


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Folder for temporary files; tests check that it is empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=["one run", "several runs", "pure Python"])
def reader_kind(request, monkeypatch) -> str:
    """Way of reading texts: in one run, in runs of 10 kB by threads, or by pure Python."""
    if request.param == "several runs":
        monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 10_000)
    if request.param == "pure Python":
        for module in (text_corpus, scanner, word_ids):
            monkeypatch.setattr(module, "library", lambda: None)
    elif scanner.library() is None:
        pytest.skip("the compiled library is missing")
    return request.param


@pytest.fixture(params=list(ODD))
def odd_file(request, tmp_path) -> Path:
    path = tmp_path / "odd.txt"
    path.write_bytes(ODD[request.param])
    return path
