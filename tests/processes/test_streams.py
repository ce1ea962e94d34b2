"""Standard files and streams that are closed."""

import subprocess
import sys

from tests.cli.conftest import ROOT


def test_no_file_takes_the_place_of_a_closed_one(tmp_path):
    """Or what C++ prints as an error would be written into it."""
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
