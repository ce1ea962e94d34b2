"""Memory of merging sub-models mapped from files, measured in a separate process."""

import threading
from pathlib import Path

import numpy as np
import psutil

from gensim_tfw2v.merging import SubModel, merge

#: Fraction of the words in each sub-model.
HELD = 0.9

#: Rows per batch of random numbers.
ROWS = 1 << 16


class Peak(threading.Thread):
    """Samples the memory of this process, without pages of mapped files, until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes = 0
        self.stopped = threading.Event()

    def run(self):
        process = psutil.Process()
        while True:
            memory = process.memory_info()
            self.bytes = max(self.bytes, memory.rss - memory.shared)
            if self.stopped.wait(0.02):
                return


def write_models(folder, models, words, size):
    """Write sub-models of random numbers to files, each without some of the words."""
    for number in range(models):
        rng = np.random.default_rng(number)
        held = np.flatnonzero(rng.random(words) < HELD)
        np.save(folder / f"{number}-words.npy", held)
        for name in ("inputs", "outputs"):
            path = folder / f"{number}-{name}.npy"
            rows = np.lib.format.open_memmap(path, "w+", np.float32, (len(held), size))
            for first in range(0, len(held), ROWS):
                part = rows[first : first + ROWS]
                part[:] = rng.standard_normal(part.shape, np.float32)
            rows.flush()


def measure(folder, models, words, method):
    """Merge once; return the peak bytes of this process and the bytes of the result."""
    sub_models = [
        SubModel(
            *(np.load(Path(folder, f"{number}-{name}.npy"), "r") for name in ("words", "inputs")),
            {"outputs": np.load(Path(folder, f"{number}-outputs.npy"), "r")},
        )
        for number in range(models)
    ]
    watch = Peak()
    watch.start()
    merged = merge(sub_models, words, method)
    watch.stopped.set()
    watch.join()
    return {"own": watch.bytes, "result": merged.inputs.nbytes + merged.tables["outputs"].nbytes}
