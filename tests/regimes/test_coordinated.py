"""What the process that asks makes of a coordinator's answers."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from gensim_tfw2v.regimes.coordinated import CoordinatedRegime

#: Answers the first request as a coordinator does whose disk is full.
FULL = """
import pickle, sys
pickle.load(sys.stdin.buffer)
answer = "system", OSError(28, "No space left on device")
sys.stdout.buffer.write(pickle.dumps(answer))
"""


def test_what_the_system_refuses_names_the_folder(tmp_path):
    def start(module, environment, **streams):
        return subprocess.Popen([sys.executable, "-c", FULL], stdin=subprocess.PIPE, **streams)

    asked = SimpleNamespace(setup=SimpleNamespace(folder=tmp_path), cluster=None)
    with pytest.raises(OSError, match="No space left on device") as refused:
        CoordinatedRegime(asked, lambda: None, start)
    assert refused.value.filename == str(tmp_path)
