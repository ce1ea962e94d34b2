from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from gensim_tfw2v.cli.failures import BadInput
from gensim_tfw2v.cli.saving import check_can_save, save_whole


def test_files_beside_the_model_come_along(tmp_path):
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2))
    path = tmp_path / "model"
    written = save_whole(path, lambda name: vectors.save(name, sep_limit=0))
    assert written[-1] == path
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert len(written) > 1
    np.testing.assert_array_equal(KeyedVectors.load(str(path)).vectors, np.eye(2))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "model"
    path.write_text("old")

    def write(name):
        Path(name).write_text("half")
        raise error

    with pytest.raises(type(error)):
        save_whole(path, write)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_check_leaves_nothing(tmp_path):
    check_can_save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_saved(tmp_path):
    with pytest.raises(BadInput, match="is a folder"):
        check_can_save(tmp_path)
    with pytest.raises(BadInput, match="no such folder"):
        check_can_save(tmp_path / "missing" / "model")
    with pytest.raises(BadInput, match="cannot be written to"):
        check_can_save(Path("/proc/model"))
