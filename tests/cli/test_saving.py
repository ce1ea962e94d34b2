from pathlib import Path

import pytest

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import check_can_save


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
