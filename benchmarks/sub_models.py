"""Sub-models merged, beside one model: ``python -m benchmarks.sub_models CORPUS``.

For each way of dividing the text, sub-models are trained one after the other by one thread, and
merged by each method; the same again after words of the test sets have been removed from some of
them. One line of JSON for each, and a table at the end. Times are the CPU's, of which one thread
takes one second a second, also beside other programs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.one_run import evaluate

DIVISIONS = [
    f"models={models},sampling={sampling}"
    for models in (10, 5, 2)
    for sampling in ("shuffle", "random", "equal")
]
METHODS = ("alir", "pca", "concat")


def train(corpus: Path, options: dict[str, Any], **more: Any) -> tuple[Any, float]:
    """Train a model with one thread; give it and the CPU seconds of training."""
    from gensim_tfw2v import TFWord2Vec

    model = TFWord2Vec(workers=1, **options, **more)
    model.build_vocab(corpus_file=str(corpus))
    counts = {
        "total_words": model.corpus_total_words,
        "total_examples": model.corpus_count,
        "epochs": model.epochs,
    }
    began = time.process_time()
    model.train(corpus_file=str(corpus), **counts)
    return model, time.process_time() - began


def kept_sub_models(folder: Path) -> list[dict[str, np.ndarray]]:
    """The arrays of sub-models in a folder for checkpoints."""
    return [
        {path.stem: np.load(path, "r") for path in sorted(one.glob("checkpoint-*/*.npy"))}
        for one in sorted(folder.glob("sub-model-*"))
    ]


def test_words(vectors: Any, pairs: dict[str, str]) -> np.ndarray:
    """Rows of the words in files of word pairs."""
    from gensim_tfw2v.evaluation import read_pairs

    words = {word for path in pairs.values() for pair in read_pairs(path) for word in pair[:2]}
    return np.array(sorted(vectors.key_to_index[w] for w in words if w in vectors.key_to_index))


def without(
    sub_models: list[dict[str, np.ndarray]], rows: np.ndarray, share: float, seed: int
) -> list[dict[str, np.ndarray]]:
    """Remove a share of some words: each from half of the sub-models that saw it, at random."""
    choose = np.random.default_rng(seed)
    seen = np.stack([arrays["seen"] for arrays in sub_models])
    for row in choose.choice(rows, round(share * len(rows)), replace=False):
        holders = np.flatnonzero(seen[:, row])
        seen[choose.permutation(holders)[: len(holders) // 2], row] = 0
    return [arrays | {"seen": own} for arrays, own in zip(sub_models, seen, strict=True)]


def merged(sub_models: list[dict[str, np.ndarray]], method: str, vectors: Any) -> Any:
    """KeyedVectors of the same words, merged."""
    from gensim.models import KeyedVectors

    from gensim_tfw2v.merging import SubModel, merge

    parts = [
        SubModel(np.flatnonzero(arrays["seen"]), arrays["inputs"], arrays["outputs"])
        for arrays in sub_models
    ]
    rows = merge(parts, len(vectors), method).inputs
    result = KeyedVectors(rows.shape[1])
    result.add_vectors(vectors.index_to_key, rows)
    return result


def main(argv: list[str] | None = None) -> None:
    """Train, merge, evaluate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sub_models", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--divisions", nargs="+", default=[*DIVISIONS, "models=5,rate=0.1"],
        help="options of SubModels (10, 5 and 2 by each sampling; models=5,rate=0.1)")  # fmt: skip
    add("--removed", type=float, nargs="*", default=[0.25, 0.5], help="shares (0.25 0.5)")
    add("--epochs", type=int, default=5, help="passes over the corpus (5)")
    add("--vector-size", type=int, default=100, help="(100)")
    add("--seeds", type=int, default=1, help="(1)")
    add("--first-seed", type=int, default=1, help="(1)")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    given = parser.parse_args(argv)
    pairs = {path.stem: str(path) for path in given.eval}
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}

    def note(name: tuple[Any, ...], **values: Any) -> None:
        found.setdefault(name, []).append(values)
        print(json.dumps({"what": name, **values}), flush=True)

    for seed in range(given.first_seed, given.first_seed + given.seeds):
        options = {"sg": 1, "vector_size": given.vector_size, "epochs": given.epochs, "seed": seed}
        single, alone = train(given.corpus, options)
        note(("single model",), seconds=alone, quality=evaluate(single.wv, pairs))
        vectors = single.wv
        for division in given.divisions:
            with tempfile.TemporaryDirectory() as folder:
                more = {"regime": f"submodels:{division}", "checkpoint_dir": folder}
                _, seconds = train(given.corpus, options, **more)
                sub_models = kept_sub_models(Path(folder))
                of_one = seconds / len(sub_models)
                for method in METHODS:
                    name = (division, method)
                    began = time.process_time()
                    result = merged(sub_models, method, vectors)
                    took = time.process_time() - began
                    if method == "alir":  # by which training has merged
                        of_one = (seconds - took) / len(sub_models)
                    quality = evaluate(result, pairs)
                    note(name, seconds=of_one, merging=took, quality=quality)
                    rows = test_words(vectors, pairs)
                    for share in given.removed if method == "alir" else []:
                        fewer = without(sub_models, rows, share, seed)
                        quality = evaluate(merged(fewer, method, vectors), pairs)
                        note((*name, f"{share:.0%} removed"), seconds=of_one, quality=quality)
    print(table(found))


def table(found: dict[tuple[Any, ...], list[dict[str, Any]]]) -> str:
    """Means over the seeds, as Markdown."""
    measures = list(found["single model",][0]["quality"])
    alone = mean(one["seconds"] for one in found["single model",])
    lines = [
        f"| sub-models | merging | {' | '.join(measures)} | time of one | merging |",
        "|" + " --- |" * (len(measures) + 4),
    ]
    for name, runs in found.items():
        what = [name[0], ", ".join(name[1:])]
        scores = [mean(run["quality"][measure] for run in runs) for measure in measures]
        seconds = mean(run["seconds"] for run in runs)
        merging = mean(run.get("merging", 0.0) for run in runs)
        cells = [*what, *(f"{score:.3f}" for score in scores), f"{seconds / alone:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {merging:.1f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
