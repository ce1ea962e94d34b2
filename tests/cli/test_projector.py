import inspect

import numpy as np
import pytest
from gensim.models import Doc2Vec, Word2Vec

from gensim_tfw2v.cli.tensorboard import projector
from gensim_tfw2v.monitor.projector import write_projector
from gensim_tfw2v.monitor.tensorboard_log import PROJECTOR_WORDS
from tests.monitor.projector_files import read


@pytest.mark.parametrize("form", ["model", "vectors.kv", "text.txt", "binary.bin"])
def test_every_format_is_written(tfw2v, models, tmp_path, form):
    shown = tfw2v("projector", models[form], "--log-dir", tmp_path / "runs" / "a").stdout
    vectors = Word2Vec.load(str(models["model"])).wv
    assert f"{len(vectors):,} of {len(vectors):,} x 8 dimensions" in shown
    folder = tmp_path / "runs" / "a"
    tensor, written, _ = read(folder)
    assert str(folder / tensor.tensor_path) in shown
    np.testing.assert_allclose(written, vectors.vectors, atol=1e-6)


def test_words_option_limits_the_words(tfw2v, models, tmp_path):
    shown = tfw2v("projector", models["model"], "--log-dir", tmp_path, "--words", 7).stdout
    assert "7 of " in shown
    (table,) = (tmp_path / "projector").glob("*.tsv")
    assert len(table.read_text().splitlines()) == 1 + 7


def test_documents_of_doc2vec_are_written(tfw2v, corpus, tmp_path):
    Doc2Vec(corpus_file=str(corpus), vector_size=8, epochs=1).save(str(tmp_path / "model"))
    folder = tmp_path / "log"
    shown = tfw2v("projector", tmp_path / "model", "--log-dir", folder, "--words", 20).stdout
    assert f"{'documents':<11}20 of 30\n" in shown
    (table,) = (folder / "projector").glob("tags-*.tsv")
    assert len(table.read_text().splitlines()) == 1 + 20


def test_tensorboard_command_is_printed(tfw2v, models, tmp_path):
    folder = tmp_path / "two words"
    shown = tfw2v("projector", models["model"], "--log-dir", folder).stdout
    assert shown.splitlines()[-1] == f"{'look':<11}tfw2v tensorboard '{folder}'"


def test_spherize_is_explained_from_50_dimensions(tfw2v, tmp_path, corpus):
    for size in (49, 50):
        model = Word2Vec(corpus_file=str(corpus), vector_size=size, epochs=1, workers=1)
        model.save(str(tmp_path / "model"))
        shown = tfw2v("projector", tmp_path / "model", "--log-dir", tmp_path / "run").stdout
        assert ("Spherize" in shown) == (size >= 50)


@pytest.mark.parametrize("words", [0, 100_001])
def test_invalid_number_of_words_is_rejected(tfw2v, models, tmp_path, words):
    result = tfw2v("projector", models["model"], "--log-dir", tmp_path, "--words", words, status=2)
    assert "--words" in result.stderr


def test_bad_paths_are_rejected(tfw2v, models, tmp_path):
    result = tfw2v("projector", tmp_path / "missing", "--log-dir", tmp_path, status=2)
    assert result.stderr == f"tfw2v: {tmp_path / 'missing'}: no such file\n"
    (tmp_path / "file").touch()
    result = tfw2v("projector", models["model"], "--log-dir", tmp_path / "file", status=2)
    assert f"--log-dir {tmp_path / 'file'}: cannot be written to (Not a directory)" in result.stderr


def test_number_of_words_is_the_same_by_default_everywhere():
    command_default = inspect.signature(projector).parameters["n_words"].default
    function_default = inspect.signature(write_projector).parameters["words"].default
    assert {command_default, function_default, PROJECTOR_WORDS} == {10_000}
