"""Closed standard streams."""

import subprocess
import sys

from tests.cli.conftest import ROOT


def test_files_do_not_reuse_descriptors_of_closed_streams(tmp_path):
    """Otherwise error messages of C++ code would be written into the file."""
    code = (
        "import os, subprocess, sys\n"
        "import gensim_tfw2v\n"
        "file = open(sys.argv[1], 'w')\n"
        "os.write(1, b'noise')\n"
        "os.write(2, b'noise')\n"
        'child = \'import os; os.write(1, b"noise"); os.write(2, b"noise"); os.read(0, 1)\'\n'
        "status = subprocess.call([sys.executable, '-c', child])\n"
        "print(file.fileno() > 2, status, file=file)\n"
    )
    path = tmp_path / "file"
    shell = 'exec "$@" <&- >&- 2>&-'
    subprocess.run(["sh", "-c", shell, "sh", sys.executable, "-c", code, path], cwd=ROOT)
    assert path.read_text() == "True 0\n"
