"""Memory and time of merging: ``python -m benchmarks.merge_memory --words 1000000 --size 300``.

Sub-models of random numbers are written to files, with inputs and outputs, each without some of the
words, mapped into memory, and merged by each method. Memory is that of the process's own: pages of
the mapped files, which the system takes back when it needs them, are counted apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.machine import describe
from gensim_tfw2v.merging import METHODS, SubModel, merge

#: Share of the words that each sub-model holds.
HELD = 0.9

#: Rows that are drawn at a time.
ROWS = 1 << 16


class Peak(threading.Thread):
    """Samples this process's memory until `stopped` is set.

    `own` and `mapped` are the largest seen, in bytes.
    """

    def __init__(self, interval: float = 0.02) -> None:
        super().__init__(daemon=True)
        self.interval = interval
        self.own = self.mapped = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Sample."""
        process = psutil.Process()
        while True:
            memory = process.memory_info()
            self.own = max(self.own, memory.rss - memory.shared)
            self.mapped = max(self.mapped, memory.shared)
            if self.stopped.wait(self.interval):
                return


def write_models(folder: Path, models: int, words: int, size: int) -> list[SubModel]:
    """Sub-models in files, mapped into memory."""
    written = []
    for number in range(models):
        rng = np.random.default_rng(number)
        held = np.flatnonzero(rng.random(words) < HELD)
        tables = []
        for name in ("inputs", "outputs"):
            path = folder / f"{number}-{name}.npy"
            rows = np.lib.format.open_memmap(path, "w+", np.float32, (len(held), size))
            for first in range(0, len(held), ROWS):
                part = rows[first : first + ROWS]
                part[:] = rng.standard_normal(part.shape, np.float32)
            rows.flush()
            tables.append(np.load(path, "r"))
        written.append(SubModel(held, *tables))
    return written


def measure(models: Sequence[SubModel], words: int, method: str) -> dict[str, Any]:
    """Merge once."""
    watch = Peak()
    watch.start()
    start = time.perf_counter()
    merged = merge(models, words, method)
    seconds = time.perf_counter() - start
    watch.stopped.set()
    watch.join()
    assert merged.outputs is not None
    return {
        "seconds": round(seconds, 1),
        "own_gb": round(watch.own / 1e9, 2),
        "mapped_gb": round(watch.mapped / 1e9, 2),
        "result_gb": round((merged.inputs.nbytes + merged.outputs.nbytes) / 1e9, 2),
    }


def main(argv: list[str] | None = None) -> None:
    """Measure, and print a line of JSON for each method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge_memory", description=__doc__)
    add = parser.add_argument
    add("--words", type=int, default=100_000, help="V, words of the vocabulary (100,000)")
    add("--size", type=int, default=300, help="D, dimensions of each sub-model (300)")
    add("--models", type=int, default=10, help="N, sub-models (10)")
    add("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="(all)")
    add("--folder", type=Path, help="where the sub-models are written (a temporary folder)")
    arguments = parser.parse_args(argv)
    shape = {"words": arguments.words, "size": arguments.size, "models": arguments.models}
    print(json.dumps(shape | {"machine": describe()}), flush=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        models = write_models(Path(folder), arguments.models, arguments.words, arguments.size)
        for method in arguments.methods:
            print(json.dumps({"method": method} | measure(models, arguments.words, method)))


if __name__ == "__main__":
    main()
