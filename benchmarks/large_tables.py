"""Tables larger than any task's memory: ``python -m benchmarks.large_tables``.

Each process may have so many bytes of memory of its own (RLIMIT_DATA, which Linux counts without
files that are mapped): this one, the coordinator, each ps and each worker. A model of which one
table is larger than that is trained on a cluster, saved, and opened again.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np


def write_corpus(path: Path, words: list[str], tokens: int) -> None:
    """Sentences of 20 words, drawn in proportion to 1 / rank."""
    ranks = np.exp(np.random.default_rng(1).random(tokens) * np.log(len(words))).astype(int) - 1
    with open(path, "w", encoding="ascii") as file:
        for first in range(0, tokens, 20):
            file.write(" ".join(words[rank] for rank in ranks[first : first + 20]) + "\n")


def main(argv: list[str] | None = None) -> None:
    """Train, save, load, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_tables", description=__doc__)
    add = parser.add_argument
    add("--vocabulary", type=int, default=4_000_000, help="(4,000,000)")
    add("--vector-size", type=int, default=300, help="(300)")
    add("--tokens", type=int, default=1_000_000, help="of the corpus (1,000,000)")
    add("--ps", type=int, default=6, help="ps tasks (6)")
    add("--layout", default="rows", help="rows or columns (rows)")
    add("--memory", type=float, default=4.5, help="of each process, in GB (4.5)")
    given = parser.parse_args(argv)
    limit = int(given.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    from gensim.models import KeyedVectors

    from gensim_tfw2v import TFWord2Vec

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [f"w{number}" for number in range(given.vocabulary)]
        write_corpus(folder / "corpus.txt", words, given.tokens)
        counts = {word: given.vocabulary // (rank + 1) + 1 for rank, word in enumerate(words)}
        model = TFWord2Vec(
            sg=1, vector_size=given.vector_size, min_count=1, epochs=1, workers=1,
            cluster=f"local:ps={given.ps},worker=1", layout=given.layout,
            tables_dir=folder / "tables",
        )  # fmt: skip
        model.build_vocab_from_freq(counts)
        first = np.array(model.wv.vectors[:1000])
        began = time.perf_counter()
        model.train(
            corpus_file=str(folder / "corpus.txt"), total_words=given.tokens, epochs=model.epochs
        )
        seconds = time.perf_counter() - began
        model.wv.save(str(folder / "vectors"))
        opened = KeyedVectors.load(str(folder / "vectors"), mmap="r")
        moved = np.linalg.norm(opened.vectors[:1000] - first, axis=1)
        found = {
            "a table, GB": model.wv.vectors.nbytes / 1e9,
            "memory of each process, GB": limit / 1e9,
            "ps tasks": given.ps,
            "layout": given.layout,
            "seconds": round(seconds, 1),
            "rows of the 1,000 most frequent words that moved": int((moved > 0).sum()),
            "opened mapped": isinstance(opened.vectors, np.memmap),
            "all finite": bool(np.isfinite(opened.vectors[::1000]).all()),
        }
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
