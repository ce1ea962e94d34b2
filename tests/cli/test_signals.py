"""Files after signals."""

import os
import signal
import subprocess
import sys
import time

import pytest
from gensim.test.utils import datapath


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
)
def test_interrupted_training_leaves_no_files(tmp_path, sent, status):
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    out.mkdir()
    command = [sys.executable, "-m", "gensim_tfw2v", "train", datapath("lee_background.cor")]
    process = subprocess.Popen(
        [*command, "-o", str(out / "model"), "--epochs", "1000000", "--verbose"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        for line in process.stderr:
            if "EPOCH 2" in line:
                break
        assert list(temporary.glob("tfw2v-corpus-*"))
        process.send_signal(sent)
        start = time.monotonic()
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == status, errors
    assert time.monotonic() - start < 10  # including the interpreter's exit
    assert list(temporary.glob("tfw2v*")) == []
    assert list(out.iterdir()) == []
