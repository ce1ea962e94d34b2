"""``tfw2v tensorboard`` in a separate process."""

import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request


class Served:
    """A running TensorBoard: its process, its first line of output, and its answers."""

    def __init__(self, process, line):
        self.process, self.line = process, line
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        self.url = found[0]

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=300) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None

    def json(self, path):
        return json.loads(self.get(path))

    def wait_for(self, runs):
        """Wait until TensorBoard has found exactly these runs."""
        deadline = time.monotonic() + 120
        while sorted(self.json("data/runs")) != sorted(runs):
            assert time.monotonic() < deadline, f"{self.json('data/runs')}, not {runs}"
            time.sleep(0.1)

    def projector(self, path):
        return self.get(f"data/plugin/projector/{path}")


@contextlib.contextmanager
def tensorboard(folder, *options, cwd=None):
    process = subprocess.Popen(
        [sys.executable, "-m", "gensim_tfw2v", "tensorboard", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
    )  # fmt: skip
    try:
        yield Served(process, process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=300)
