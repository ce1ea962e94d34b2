"""One training in a process of its own: a `Task` as JSON on stdin, a `Run` as the last line.

With a module's name as argument instead, it imports only that module and reports the memory.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
import time
from typing import Any

from benchmarks.records import Run, Task
from gensim_tfw2v.processes.machine import usable_cores


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> float:
    """Processor time of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def train(task: Task) -> tuple[Any, Run]:
    """Train as the task says, and measure; the run's quality is empty as yet."""
    clock = time.perf_counter
    begin = clock()
    if task.kernel:
        os.environ["TFW2V_ISA"] = task.kernel
    module, name = task.target.split(":")
    engine = getattr(importlib.import_module(module), name)
    imported = clock()

    source: dict[str, Any] = {"corpus_file": task.corpus}
    if not task.from_file:
        from gensim.models.word2vec import LineSentence

        source = {"corpus_iterable": LineSentence(task.corpus)}
    model = engine(**task.options)
    model.build_vocab(**source)
    counted, cpu = clock(), cpu_seconds()

    model.train(
        **source,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=model.epochs,
    )
    trained = clock()
    return model, Run(
        engine=task.engine,
        setting=task.setting,
        round=task.round,
        seed=task.options["seed"],
        raw_words=model.corpus_total_words,
        vocabulary=len(model.wv),
        epochs=model.epochs,
        import_seconds=imported - begin,
        vocab_seconds=counted - imported,
        train_seconds=trained - counted,
        process_seconds=time.time() - task.started,
        cpu_seconds=cpu_seconds() - cpu,
        peak_bytes=peak_bytes(),
        quality={},
    )


def spearman(vectors: Any, path: str) -> float | None:
    """Rank correlation with a file of word pairs; None if it is not defined."""
    try:
        value = float(vectors.evaluate_word_pairs(path)[1][0])
    except ValueError:  # no pair of the file is in the vocabulary
        return None
    return None if math.isnan(value) else value


def unknown_words(vectors: Any, path: str) -> float | None:
    """Rank correlation of the pairs with a word that is not in the vocabulary, but has n-grams."""
    from scipy.stats import spearmanr

    with open(path, encoding="utf-8") as lines:
        pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    scores = [
        (float(vectors.similarity(*pair[:2])), float(pair[2]))
        for pair in pairs
        if not all(word in vectors.key_to_index for word in pair[:2])
    ]
    return float(spearmanr(*zip(*scores, strict=True)).statistic) if len(scores) > 1 else None


def evaluate(vectors: Any, pairs: dict[str, str]) -> dict[str, float | None]:
    """Quality by gensim's own function for pairs, and one with the same counts for analogies."""
    from gensim.test.utils import datapath

    from gensim_tfw2v.evaluation import evaluate_analogies

    files = {"WS353": datapath("wordsim353.tsv"), "SimLex999": datapath("simlex999.txt"), **pairs}
    scores = {name: spearman(vectors, path) for name, path in files.items()}
    analogies = evaluate_analogies(vectors, metric="gensim")
    if hasattr(vectors, "vectors_ngrams"):
        scores |= {f"{name}, unknown": unknown_words(vectors, path) for name, path in pairs.items()}
    scores["analogies"] = analogies.total if analogies.counted else None
    return scores


def main() -> None:
    """Run the task that stdin holds, or import the module that the command line names."""
    if len(sys.argv) > 1:
        importlib.import_module(sys.argv[1])
        print(json.dumps({"peak_bytes": peak_bytes()}))
        return
    task = Task(**json.load(sys.stdin))
    if task.cores and hasattr(os, "sched_setaffinity"):
        # before any library is loaded: they size their thread pools by what they see
        os.sched_setaffinity(0, usable_cores()[: task.cores])
    model, run = train(task)
    record = run.to_json()
    if task.quality:
        record["quality"] = evaluate(model.wv, task.pairs)
    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
