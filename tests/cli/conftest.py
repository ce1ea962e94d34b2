import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath
from typer.testing import CliRunner

from gensim_tfw2v.cli.main import app

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tfw2v():
    """Return a function that runs tfw2v in this process and checks its exit status."""

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == status, result.output
        if status:
            assert "Traceback" not in result.stderr
        return result

    return run


@pytest.fixture
def process():
    """Return a function that runs tfw2v in a separate process."""

    def run(*arguments, module="gensim_tfw2v", **options):
        return subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A text file of 6,000 words."""
    with open(datapath("lee_background.cor"), encoding="utf-8") as file:
        lines = file.readlines()[:30]
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def models(tmp_path_factory, corpus):
    """Paths of one model's vectors in every format that can be loaded, by format."""
    folder = tmp_path_factory.mktemp("models")
    model = Word2Vec(corpus_file=str(corpus), vector_size=8, epochs=1, workers=1)
    names = ("model", "model.gz", "vectors.kv", "text.txt", "text.txt.gz", "binary.bin",
             "binary.bin.gz", "glove.txt")  # fmt: skip
    paths = {name: folder / name for name in names}
    model.save(str(paths["model"]))
    model.save(str(paths["model.gz"]))
    model.wv.save(str(paths["vectors.kv"]))
    for form, binary in (("text.txt", False), ("binary.bin", True)):
        model.wv.save_word2vec_format(str(paths[form]), binary=binary)
        paths[f"{form}.gz"].write_bytes(gzip.compress(paths[form].read_bytes()))
    model.wv.save_word2vec_format(str(paths["glove.txt"]), write_header=False)
    return paths
