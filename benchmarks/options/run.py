"""Training of cells in a pool of processes, which writes a record of each run to a file."""

import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import kernels_hash
from benchmarks.options.cells import Cell
from benchmarks.options.corpora import CORPORA
from benchmarks.options.measure import measure
from gensim_tfw2v.processes.children import exit_with_parent


class Place(NamedTuple):
    """Way in which this package trains: its description for the page, and its ``cluster=``."""

    about: str
    cluster: str | None = None


PLACES = {
    "machine": Place("one thread"),
    "cluster": Place("a local cluster of 2 ps and 4 workers", "local:ps=2,worker=4"),
    "graph": Place("one thread of the TensorFlow fallback, without compiled kernels"),
}


def train(
    cells: list[Cell], engines: list[str], files: dict[str, Path], records: Path, processes: int
) -> None:
    """Train each cell with each engine, except those that have a record."""
    records.mkdir(parents=True, exist_ok=True)
    missing = [
        (cell, engine, seed)
        for cell in cells
        for engine in engines
        for seed in seeds(cell, engine)
        if not record_path(records, cell, engine, seed).exists()
    ]
    with fresh_processes(processes) as pool:
        tasks = {
            pool.submit(measure_cell, cell, files[cell.corpus], engine, seed): (cell, engine, seed)
            for cell, engine, seed in missing
        }
        for n_done, future in enumerate(as_completed(tasks), 1):
            cell, engine, seed = tasks[future]
            record = future.result()
            record_path(records, cell, engine, seed).write_text(json.dumps(record))
            print(f"{n_done}/{len(missing)} {engine} {seed}: {cell.name}", flush=True)


def fresh_processes(n_processes: int) -> ProcessPoolExecutor:
    """Open a pool of new interpreters, because TensorFlow can't be forked.

    On Linux they exit when this process does, even if it is killed.
    """
    initializer = exit_with_parent if sys.platform == "linux" else None
    return ProcessPoolExecutor(n_processes, get_context("spawn"), initializer)


def seeds(cell: Cell, engine: str) -> list[int]:
    """Return an engine's seeds. They differ between engines, so initial vectors differ, too."""
    n_seeds = CORPORA[cell.corpus].seeds
    return [*range(1, 1 + n_seeds)] if engine == "gensim" else [*range(11, 11 + n_seeds)]


def record_path(records: Path, cell: Cell, engine: str, seed: int) -> Path:
    """Return the path of the record of a training run.

    For this package, the name contains the hash of the kernels, so changed kernels get new records.
    """
    if engine != "gensim":
        engine = f"{engine} {kernels_hash()}"
    return records / f"{cell.name}, {engine} {seed}.json"


def measure_cell(cell: Cell, path: Path, engine: str, seed: int) -> dict[str, Any]:
    """Train in this process, a member of the pool; return the record."""
    if engine == "graph":
        from gensim_tfw2v import engines
        from gensim_tfw2v.kernel.native import by_ctypes

        by_ctypes.is_available = lambda: False
        engines.ENGINES = engines.ENGINES[-1:]
    cluster_options = {} if engine == "gensim" else {"cluster": PLACES[engine].cluster}
    return measure(cell, path, engine, seed, **cluster_options)
